"""View synchrony: sites that pass from one view to the next together deliver the same set of messages in between.

A passage's set is a count and a sum of hashes, which add up over slices; only a transition whose sums differ is
opened for the message that one site has and another lacks (docs/guarantees.md, section 6).
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tocsin.properties.kernels.arrays import Ints
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.facts import RunFacts, Spot
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.hashing import hash_messages, hash_stream
from tocsin.properties.kernels.members import Members


class Passage(NamedTuple):
    """A site on its way from one view of a group to the next; views by their place in its log."""

    log: int
    group: str
    old: int
    new: int


Sums = dict[Passage, tuple[int, int]]  # how many messages, and the sum of their hashes modulo 2 to the 64


class Difference(NamedTuple):
    """Two passages of one transition that delivered different sets."""

    one: Passage
    other: Passage


def passages(facts: RunFacts, members: Members) -> list[Passage]:
    found: list[Passage] = []
    for log, site in enumerate(facts.whole):
        for group in facts.groups if site.views else ():
            if members.is_restricted(group) and site.site not in members.listed(group):
                continue
            scope = members.scope(group)
            views = [place for place, view in enumerate(site.views) if view.group == scope]
            interruptions = np.array(site.interruptions, np.int64)
            for old, new in pairwise(views):
                low, high = np.searchsorted(interruptions, (site.views[old].order, site.views[new].order))
                is_member = site.site in site.views[old].members  # otherwise it has nothing to deliver in it
                if low == high and is_member and not site.views[old].same_as(site.views[new]):
                    found.append(Passage(log, group, old, new))
    return found


def passage_sums(case: Case) -> Sums:
    """What the core messages add to each passage."""
    if not case.facts.has_views:
        return {}
    hashes = hash_messages(
        np.array([hash_stream(stream) for stream in case.streams], np.uint64), case.stream_of, case.seqno_of
    )
    group_of = case.group_of_stream[case.stream_of]
    numbers = {name: number for number, name in enumerate(case.group_names)}
    sums: Sums = {}
    for passage in passages(case.facts, case.members):
        if passage.group in numbers:
            messages = _between(case, passage)
            own = messages[(group_of[messages] == numbers[passage.group]) & case.core[messages]]
            if len(own):
                sums[passage] = (len(own), int(hashes[own].sum(dtype=np.uint64)))
    return sums


def _between(case: Case, passage: Passage) -> Ints:
    """The messages that a site delivered between two views, of any group."""
    begin, end = case.sequence_bounds[passage.log], case.sequence_bounds[passage.log + 1]
    views = case.facts.whole[passage.log].views
    bounds = (views[passage.old].order, views[passage.new].order)
    low, high = np.searchsorted(case.rows.order[case.sequence[begin:end]], bounds)
    return case.sequence_message[begin + low : begin + high]


def add_sums(parts: Iterable[Sums]) -> Sums:
    total: Sums = {}
    for part in parts:
        for passage, (count, hashed) in part.items():
            before = total.get(passage, (0, 0))
            total[passage] = (before[0] + count, (before[1] + hashed) % (1 << 64))
    return total


def find_view_synchrony(facts: RunFacts, members: Members, sums: Sums) -> tuple[Found, Difference | None]:
    """The verdict without a witness, and the first two passages that differ."""
    transitions: dict[tuple[object, ...], list[Passage]] = {}
    for passage in passages(facts, members):
        views = facts.whole[passage.log].views
        old, new = views[passage.old], views[passage.new]
        key = (passage.group, old.number, old.members, new.number, new.members)
        transitions.setdefault(key, []).append(passage)
    found = Found()
    first: Difference | None = None
    for together in transitions.values():
        if len(together) < 2:
            continue
        found.checked += len(together)
        expected = sums.get(together[0], (0, 0))
        other = next((passage for passage in together if sums.get(passage, (0, 0)) != expected), None)
        if other is not None:
            found.violations += 1
            first = first or Difference(together[0], other)
    return found, first


def explain_difference(case: Case, difference: Difference) -> tuple[tuple[Spot, ...], str] | None:
    """A core message that one site delivered and the other did not, with the views around it; None if there is
    none.
    """
    numbers = {name: number for number, name in enumerate(case.group_names)}
    group_of = case.group_of_stream[case.stream_of]
    for one, other in (difference, difference[::-1]):
        if one.group not in numbers:
            return None
        messages = _between(case, one)
        only = np.setdiff1d(messages, _between(case, other))
        only = only[(group_of[only] == numbers[one.group]) & case.core[only]]
        if len(only):
            at = case.delivery(one.log, only).min()
            message = int(case.sequence_message[at])
            sites = case.facts.whole[one.log], case.facts.whole[other.log]
            old, new = sites[0].views[one.old], sites[0].views[one.new]
            spots = (
                sites[0].spot(old.order),
                case.spot(int(case.sequence[at])),
                sites[0].spot(new.order),
                sites[1].spot(sites[1].views[other.old].order),
                sites[1].spot(sites[1].views[other.new].order),
            )
            why = (
                f"between views {old.number} and {new.number} site {sites[0].site} delivered {case.text(message)}, "
                f"site {sites[1].site} did not"
            )
            return spots, why
    return None
