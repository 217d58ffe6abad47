"""One order across overlapping groups: messages are ordered on their way down a forest of sites."""

from tocsin.protocols.propagation_graph.machine import PropagationGraph
from tocsin.protocols.propagation_graph.messages import Ack, Ask, Change, Close, Heard, Null, Pass, Places, Plan, Submit
from tocsin.protocols.propagation_graph.options_config import PropagationGraphOptions
from tocsin.protocols.propagation_graph.record_messages import (
    Asked,
    Counted,
    Decide,
    Forgotten,
    Kept,
    Known,
    Lacking,
    Learned,
    Opened,
    Passed,
    Planned,
    Promised,
    Sent,
    Settled,
    Staged,
    Summary,
    Voted,
)
from tocsin.protocols.propagation_graph.recovery_messages import (
    Accept,
    Accepted,
    Decided,
    Fetch,
    Gone,
    Hello,
    Install,
    Prepare,
    Ready,
    Report,
    Supply,
    Wish,
)
from tocsin.protocols.protocol import Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="propagation_graph",
    title="one order across overlapping groups, made on the way down a forest of sites",
    paper="Garcia-Molina, Spauster 1988",
    make=PropagationGraph,
    options=PropagationGraphOptions,
    messages=(
        *(Submit, Pass, Close, Null, Ack),
        *(Change, Plan, Heard, Ask, Places),
        *(Prepare, Report, Install, Ready, Accept, Accepted, Decided, Hello, Wish, Fetch, Supply, Gone),
    ),
    records=(
        *(Sent, Passed, Opened, Asked, Planned, Counted),
        *(Known, Settled, Staged, Summary),
        *(Promised, Voted, Learned, Decide, Kept, Lacking, Forgotten),
    ),
    guarantees=(
        "integrity",
        "validity",
        "agreement",
        "uniform_agreement",
        "fifo",
        "single_source",
        "multiple_source",
        "multiple_group",
        "acyclic",
        "view_synchrony",
    ),
    assumptions=Assumptions(
        sites_max=60,
        group_changes=True,
        groups_max=20,
        crashes_recover=True,
        note="atomic: what needs a failed site waits for it; non-atomic: net of rollbacks, and a majority must be up",
    ),
    liveness_us=15_000_000,
    variations={"failures": ("atomic", "non_atomic")},
    expects=("views", "rollbacks"),
)
