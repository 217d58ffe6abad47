"""What every part of the machine is told at birth, and where this site stands now."""

from abc import ABC, abstractmethod
from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.counter_token.messages import Seat, View
from tocsin.protocols.counter_token.options import CounterTokenOptions
from tocsin.protocols.counter_token.ring import Ring

MESSAGE_OVERHEAD: Final = 512  # bytes that a message costs a receive buffer beside its payload

ACTIVE: Final = "active"  # member of a view, the token goes round
FROZEN: Final = "frozen"  # was one, or never was; a view is sought
LEFT: Final = "left"  # stopped


class Context:
    """The site, its group, its options; and its seat: the present view, and whether it takes part in it.

    The seat is changed by `Installing` only."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, CounterTokenOptions)
        self.site = setup.site
        self.sites = setup.sites
        self.incarnation = setup.incarnation
        self.life = setup.life
        self.founders: list[SiteId] = setup.members
        self.groups: list[list[SiteId]] = setup.groups
        self.options = options
        self.needs_majority: bool = options.needs_majority()
        self.log = setup.log
        self.outbox = outbox
        self.is_receiver = [False] * setup.sites  # by site: whether some group has it
        for group in setup.groups:
            for member in group:
                self.is_receiver[member] = True
        self.mine = [setup.site in group for group in setup.groups]  # by group
        self.everybody = [site for site in range(setup.sites) if site != setup.site]
        self._seats_view = -1  # the newest view whose seats are known
        if setup.seats:
            self.everybody = [site for site, _, _ in setup.seats if site != setup.site]
        self.status = FROZEN
        self.installed = False  # whether `view` is one that this site is or was a member of
        nothing = tuple([0 for _ in setup.groups])
        nobody = tuple([tuple([0] * setup.sites) for _ in setup.groups])
        self.view = View(0, (), (), (), (), (), (), 0, 0, nothing, nobody, (), (), ())  # the last that was installed
        self.seats = tuple([Seat(site, name, address, site in setup.members) for site, name, address in setup.seats])
        self.ring = self.new_ring(self.view)
        self.others: list[SiteId] = []  # members of the ring but for this site
        self.stat_dropped = 0  # messages that made no sense

    def new_ring(self, view: View) -> Ring:
        rotating = self.options.order == "rotating"
        return Ring(self.site, view, self.groups, rotating, self.options.commits_cycles())

    def sit_down(self, view: View) -> None:
        """The view is the present one."""
        self.view = view
        self.installed = True
        self.ring = self.new_ring(view)
        self.others = [site for site in self.ring.members if site != self.site]

    def learn_seats(self, view: View) -> None:
        """A view that was decided says who is known by name, and where."""
        if view.seats and view.ballot > self._seats_view:
            self._seats_view = view.ballot
            self.seats = view.seats
            seats = [(seat.site, seat.name, seat.address) for seat in view.seats]
            self.everybody = [site for site, _, _ in seats if site != self.site]
            self.outbox.seat(view.ballot, seats, list(view.removed))

    def is_in(self, view: View) -> bool:
        """Whether this site, as it is now, is a member of a view."""
        return self.site in view.members and member_incarnation(view, self.site) == self.incarnation

    def view_number(self) -> int:
        """Of the view that this site was last a member of; -1 if none."""
        return self.view.ballot if self.installed else -1


def member_incarnation(view: View, site: SiteId) -> int:
    """Of a member of the view."""
    return view.incarnations[view.members.index(site)]


class Changes(ABC):
    """What the circulation asks of those who change views."""

    @abstractmethod
    def wanted(self) -> bool:
        """Whether the owner should change the view instead of passing the token."""

    @abstractmethod
    def start(self, now: Micros, suspects: list[SiteId]) -> None:
        """Ask the members for a new view; suspects are not waited for."""
