"""States that differ only in the names of sites count once, where the protocol does not tell these sites apart.

Sites are *interchangeable* in a scenario that gives none of them a part of its own: they broadcast nothing, are in the
same groups, and no fault names them. Whether the protocol treats them alike (most prefer low numbers somewhere) is not
believed but checked, for every transition that the search needs, before it is used: with each permutation of these
sites, the permuted state must have the permuted transition: the same timers, the same story but for the names, and as
many messages to the permuted targets. What a message says inside is never looked at: a message's image is what the
permuted site sends instead, and it must always be the same one. So every permutation is an automorphism of the part of
the graph that is searched, and of states that are images of one another one will do. At the first transition that has
no image the search begins again without (`Asymmetric`).
"""

from itertools import permutations
from typing import Final

from tocsin.core.machine import SiteId
from tocsin.sim.explore.flights import MESSAGE, Flights
from tocsin.sim.explore.local_states import Event, Local, LocalStates, Transition, TransitionWatcher
from tocsin.sim.explore.state import State
from tocsin.sim.manual_site import PEER_RENEWED, Input, renewal

UNKNOWN: Final = -1


class Asymmetric(Exception):
    """The protocol tells sites apart that the scenario does not."""


def interchangeable(
    sites: int, groups: list[list[SiteId]], apart: set[SiteId], founders: list[SiteId]
) -> list[list[SiteId]]:
    """The sites that a scenario does not distinguish, in classes of two or more; `apart`: who has a part of its own."""
    classes: dict[tuple[int, ...], list[SiteId]] = {}
    for site in range(sites):
        if site not in apart and site in founders:
            belongs = tuple([group for group in range(len(groups)) if site in groups[group]])
            classes.setdefault(belongs, []).append(site)
    return [members for members in classes.values() if len(members) > 1]


def permuted(sites: int, classes: list[list[SiteId]]) -> list[list[SiteId]]:
    """Every permutation of the sites that moves them within their classes; the first one moves nobody."""
    found: list[list[SiteId]] = [list(range(sites))]
    for members in classes:
        more: list[list[SiteId]] = []
        for before in found:
            for images in permutations(members):
                after = list(before)
                for site, image in zip(members, images, strict=True):
                    after[site] = image
                more.append(after)
        found = more
    return found


class Mirrors(TransitionWatcher):
    """The images of local states and of flights under each permutation."""

    def __init__(self, locals_: LocalStates, flights: Flights, group: list[list[SiteId]]) -> None:
        self._locals = locals_
        self._flights = flights
        self._group = group
        self._product: list[list[int]] = [[group.index([q[p[s]] for s in range(len(p))]) for p in group] for q in group]
        self._local_maps: list[list[int]] = [[] for _ in group]  # by permutation and number: the image
        self._flight_maps: list[list[int]] = [[] for _ in group]
        for site in range(len(locals_.first)):
            self._register(self._local_maps, [locals_.first[p[site]] for p in group])

    # Images

    def canonical(self, state: State) -> State:
        """Of the images of a state, the one that stands for all: its sites' numbers come first, then its flights'."""
        best = list(state.sites)
        equals = [0]
        for place in range(1, len(self._group)):
            sites = self._site_images(place, state)
            if sites < best:
                best = sites
                equals = [place]
            elif sites == best:
                equals.append(place)
        if len(equals) == 1:
            return state if equals[0] == 0 else self._image_of(equals[0], state)
        found = self._image_of(equals[0], state)
        for place in equals[1:]:
            other = self._image_of(place, state)
            if (other.flights, other.dead) < (found.flights, found.dead):
                found = other
        return found

    def orbit(self, state: State) -> int:
        """How many different states its images are."""
        fixed = 1
        sites = list(state.sites)
        for place in range(1, len(self._group)):
            if self._site_images(place, state) == sites:
                image = self._image_of(place, state)
                if image.flights == state.flights and image.dead == state.dead:
                    fixed += 1
        return len(self._group) // fixed

    def images(self, state: State) -> list[State]:
        """The state under each permutation; the first is the state itself."""
        return [self._image_of(place, state) for place in range(len(self._group))]

    def _site_images(self, place: int, state: State) -> list[int]:
        permutation = self._group[place]
        local_map = self._local_maps[place]
        sites = [0] * len(permutation)
        for site in range(len(permutation)):
            sites[permutation[site]] = local_map[state.sites[site]]
        return sites

    def _image_of(self, place: int, state: State) -> State:
        if place == 0:
            return state
        sites = tuple(self._site_images(place, state))
        flights = tuple(sorted([self._flight_image(place, number) for number in state.flights]))
        dead = self._dead_image(self._group[place], state.dead) if state.dead else 0
        return State(sites, flights, state.done, state.spent, dead, state.now, state.since)

    def _dead_image(self, permutation: list[SiteId], dead: int) -> int:
        count = len(permutation)
        image = 0
        for source in range(count):
            for target in range(count):
                if (dead >> (source * count + target)) & 1:
                    image |= 1 << (permutation[source] * count + permutation[target])
        return image

    def _flight_image(self, place: int, number: int) -> int:
        table = self._flight_maps[place]
        if number < len(table) and table[number] != UNKNOWN:
            return table[number]
        flight = self._flights.all[number]
        if flight.what == MESSAGE:
            raise Asymmetric(f"{flight.message} has no image")
        permutation = self._group[place]
        return self._flights.number(flight.what, permutation[flight.source], permutation[flight.target], None)

    # Checking

    def on_transition(self, state: int, happening: Input, flight: int, transition: Transition) -> None:
        targets = [transition.target]
        sends: list[list[int]] = [[number] for number in transition.sends]
        for place in range(1, len(self._group)):
            image = self._image_step(place, state, happening, flight)
            self._compare(place, transition, image)
            targets.append(image.target)
            left = list(image.sends)
            for which in range(len(transition.sends)):
                sent = self._flights.all[transition.sends[which]]
                sends[which].append(self._taken(left, self._group[place][sent.target]))
        self._register(self._local_maps, targets)
        for numbers in sends:
            self._register(self._flight_maps, numbers)

    def _image_step(self, place: int, state: int, happening: Input, flight: int) -> Transition:
        """What the permuted input does in the permuted state."""
        source = self._local_maps[place][state]
        if flight < 0:
            if happening.what == PEER_RENEWED:
                happening = renewal(self._group[place][happening.peer], happening.number, happening.now)
            return self._locals.compute(source, happening)
        arrival = self._flights.all[self._flight_image(place, flight)].arrival(happening.now)
        return self._locals.compute(source, arrival)

    def _taken(self, left: list[int], target: SiteId) -> int:
        """The first of some flights that goes to a site; it is taken out."""
        for number in left:
            if self._flights.all[number].target == target:
                left.remove(number)
                return number
        raise Asymmetric("somebody else is sent to")

    def _compare(self, place: int, transition: Transition, image: Transition) -> None:
        one = self._locals.states[transition.target]
        other = self._locals.states[image.target]
        permutation = self._group[place]
        if (
            other.site != permutation[one.site]
            or (one.up, one.left, one.quiet, one.saved, one.has_room, one.view, one.incarnation, one.has_started)
            != (
                other.up,
                other.left,
                other.quiet,
                other.saved,
                other.has_room,
                other.view,
                other.incarnation,
                other.has_started,
            )
            or {permutation[peer]: number for peer, number in one.known.items()} != other.known
            or one.timers != other.timers
            or len(transition.sends) != len(image.sends)
            or not _same_story(one, other, permutation)
        ):
            raise Asymmetric(f"site {one.site} does what site {other.site} does not")

    def _register(self, maps: list[list[int]], images: list[int]) -> None:
        """Note the images of one thing, and so of each of them; they must be what they were before."""
        for place in range(len(images)):
            for further in range(len(images)):
                table = maps[further]
                number = images[place]
                image = images[self._product[further][place]]
                while len(table) <= number:
                    table.append(UNKNOWN)
                if table[number] == UNKNOWN:
                    table[number] = image
                elif table[number] != image:
                    raise Asymmetric("two images of one state, or of one message")


def _same_story(one: Local, other: Local, permutation: list[SiteId]) -> bool:
    if {(permutation[origin], seqno) for origin, seqno in one.received} != other.received:
        return False
    return [_renamed(event, permutation) for event in one.story] == [
        _renamed(event, list(range(len(permutation)))) for event in other.story
    ]


def _renamed(event: Event, permutation: list[SiteId]) -> Event:
    what, group, origin, seqno, view, members = event
    return (
        what,
        group,
        None if origin is None else permutation[origin],
        seqno,
        view,
        None if members is None else sorted([permutation[site] for site in members]),
    )
