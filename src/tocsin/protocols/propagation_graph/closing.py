"""Bringing the present graph to the end that was decided: what does not count is undone, what counts is delivered.

The same for survivors and for who was away (section 5.2.1): survivors have nothing to take back, and got what they
lacked before the graph was decided; the failed site rolls back its tail, and delivers in the others' order what it
missed.
"""

from tocsin.core.machine import GroupId
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.fetching import Fetching
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.message_passing import MessagePassing
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.records import Lacking, Learned, Passed
from tocsin.protocols.propagation_graph.stage import final_of


class Closing:
    """Acts on the present graph; the next one's decision says how many messages of each group count."""

    def __init__(self, passing: MessagePassing, history: History, fetching: Fetching, records: Records) -> None:
        self._graphs = passing.graphs
        self._places = passing.places
        self._order = passing.order
        self._application = passing.application
        self._history = history
        self._fetching = fetching
        self._records = records

    def undo(self, decision: Decision) -> None:
        """The next graph is decided: undo what does not count of the present one."""
        self._records.persist(Learned(decision))
        for record in self.take_back(decision):
            if self._application.hears(self._graphs.present, record.group):
                self._application.roll_back(record)

    def take_back(self, decision: Decision) -> list[Passed]:
        """What `undo` changes here, also when it is read back; what was taken back, newest first."""
        removed = self._graphs.present.take_back(decision.finals)
        for record in removed:
            self._places.take_back(record)
            if record.rank >= final_of(decision.finals, record.group):
                self._history.drop(record)
        return removed

    def complete(self, decision: Decision) -> None:
        """Nothing is missing any more: deliver what was, in the order of the keys."""
        for record in self._fetching.late(decision):
            self._tell_missed(record.group, record.rank)
            self._order.take_late(record)
        if self._fetching.holes():
            self._give_up_holes(decision)

    def _tell_missed(self, group: GroupId, before: int) -> None:
        """The application hears of the holes before this rank of the group, at their place among its deliveries."""
        for count in self._fetching.take_holes(group, before):
            self._application.miss(group, count)

    def _give_up_holes(self, decision: Decision) -> None:
        """What nobody keeps will never come: this site cannot help others with this graph, or older ones."""
        number = self._graphs.present.number
        for group in self._fetching.holes():
            self._tell_missed(group, final_of(decision.finals, group))
        self._records.persist(Lacking(number))
        self._history.let_go_before(number + 1)
