"""Which of the broadcasts that wait at a site is taken next."""

from tocsin.core.machine import GroupId, Machine


def first_with_room(pending: list[tuple[GroupId, bytes]], machine: Machine) -> int:
    """The place of the oldest broadcast that the machine has room for; -1 for none. What is for a group that nobody is
    there of does not hold up the rest."""
    if pending and machine.room() > 0:
        for place in range(len(pending)):
            if machine.room_for(pending[place][0]) > 0:
                return place
    return -1
