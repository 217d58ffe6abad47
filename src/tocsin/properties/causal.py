"""Causal order: no site delivers a message after one that it may have caused (docs/guarantees.md, section 4).

When one order holds all sequences, it is enough that it also holds each broadcast after what its site had seen: two
comparisons a broadcast. Otherwise each site is looked at by itself, a step for each delivery and each cause of it.
"""

from collections.abc import Sequence as Numbers
from itertools import groupby
from typing import Final

from tocsin.properties.case import Case
from tocsin.properties.causes import Causes
from tocsin.properties.chains import find_shortest_chain
from tocsin.properties.finding import Finding
from tocsin.properties.history import IS_BROADCAST
from tocsin.traces.rows import BROADCAST

FAR: Final = 1 << 62  # a place that no sequence has


def check_causal(case: Case) -> Finding:
    obstacle = case.truncation
    if obstacle is None and not case.has_broadcasts and case.has_deliveries:
        obstacle = case.lacking(BROADCAST)
    if not case.has_broadcasts or _total_order_is_causal(case):
        return Finding(case.delivered, obstacle=obstacle)
    causes = Causes(case)
    late: list[tuple[int, int]] = []  # log, message
    for index, sequence in enumerate(case.sequences):
        late.extend((index, message) for message in _late(sequence.messages, causes))
    if not late:
        return Finding(case.delivered, obstacle=obstacle)
    chain = find_shortest_chain(case, late)
    return Finding(case.delivered, len(late), chain.rows, chain.words, obstacle)


def _total_order_is_causal(case: Case) -> bool:
    """Whether one order of all messages holds every sequence and every cause. It may exist even if this says no."""
    if not case.order.is_total:
        return False
    ranks = case.order.merged.ranks
    first_logs, first_places = case.broadcast_at
    for index, log in enumerate(case.logs):
        if IS_BROADCAST not in log.events:
            continue
        delivered = set(case.sequences[index].places)
        seen = -1  # the greatest rank of what this site has delivered and broadcast
        for place, (event, message) in enumerate(zip(log.events, log.messages, strict=True)):
            rank = ranks[message]
            if event == IS_BROADCAST and first_logs[message] == index and first_places[message] == place:
                if 0 <= rank < seen:
                    return False
                seen = max(seen, rank)
            elif place in delivered:
                if rank > seen:
                    seen = rank
    return True


def _late(messages: Numbers[int], causes: Causes) -> list[int]:
    """The messages of a sequence that come after one of their effects, direct or not."""
    places = {message: place for place, message in enumerate(messages)}
    earliest: dict[int, int] = {}  # message: the first place of it and its effects
    late: set[int] = set()
    affected = sorted(_reachable(messages, causes.effects), key=causes.depth.__getitem__)
    for _, group in groupby(affected, causes.depth.__getitem__):  # one message, or a knot of them
        knot = list(group)
        first = min(
            (earliest[effect] for message in knot for effect in causes.effects[message] if effect in earliest),
            default=FAR,
        )
        for message in knot:
            others = min((places.get(other, FAR) for other in knot if other != message), default=FAR)
            if message in places and min(first, others) < places[message]:
                late.add(message)
        first = min(first, *(places.get(message, FAR) for message in knot))
        for message in knot:
            earliest[message] = first
    return [message for message in messages if message in late]


def _reachable(messages: Numbers[int], effects: list[list[int]]) -> set[int]:
    found = set(messages)
    edge = list(messages)
    while edge:
        for effect in effects[edge.pop()]:
            if effect not in found:
                found.add(effect)
                edge.append(effect)
    return found
