"""Ways round dead links (the paper's assumption 4: links fail without dividing the network).

Every member notes whom it has not heard, although it took its turns, and says so in the token (`deaf`). Whoever has
something for a site that does not hear it sends it there also along the shortest way that nobody complains of. What
must arrive though nobody has complained yet (a token sent again, a ballot asked again) goes by everybody to everybody.
"""

from typing import Final

from tocsin.core.data import Data
from tocsin.core.machine import SiteId
from tocsin.core.message import Message
from tocsin.protocols.counter_token.context import Context
from tocsin.protocols.counter_token.messages import (
    Accept,
    Accepted,
    Bye,
    Decided,
    Fetch,
    Holding,
    Hurry,
    Invite,
    Join,
    Prepare,
    Promise,
    Refuse,
    Relayed,
    RelayedData,
    Request,
    Token,
    Transfer,
)

CAN_BE_RELAYED = (
    Token,
    Holding,
    Hurry,
    Request,
    Prepare,
    Promise,
    Refuse,
    Accept,
    Accepted,
    Decided,
    Join,
    Invite,
    Bye,
    Fetch,
)
UNHEARD_TURNS: Final = 3  # turns of another that were not heard before its link counts as dead
COPIES_MAX: Final = 128  # relayed messages of one source that are remembered, to tell copies
LIFE_NUMBERS: Final = 1 << 24  # relayed messages of one life
INCARNATION_LIVES: Final = 1 << 20


class Relay:
    """Sends messages, round dead links too."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._outbox = context.outbox
        self._site = context.site
        life = context.incarnation * INCARNATION_LIVES + context.life % INCARNATION_LIVES
        self._number = life * LIFE_NUMBERS  # of the next relayed message from here
        self._deaf: list[tuple[SiteId, SiteId]] = []  # (listener, speaker), as the newest token says
        self._unheard: dict[SiteId, int] = {}  # by member: its turns since it was heard
        self._copies: dict[SiteId, list[int]] = {}  # by source: numbers that were here

    # Sending

    def send(self, target: SiteId, message: Message) -> None:
        self._outbox.send(target, message)
        self.send_round(target, message)

    def multicast(self, targets: list[SiteId], message: Message) -> None:
        if targets:
            self._outbox.multicast(targets, message)
            if self._deaf:
                for target in targets:
                    self.send_round(target, message)

    def flood(self, targets: list[SiteId], message: Message) -> None:
        """Directly, and by everybody to everybody."""
        if not targets:
            return
        self._outbox.multicast(targets, message)
        others = [site for site in self._context.everybody if len(targets) > 1 or site != targets[0]]
        relayed = self._wrapped(tuple(targets), (), message)
        if others and relayed is not None:
            self._outbox.multicast(others, relayed)

    def answer(self, target: SiteId, message: Message, relayed: bool) -> None:
        """Answer somebody whose message came directly, or round."""
        if relayed:
            self.flood([target], message)
        else:
            self.send(target, message)

    def send_round(self, target: SiteId, message: Message) -> None:
        """To somebody who does not hear this site: along another way."""
        if not self._deaf or (target, self._site) not in self._deaf:
            return
        path = self._path(target)
        if path:
            relayed = self._wrapped((target,), tuple(path[1:]), message)
            if relayed is not None:
                self._outbox.send(path[0], relayed)

    def _wrapped(self, targets: tuple[int, ...], path: tuple[int, ...], message: Message) -> Message | None:
        """A message as others pass it on; None if it is not of those that go round."""
        self._number += 1
        if isinstance(message, (Data, Transfer)):
            return RelayedData(self._site, targets, self._number, path, message)
        if isinstance(message, CAN_BE_RELAYED):
            return Relayed(self._site, targets, self._number, path, message)
        return None

    def _path(self, target: SiteId) -> list[SiteId]:
        """The shortest way over links that nobody complains of, the target last; none if there is no such way."""
        came_from: dict[SiteId, SiteId] = {self._site: self._site}
        edge = [self._site]
        members = self._context.ring.members
        while edge and target not in came_from:
            following: list[SiteId] = []
            for here in edge:
                for there in members:
                    if there not in came_from and (there, here) not in self._deaf:
                        came_from[there] = here
                        following.append(there)
            edge = following
        path: list[SiteId] = []
        here = target
        while here in came_from and here != self._site:
            path.insert(0, here)
            here = came_from[here]
        return path if len(path) > 1 else []

    # Receiving

    def on_relayed(self, source: SiteId, relayed: Relayed | RelayedData) -> bool:
        """A message on its way, which is passed on; whether it is for this site, and for the first time."""
        context = self._context
        origin = relayed.source
        if origin >= context.sites or origin == self._site:
            context.stat_dropped += 1
            return False
        known = self._copies.setdefault(origin, [])
        if relayed.number in known:
            return False
        known.append(relayed.number)
        if len(known) > COPIES_MAX:
            del known[0]
        if relayed.path:
            following: int = relayed.path[0]
            if following < context.sites and following != self._site:
                self._outbox.send(following, _further(relayed))
        elif relayed.targets != (self._site,):
            targets = [site for site in context.everybody if site != origin and site != source]
            if targets:
                self._outbox.multicast(targets, relayed)
        return self._site in relayed.targets or isinstance(relayed.inner, Data)  # data is good for all on its way

    # Who is heard

    def note_heard(self, source: SiteId) -> None:
        """Something came over the link itself."""
        if source in self._unheard:
            del self._unheard[source]

    def note_turn(self, owner: SiteId) -> None:
        """A member has passed the token on; whether it was heard directly, `note_heard` knows."""
        if owner != self._site:
            self._unheard[owner] = self._unheard.get(owner, 0) + 1

    def complaints(self, said: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """What the token says of links, with this site's own part as it is now."""
        mine = [(self._site, speaker) for speaker in sorted(self._unheard) if self._unheard[speaker] >= UNHEARD_TURNS]
        if not said and not mine:
            return said
        return tuple(sorted([pair for pair in said if pair[0] != self._site] + mine))

    def learn(self, said: tuple[tuple[int, int], ...]) -> None:
        """A newer token."""
        if said or self._deaf:
            self._deaf = list(said)

    def start_view(self) -> None:
        """Other turns are counted from here on; what was said of links holds."""
        self._unheard.clear()


def _further(relayed: Relayed | RelayedData) -> Message:
    """The same with one site less to pass."""
    path = relayed.path[1:]
    if isinstance(relayed, RelayedData):
        return RelayedData(relayed.source, relayed.targets, relayed.number, path, relayed.inner)
    return Relayed(relayed.source, relayed.targets, relayed.number, path, relayed.inner)
