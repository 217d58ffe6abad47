"""A site's deliveries net of rollbacks: what is left when each rollback has cancelled the delivery it undoes."""

from __future__ import annotations  # array[int] is an annotation only before Python 3.12

from array import array
from typing import NamedTuple

from tocsin.properties.history import IS_DELIVER, IS_ROLLBACK, Log


class Sequence(NamedTuple):
    """S(s) of docs/guarantees.md: the net deliveries of a log, only the first of each message."""

    messages: array[int]
    places: array[int]  # of the deliveries in the log
    repeats: list[tuple[int, int]]  # places of deliveries on top of an uncancelled one, and of that one
    strays: list[int]  # places of rollbacks that have nothing to cancel


def net_sequence(log: Log) -> Sequence:
    if IS_ROLLBACK in log.events:
        return _with_rollbacks(log)
    messages, places = array("i"), array("i")
    repeats: list[tuple[int, int]] = []
    first: dict[int, int] = {}  # message: place of its last delivery so far
    for place, message in enumerate(log.messages):
        if log.events[place] != IS_DELIVER:
            continue
        if message in first:
            repeats.append((place, first[message]))
        else:
            messages.append(message)
            places.append(place)
        first[message] = place
    return Sequence(messages, places, repeats, [])


def _with_rollbacks(log: Log) -> Sequence:
    repeats: list[tuple[int, int]] = []
    strays: list[int] = []
    standing: dict[int, list[int]] = {}  # message: places of its uncancelled deliveries
    cancelled: set[int] = set()
    for place, (event, message) in enumerate(zip(log.events, log.messages, strict=True)):
        if event == IS_DELIVER:
            stack = standing.setdefault(message, [])
            if stack:
                repeats.append((place, stack[-1]))
            stack.append(place)
        elif event == IS_ROLLBACK:
            if standing.get(message):
                cancelled.add(standing[message].pop())
            else:
                strays.append(place)
    messages, places = array("i"), array("i")
    seen: set[int] = set()
    for place, (event, message) in enumerate(zip(log.events, log.messages, strict=True)):
        if event == IS_DELIVER and place not in cancelled and message not in seen:
            seen.add(message)
            messages.append(message)
            places.append(place)
    return Sequence(messages, places, repeats, strays)
