"""FIFO order, the papers' three orders, and no cycle over any number of sites (docs/guarantees.md, section 4)."""

from collections.abc import Iterable
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from tocsin.properties.kernels.arrays import Flags, Ints, group_bounds, running_max_before
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.cycles import Link, find_short_cycle
from tocsin.properties.kernels.facts import Spot
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.inversions import Inversion, find_inversion
from tocsin.properties.kernels.lines import Line, draw_line
from tocsin.properties.kernels.tangles import Strand


class Stretch(NamedTuple):
    """A part of the sequence of a site: whose it is, and its messages in order. The arrays' Strand of `check`."""

    owner: int
    messages: Ints

    def only(self, chosen: Flags) -> "Stretch":
        return Stretch(self.owner, self.messages[chosen])

    def strand(self) -> Strand:
        return Strand(self.owner, self.messages.tolist())


class Orders:
    """The order of a case's deliveries over all sites. Violations are counted if a core message takes part in
    them.
    """

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def late(self) -> tuple[Ints, Ints]:
        """Deliveries after one of their stream with a greater number, and that one; indices into the sequences."""
        case = self.case
        messages = case.sequence_message
        keys = case.sequence_log * len(case.streams) + case.stream_of[messages]
        order = np.argsort(keys, kind="stable")
        # Messages are numbered by (stream, seqno), so a later log or stream has greater values than all before it.
        values = case.sequence_log[order] * max(1, case.count) + messages[order]
        late = np.flatnonzero(values < running_max_before(values, -1))
        if len(late) == 0:
            return late, late
        highest = np.maximum.accumulate(values)
        holder = np.searchsorted(highest, running_max_before(values, -1)[late])
        return order[late], order[holder]

    @cached_property
    def line(self) -> Line:
        case = self.case
        bounds = case.sequence_bounds.tolist()
        messages = case.sequence_message
        return draw_line([messages[low:high] for low, high in pairwise(bounds)], case.count)

    @cached_property
    def tangled(self) -> dict[int, list[Stretch]]:
        """By tangle: the parts of the sequences that lie in it."""
        case = self.case
        tangle = self.line.tangle[case.sequence_message]
        inside = np.flatnonzero(tangle >= 0)
        inside = inside[np.lexsort((inside, tangle[inside]))]
        found: dict[int, list[Stretch]] = {}
        keys = tangle[inside] * len(case.facts.whole) + case.sequence_log[inside]
        for low, high in pairwise(group_bounds(keys).tolist()):
            if low < high:
                at = inside[low]
                strand = Stretch(int(case.sequence_log[at]), case.sequence_message[inside[low:high]])
                found.setdefault(int(tangle[at]), []).append(strand)
        return found

    @cached_property
    def inverted_streams(self) -> dict[tuple[str, ...], Inversion]:
        """Streams with an inversion. In a stream that comes in the order of its numbers everywhere there is none."""
        case = self.case
        suspects = np.zeros(len(case.streams), np.bool_)
        suspects[case.stream_of[case.sequence_message[self.late[0]]]] = True
        found = self._inverted(case.stream_of, suspects)
        return {(case.streams[s][0] or "", case.streams[s][1]): inversion for s, inversion in found.items()}

    @cached_property
    def inverted_groups(self) -> dict[tuple[str, ...], Inversion]:
        case = self.case
        group_of = case.group_of_stream[case.stream_of]
        found = self._inverted(group_of, np.ones(len(case.group_names), np.bool_))
        return {(case.group_names[group],): inversion for group, inversion in found.items()}

    @cached_property
    def inverted_pairs(self) -> dict[tuple[str, ...], Inversion]:
        case = self.case
        found: dict[tuple[str, ...], Inversion] = {
            (name, name): inversion for (name,), inversion in self.inverted_groups.items()
        }
        group_of = case.group_of_stream[case.stream_of]
        for strands in self.tangled.values():
            groups = [set(np.unique(group_of[strand.messages]).tolist()) for strand in strands]
            pairs = {pair for present in groups for pair in combinations(sorted(present), 2)}
            for one, other in sorted(pairs):
                names = (case.group_names[one], case.group_names[other])
                if names in found:
                    continue
                both = [
                    strand.only(np.isin(group_of[strand.messages], (one, other)))
                    for strand, present in zip(strands, groups, strict=True)
                    if one in present and other in present
                ]
                inversion = self._find(both, group_of)
                if inversion is not None:
                    found[names] = inversion
        return found

    def _inverted(self, part_of: Ints, suspects: Flags) -> dict[int, Inversion]:
        """By part (a stream, a group) of the suspects: an inversion inside it."""
        found: dict[int, Inversion] = {}
        for strands in self.tangled.values():
            by_part: dict[int, list[Stretch]] = {}
            for strand in strands:
                messages = strand.messages
                parts = part_of[messages]
                order = np.argsort(parts, kind="stable")
                for low, high in pairwise(group_bounds(parts[order]).tolist()):
                    part = int(parts[order[low]]) if low < high else -1
                    if high - low > 1 and suspects[part] and part not in found:
                        by_part.setdefault(part, []).append(Stretch(strand.owner, messages[order[low:high]]))
            for part, members in by_part.items():
                inversion = self._find(members, None)
                if inversion is not None:
                    found[part] = inversion
        return found

    def _find(self, strands: list[Stretch], sides: Ints | None) -> Inversion | None:
        """An inversion with a core message, between strands; with `sides`, of messages on different sides."""
        if len(strands) < 2:
            return None
        strands = sorted(strands, key=lambda strand: -len(strand.messages))
        place = np.full(self.case.count, -1, np.int64)
        pivot = strands[0]
        place[pivot.messages] = np.arange(len(pivot.messages))
        for strand in strands[1:]:
            found = _compare(pivot, place, strand, sides, self.case.core)
            if found is not None:
                return found
        return self._search(strands, sides)

    def _search(self, strands: list[Stretch], sides: Ints | None) -> Inversion | None:
        """The exact search, for the rare case that the longest strand contradicts no other."""
        lists = [strand.strand() for strand in strands]
        of_message = None
        if sides is not None:
            of_message = {message: int(sides[message]) for strand in lists for message in strand.messages}
        found = find_inversion(lists, of_message)
        if found is None or self.case.core[found.message] or self.case.core[found.other]:
            return found
        for index, pivot in enumerate(strands):  # one outside the core was in the way
            place = np.full(self.case.count, -1, np.int64)
            place[pivot.messages] = np.arange(len(pivot.messages))
            for strand in strands[index + 1 :]:
                found = _compare(pivot, place, strand, sides, self.case.core)
                if found is not None:
                    return found
        return None

    def spots(self, links: Iterable[Link]) -> tuple[Spot, ...]:
        """Two deliveries for each link."""
        rows: list[int] = []
        for link in links:
            at = self.case.delivery(link.owner, np.array((link.message, link.after)))
            rows += self.case.sequence[at].tolist()
        return tuple(self.case.spot(row) for row in rows)


def _compare(pivot: Stretch, place: Ints, strand: Stretch, sides: Ints | None, core: Flags) -> Inversion | None:
    """An inversion between two strands that has a core message; `place`: by message its index in the pivot."""
    messages = strand.messages[place[strand.messages] >= 0]
    places = place[messages]
    if not np.any(places[1:] < places[:-1]):
        return None
    anything = np.ones(len(messages), np.bool_)
    of_core = core[messages]
    apart = [(anything, anything)]  # what may come too early, and before what
    if sides is not None:
        apart = [(sides[messages] == side, sides[messages] != side) for side in np.unique(sides[messages]).tolist()]
    for early, late in apart:
        for is_early, is_late in ((early, late & of_core), (early & of_core, late)):
            highest = running_max_before(np.where(is_early, places, -1), -1)
            found = np.flatnonzero(is_late & (places < highest))
            if len(found):
                at = int(found[0])
                other = int(pivot.messages[highest[at]])
                return Inversion(pivot.owner, strand.owner, int(messages[at]), other)
    return None


def find_fifo(orders: Orders) -> Found:
    case = orders.case
    late, before = orders.late
    counted = case.sequence_core[late]
    late, before = late[counted], before[counted]
    found = Found(case.delivered, len(late))
    if len(late):
        first = int(np.argmin(late))
        rows = case.sequence[[before[first], late[first]]].tolist()
        texts = [case.text(int(case.message[row])) for row in rows]
        found.witness = tuple(case.spot(row) for row in rows)
        found.why = f"site {found.witness[0].site} delivered {texts[1]} after {texts[0]}"
    return found


def find_single_source(orders: Orders) -> Found:
    return _inversions(orders, orders.inverted_streams)


def find_multiple_source(orders: Orders) -> Found:
    return _inversions(orders, orders.inverted_groups)


def find_multiple_group(orders: Orders) -> Found:
    return _inversions(orders, orders.inverted_pairs)


def find_acyclic(orders: Orders) -> Found:
    case = orders.case
    tangled = int(np.count_nonzero((orders.line.tangle >= 0) & case.core))
    found = Found(case.delivered, tangled)
    if tangled:
        inversion = next(iter(orders.inverted_pairs.values()), None)
        links = _links(inversion) if inversion is not None else _shortest_cycle(orders)
        found.witness = orders.spots(links)
        found.why = ", ".join(
            f"site {case.site(link.owner)} delivered {case.text(link.message)} before {case.text(link.after)}"
            for link in links
        )
    return found


def _shortest_cycle(orders: Orders) -> list[Link]:
    tangles = [[strand.strand() for strand in strands] for strands in orders.tangled.values()]
    return min((find_short_cycle(tangle) for tangle in tangles), key=len)


def _inversions(orders: Orders, inverted: dict[tuple[str, ...], Inversion]) -> Found:
    case = orders.case
    found = Found(case.delivered, len(inverted), parts=set(inverted))
    if inverted:
        inversion = next(iter(inverted.values()))
        found.witness = orders.spots(_links(inversion))
        found.why = (
            f"site {found.witness[0].site} delivered {_ordered(case, inversion)}, "
            f"site {found.witness[2].site} the other way round"
        )
    return found


def _ordered(case: Case, inversion: Inversion) -> str:
    first, _ = _links(inversion)
    return f"{case.text(first.message)} before {case.text(first.after)}"


def _links(inversion: Inversion) -> list[Link]:
    """An inversion as a cycle over two sites, the site with the smaller name first."""
    return sorted(
        [
            Link(inversion.first_owner, inversion.message, inversion.other),
            Link(inversion.second_owner, inversion.other, inversion.message),
        ]
    )
