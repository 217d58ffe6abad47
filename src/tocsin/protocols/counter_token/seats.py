"""Seats: who is known to the group by name, and where it is found; and what administrators wish of them.

A site gets its number with its seat, in the view that decides on it, and no other ever gets the same. Numbers, names
and addresses travel with the views, so whoever has the view knows them; who was away learns them with the next one. A
new site has a seat first; it votes with a later view, when it is a member and has everything. Where the driver gives no
names (the simulator), there are no seats, and all numbers are known from the start.
"""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.protocols.counter_token.context import Context
from tocsin.protocols.counter_token.messages import Seat, View

UNSEATED: Final = -1


class Wish:
    """A change of voters, or of seats, that an administrator asked for."""

    def __init__(self, site: SiteId, add: bool, name: str = "", address: str = "") -> None:
        self.site = site  # UNSEATED: it has no number yet, only a name
        self.add = add
        self.name = name
        self.address = address  # where it is from now on; "": as before

    def seat_in(self, view: View) -> Seat | None:
        """Of the site that is meant, in a view."""
        for seat in view.seats:
            if seat.site not in view.removed and (seat.site == self.site or (self.name and seat.name == self.name)):
                return seat
        return None

    def changes_seats(self, view: View) -> bool:
        """Whether the view has not yet what is wished for the site's seat."""
        seat = self.seat_in(view)
        if seat is None:
            return self.add and self.name != ""
        if self.add:
            return not seat.votes or self.address not in ("", seat.address)
        if self.address:
            return self.address != seat.address
        return seat.site not in dict(view.voters)  # a seat without a vote is simply taken away


class Wishes:
    """What this site was asked for, and is not decided."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.all: list[Wish] = []

    def is_open(self) -> bool:
        """Whether a change can be had now."""
        view = self._context.view
        voters = dict(view.voters)
        members = self._context.ring.place_of
        for wish in self.all:
            if wish.changes_seats(view) and (
                wish.seat_in(view) is not None or 0 < len(view.seats) < self._context.sites
            ):
                return True
            if wish.site == UNSEATED or (wish.address and not wish.add):
                continue
            if wish.add and wish.site not in voters and wish.site in members:
                return True
            if not wish.add and wish.site in voters:
                left = [site for site in voters if site != wish.site]
                if 2 * len([site for site in left if site in members]) > len(left):
                    return True
        return False

    def drop(self) -> None:
        """Those that are fulfilled, or never will be."""
        view = self._context.view
        voters = dict(view.voters)
        self.all = [
            wish
            for wish in self.all
            if wish.changes_seats(view)
            or (wish.site != UNSEATED and wish.add and wish.site not in voters and wish.site not in view.removed)
            or (not wish.add and not wish.address and wish.site in voters)
        ]


def seated(last: View, wishes: list[Wish], sites: int) -> tuple[tuple[Seat, ...], list[SiteId]]:
    """The seats of the next view, and those who lose theirs without having had a vote."""
    seats = {seat.site: seat for seat in last.seats}
    removed: list[SiteId] = []
    for wish in wishes:
        if not wish.changes_seats(last):
            continue
        seat = wish.seat_in(last)
        if seat is None:
            number = len(seats)  # they are all there, one after the other
            taken = [other for other in seats.values() if other.name == wish.name and other.site not in last.removed]
            if 0 < number < sites and not taken:
                seats[number] = Seat(number, wish.name, wish.address, True)
        elif not wish.add and not wish.address:
            removed.append(seat.site)
        else:
            seats[seat.site] = Seat(seat.site, seat.name, wish.address or seat.address, seat.votes or wish.add)
    return tuple([seats[site] for site in sorted(seats)]), removed
