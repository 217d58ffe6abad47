"""What a peer may say of groups and graphs; anything else is dropped. A peer can never make a site raise."""

from typing import Final

from tocsin.protocols.propagation_graph.messages import Change, Decision, Older
from tocsin.protocols.propagation_graph.successor import older

NEW_GROUPS_MAX: Final = 64  # a change may name a group at most so far beyond the last


def are_sound_sites(members: tuple[int, ...], sites: int) -> bool:
    """Sites that exist, each once, sorted."""
    before = -1
    for member in members:
        if member <= before or member >= sites:
            return False
        before = member
    return True


def is_sound_change(change: Change, last: Decision, sites: int) -> bool:
    """Whether a graph after the last one may have this change; without members the group is disbanded."""
    if change.group > len(last.groups) + NEW_GROUPS_MAX:
        return False
    return are_sound_sites(change.members, sites)


def is_sound_decision(decision: Decision, present: Decision, sites: int) -> bool:
    """Whether this can be a graph that is decided while another is present."""
    return decision.number >= present.number and _are_sound_groups(decision, sites)


def _are_sound_groups(decision: Decision, sites: int) -> bool:
    for members in decision.groups:  # noqa: SIM110  (a generator would not compile to plain code)
        if not are_sound_sites(members, sites):
            return False
    return True


def is_sound_tree(decision: Decision, sites: int) -> bool:
    """Whether this can be a graph in which trees are told apart (successor.py)."""
    return decision.by < sites and is_sound_older(older(decision), sites)


def is_sound_older(graph: Older, sites: int) -> bool:
    count = len(graph.groups)
    if len(graph.since) != count or len(graph.knowing) != count:
        return False
    for number in graph.since:
        if number > graph.number:
            return False
    for knowing, _ in graph.knowing:
        if knowing > sites:
            return False
    for members in graph.groups:
        if not are_sound_sites(members, sites):
            return False
    return are_sound_sites(graph.concerned, sites)


def is_sound_configuration(decision: Decision, sites: int) -> bool:
    """Whether this can be the newest one, with older ones that somebody may need."""
    before = -1
    for graph in decision.pending:
        if graph.number <= before or not is_sound_older(graph, sites):
            return False
        before = graph.number
    return before < decision.number and is_sound_tree(decision, sites)


def is_sound_next(decision: Decision, present: Decision, sites: int) -> bool:
    """Whether this can be the graph after the present one, with sites left out."""
    if decision.number != present.number + 1 or not are_sound_sites(decision.away, sites):
        return False
    for group, source, _ in decision.places:
        if group >= len(decision.groups) or source >= sites:
            return False
    return len(decision.finals) == len(present.groups) and is_sound_decision(decision, present, sites)
