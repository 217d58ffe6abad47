"""What a step of a machine asks for, as data: the one `Outbox` that every driver gives to its machines.

A driver calls the machine once, takes the list of effects, and does with them what its world is for: the simulator
schedules them, the explorer and the transcripts read them, the live driver writes them to its log, then sends and tells
them. The words are those of the log's operations and of the events that an application hears.
"""

from typing import final

from mypy_extensions import mypyc_attr

from tocsin.core.machine import GroupId, Micros, Outbox, SiteId
from tocsin.core.message import Message, Record


@mypyc_attr(acyclic=True)
class Effect:
    """One request of a machine; never changed once made, and part of no cycle."""


@mypyc_attr(acyclic=True, free_list_len=1)
class Send(Effect):
    def __init__(self, target: SiteId, message: Message) -> None:
        self.target = target
        self.message = message


@mypyc_attr(acyclic=True, free_list_len=1)
class Multicast(Effect):
    def __init__(self, targets: list[SiteId], message: Message) -> None:
        self.targets = targets
        self.message = message


@mypyc_attr(acyclic=True, free_list_len=1)
class SetTimer(Effect):
    def __init__(self, timer: str, key: int, deadline: Micros) -> None:
        self.timer = timer
        self.key = key
        self.deadline = deadline


@mypyc_attr(acyclic=True, free_list_len=1)
class CancelTimer(Effect):
    def __init__(self, timer: str, key: int) -> None:
        self.timer = timer
        self.key = key


@mypyc_attr(acyclic=True, free_list_len=1)
class Deliver(Effect):
    def __init__(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        self.group = group
        self.origin = origin
        self.seqno = seqno
        self.payload = payload


@mypyc_attr(acyclic=True)
class Rollback(Effect):
    def __init__(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        self.group = group
        self.origin = origin
        self.seqno = seqno


@mypyc_attr(acyclic=True)
class Missed(Effect):
    def __init__(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        self.group = group
        self.origin = origin  # ANY_ORIGIN: positions of the group are meant
        self.first = first
        self.count = count


@mypyc_attr(acyclic=True)
class View(Effect):
    def __init__(self, view: int, members: list[SiteId], primary: bool) -> None:
        self.view = view
        self.members = members
        self.primary = primary


@mypyc_attr(acyclic=True)
class Seats(Effect):
    """Who may be reached, and where, as it was decided."""

    def __init__(self, view: int, seats: list[tuple[SiteId, str, str]], removed: list[SiteId]) -> None:
        self.view = view
        self.seats = seats
        self.removed = removed


@mypyc_attr(acyclic=True)
class GroupView(Effect):
    """A view of one group alone."""

    def __init__(self, group: GroupId, view: int, members: list[SiteId]) -> None:
        self.group = group
        self.view = view
        self.members = members


@mypyc_attr(acyclic=True, free_list_len=1)
class Persist(Effect):
    def __init__(self, record: Record) -> None:
        self.record = record


@mypyc_attr(acyclic=True)
class Checkpoint(Effect):
    def __init__(self, records: list[Record]) -> None:
        self.records = records


@mypyc_attr(acyclic=True)
class Acquaint(Effect):
    """The machine was told of a peer's new incarnation: the driver's own note of it, durable with the step."""

    def __init__(self, site: SiteId, incarnation: int) -> None:
        self.site = site
        self.incarnation = incarnation


@mypyc_attr(acyclic=True)
class Trim(Effect):
    def __init__(self, group: GroupId, position: int) -> None:
        self.group = group
        self.position = position


def sent(effects: list[Effect]) -> list[tuple[SiteId, Message]]:
    """The messages among them, with their targets, in order; a multicast is one for each target."""
    found: list[tuple[SiteId, Message]] = []
    for effect in effects:
        if isinstance(effect, Send):
            found.append((effect.target, effect.message))
        elif isinstance(effect, Multicast):
            for target in effect.targets:
                found.append((target, effect.message))
    return found


@final
class Effects(Outbox):
    """Records what a step asks for, in order. Lists are copied: a machine may go on changing its own.

    Most steps have one effect, and a list for it would cost the simulator a tenth of its speed. Effects do not lead to
    one another: mypyc spoils the memory when more than fifty `acyclic` objects are freed inside one another."""

    def __init__(self) -> None:
        self.first: Effect | None = None  # of the present step
        self.others: list[Effect] = []  # … and what came after it

    def take_all(self) -> list[Effect]:
        """The effects of the step that has just ended."""
        if self.first is None:
            return []
        found = [self.first, *self.others]
        self.first = None
        if self.others:
            self.others = []
        return found

    def _add(self, effect: Effect) -> None:
        if self.first is None:
            self.first = effect
        else:
            self.others.append(effect)

    def send(self, target: SiteId, message: Message) -> None:
        if self.first is None:  # as `_add`, without the call: most effects are sends
            self.first = Send(target, message)
        else:
            self.others.append(Send(target, message))

    def multicast(self, targets: list[SiteId], message: Message) -> None:
        self._add(Multicast(list(targets), message))

    def set_timer(self, timer: str, key: int, deadline: Micros) -> None:
        self._add(SetTimer(timer, key, deadline))

    def cancel_timer(self, timer: str, key: int) -> None:
        self._add(CancelTimer(timer, key))

    def deliver(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        self._add(Deliver(group, origin, seqno, payload))

    def rollback(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        self._add(Rollback(group, origin, seqno))

    def missed(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        self._add(Missed(group, origin, first, count))

    def install_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        self._add(View(view, list(members), primary))

    def install_group(self, group: GroupId, view: int, members: list[SiteId]) -> None:
        self._add(GroupView(group, view, list(members)))

    def seat(self, view: int, seats: list[tuple[SiteId, str, str]], removed: list[SiteId]) -> None:
        self._add(Seats(view, list(seats), list(removed)))

    def acquaint(self, site: SiteId, incarnation: int) -> None:
        """Not a machine's request: the driver notes in the step that tells a machine what it is told."""
        self._add(Acquaint(site, incarnation))

    def persist(self, record: Record) -> None:
        self._add(Persist(record))

    def checkpoint(self, records: list[Record]) -> None:
        self._add(Checkpoint(list(records)))

    def trim(self, group: GroupId, position: int) -> None:
        self._add(Trim(group, position))
