"""How a site meets failures and goes from one graph to the next: the two ways of section 5.2 of the paper.

A machine has one of them, chosen by the option `failures`: `AtomicRecovery` (atomic.py) or `NonAtomicRecovery`
(non_atomic.py). Both see every message, since it may belong to a graph that is not open yet.
"""

from abc import ABC, abstractmethod

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.propagation_graph.messages import Anew, Decision


class Recovery(ABC):
    """What the machine asks of either way."""

    @abstractmethod
    def is_settled(self) -> bool:
        """Whether no change of graphs is under way, as far as is known here."""

    @abstractmethod
    def start(self, now: Micros, decision: Decision) -> None:
        """The first life of this site begins, in graph 0."""

    @abstractmethod
    def resume(self, now: Micros) -> None:
        """A later life begins; the records have been read back."""

    @abstractmethod
    def ask(self, now: Micros) -> None:
        """A change of groups was asked for here, or has to be asked for again."""

    @abstractmethod
    def on_anew(self, now: Micros, source: SiteId, anew: Anew) -> None:
        """A site has begun anew, and asks (anew.py)."""

    @abstractmethod
    def begin(self, now: Micros, graph: Decision) -> None:
        """This site begins anew in this graph, which is open here."""

    @abstractmethod
    def on_message(self, now: Micros, source: SiteId, message: Message) -> None: ...

    @abstractmethod
    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        """A timer that is none of message passing."""

    @abstractmethod
    def recall(self, record: Record) -> None:
        """Read back a record that is none of message passing: do what was done then, without sending anything."""

    @abstractmethod
    def records_needed(self) -> int:
        """How many records `fold` gives, or nearly."""

    @abstractmethod
    def fold(self) -> list[Record]:
        """What a checkpoint keeps of this part."""
