"""Consumers at the doors of a group: their cursors are entries of the group's order, and so the same everywhere."""

from typing import Any

import msgspec

from tocsin.core.cursors import FORGET, MARK
from tocsin.core.errors import InputError
from tocsin.door.limits import LOOK_SECONDS
from tocsin.door.link import Link
from tocsin.live.errors import NotSupported


class Consumers:
    """At one door. What is asked goes through the order, so that it sees everything that was acknowledged before,
    anywhere."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def begin(self, group: int, consumer: str) -> int:
        """The position that a consumer wants next; a new one is known from now on, and wants everything."""
        next_position = self._move(group, MARK + consumer, 0)
        self._require_whole(self._look(group))
        return next_position

    def ack(self, group: int, consumer: str, position: int) -> int:
        """Everything up to a position is done with; the position up to which that is so now. Whether there is such a
        position, the order says: this member may not have come so far yet."""
        reached = self._move(group, MARK + consumer, position + 1) - 1
        if reached < position:
            raise InputError(f"ack: expected a position that was delivered, found {position}")
        return reached

    def forget(self, group: int, consumer: str) -> None:
        self._move(group, MARK + consumer, FORGET)

    def rows(self, group: int) -> dict[str, int]:
        """By consumer: the position up to which it has acknowledged; -1: nothing so far."""
        self._move(group, MARK, 0)
        found = self._look(group)
        self._require_whole(found)
        return {name: next_position - 1 for name, next_position in sorted(found["cursors"].items())}

    def largest_number(self, group: int, producer: str) -> int:
        """The largest number of a producer in the group's order; -1: none."""
        self._move(group, MARK, 0)
        found = msgspec.json.decode(self._link.look("producer", group, producer).result(LOOK_SECONDS).document)
        self._require_whole(found)
        return int(found["number"])

    def _move(self, group: int, sender: str, number: int) -> int:
        return int(self._link.move(group, sender, number).result().runs[0][0])

    def _look(self, group: int) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self._link.look("cursors", group).result(LOOK_SECONDS).document)
        return found

    def _require_whole(self, found: dict[str, Any]) -> None:
        if not found["whole"]:
            raise NotSupported(
                f"`{self._link.settings.site}` has missed a part of the order, and does not know every cursor; go on "
                "at another door"
            )
