"""What a peer may say of groups and graphs; anything else is dropped. A peer can never make a site raise."""

from typing import Final

from tocsin.protocols.propagation_graph.messages import Change, Decision

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
    count = len(decision.groups)
    if len(decision.since) != count or len(decision.knowing) != count or decision.by >= sites:
        return False
    for number in decision.since:
        if number > decision.number:
            return False
    for knowing, _ in decision.knowing:
        if knowing > sites:
            return False
    return are_sound_sites(decision.concerned, sites) and _are_sound_groups(decision, sites)


def is_sound_configuration(decision: Decision, sites: int) -> bool:
    """Whether this can be the newest one, with older ones that somebody may need."""
    before = -1
    for older in decision.pending:
        if older.pending or older.number <= before or not is_sound_tree(older, sites):
            return False
        before = older.number
    return before < decision.number and is_sound_tree(decision, sites)


def is_sound_next(decision: Decision, present: Decision, sites: int) -> bool:
    """Whether this can be the graph after the present one, with sites left out."""
    if decision.number != present.number + 1 or not are_sound_sites(decision.away, sites):
        return False
    for group, source, _ in decision.places:
        if group >= len(decision.groups) or source >= sites:
            return False
    return is_sound_decision(decision, present, sites)
