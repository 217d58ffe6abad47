"""The order of one site: messages are taken one after another, kept, delivered and sent on.

The one order of a graph. Every message gets a key from its primary destination p: the key of the last message that p
has taken from its parent, followed by (sites - level of p, p, messages ordered by p so far). Every site takes messages
in increasing order of their keys (compared as tuples): what p orders comes after the message whose key its key begins
with, and before any later message from p's parent, since only ancestors of p, at smaller levels, extend that key
there. So keys are one total order of all messages of a graph that every site respects: the order has no cycle over any
number of sites.
"""

from tocsin.core.machine import Micros
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.application import Application
from tocsin.protocols.propagation_graph.children import Children
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.records import Passed
from tocsin.protocols.propagation_graph.stage import Stage


class Order:
    """Takes messages. Its state is that of the parts it tells: the graph's log, the places of sources, the history."""

    def __init__(
        self,
        graphs: Graphs,
        places: SourcePlaces,
        history: History | None,
        children: Children,
        application: Application,
        records: Records,
    ) -> None:
        self._graphs = graphs
        self._places = places
        self._history = history  # what a site that is away may need; None where none is ever left out
        self._children = children
        self._application = application
        self._records = records

    def take(self, now: Micros, record: Passed) -> None:
        """A message of the present graph comes next here: keep it, deliver it, send it on."""
        stage = self._graphs.present
        self._records.persist(record)
        self.note(stage, record)
        if self._application.hears(stage, record.group):
            self._application.deliver(record)
        self._children.send(now, stage, record)
        self._children.progress(now, stage)

    def take_late(self, record: Passed) -> None:
        """A message of the present graph, which is decided to end, came from elsewhere: keep it and deliver it."""
        self._records.persist(record)
        self.note(self._graphs.present, record)
        self._application.deliver(record)

    def note(self, stage: Stage, record: Passed) -> None:
        """What a record changes here; also when it is read back after a crash."""
        stage.take(record)
        self._places.take(record)
        if self._history is not None:
            self._history.add(record)
            self._history.shrink(stage.oldest())  # what survivors may need of one another is in the log
