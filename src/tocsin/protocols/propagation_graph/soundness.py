"""What a peer may say of groups and graphs; anything else is dropped. A peer can never make a site raise."""

from typing import Final

from tocsin.protocols.propagation_graph.messages import Change, Decision

PLANS_MAX: Final = 16  # graphs under way; the next change waits
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
    """Whether a graph after the last one may have this change."""
    if not change.members or change.group > len(last.groups) + NEW_GROUPS_MAX:
        return False
    return are_sound_sites(change.members, sites)


def is_sound_decision(decision: Decision, present: Decision, sites: int) -> bool:
    """Whether this can be a graph that is decided while another is present."""
    if decision.number > present.number + PLANS_MAX + 1:
        return False
    for members in decision.groups:  # noqa: SIM110  (a generator would not compile to plain code)
        if not are_sound_sites(members, sites):
            return False
    return True


def is_sound_next(decision: Decision, present: Decision, sites: int) -> bool:
    """Whether this can be the graph after the present one, with sites left out."""
    if decision.number != present.number + 1 or not are_sound_sites(decision.away, sites):
        return False
    for group, source, _ in decision.places:
        if group >= len(decision.groups) or source >= sites:
            return False
    return is_sound_decision(decision, present, sites)
