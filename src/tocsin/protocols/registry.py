"""Every protocol by its name."""

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.protocols import coordinator_tree, counter_token, propagation_graph, reliability_tree, tree_ack
from tocsin.protocols.baselines import ack_all, lamport, optimistic_token, push_gossip, sequencer, totem_ring, two_phase
from tocsin.protocols.protocol import Protocol

_ALL = (
    ack_all.PROTOCOL,
    coordinator_tree.PROTOCOL,
    counter_token.PROTOCOL,
    propagation_graph.PROTOCOL,
    reliability_tree.PROTOCOL,
    tree_ack.PROTOCOL,
    lamport.PROTOCOL,
    optimistic_token.PROTOCOL,
    push_gossip.PROTOCOL,
    sequencer.PROTOCOL,
    totem_ring.PROTOCOL,
    two_phase.PROTOCOL,
)

REGISTRY: dict[str, Protocol] = {protocol.name: protocol for protocol in _ALL}


def find_protocol(name: str, source: str) -> Protocol:
    """The protocol of that name; `source` says where the name stood."""
    protocol = REGISTRY.get(name)
    if protocol is None:
        raise InputError(f"{source}: unknown protocol `{name}`{suggestion(name, list(REGISTRY))}")
    return protocol
