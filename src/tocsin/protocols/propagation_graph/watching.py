"""Who is alive, and who wants a new graph: the first half of section 5.2.1 of the paper.

| paper                                              | here                                                     |
|----------------------------------------------------|----------------------------------------------------------|
| a child has not heard from its parent              | BEAT, `_suspects`; parents watch children, too           |
| sources detect that their primary has failed       | `_on_beat`: submissions in vain                          |
| the manager is informed                            | `Wish`                                                   |
| a backup manager                                   | WISH: the next live site prepares with a higher ballot   |

The manager is the first live site. Who wants a graph tells it, and becomes manager itself if nothing comes, one site
after another. Several managers at once do no harm: deciding.py.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message
from tocsin.protocols.propagation_graph.changing import Changing
from tocsin.protocols.propagation_graph.messages import Change, Decision, Null
from tocsin.protocols.propagation_graph.options_config import PropagationGraphOptions
from tocsin.protocols.propagation_graph.passing import BACKOFF_MAX
from tocsin.protocols.propagation_graph.recovery_messages import Decided, Hello, Wish

BEAT: Final = "BEAT"  # time to say that one is alive, and to look who is
WISH: Final = "WISH"  # a new graph is wanted and has not come: be the manager

CHANGES_MAX: Final = 64  # changes of others that a manager remembers
DECISIONS_SENT_MAX: Final = 4  # in answer to one Hello


class Watching(Changing):
    """Failure detection, and the wish for a new graph."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, PropagationGraphOptions)
        super().__init__(setup, outbox)
        self._recovers: bool = options.failures == "non_atomic"
        self._null_us: int = options.null_us
        self._suspect_after: int = options.suspect_after
        self._grace_us: int = options.grace_us
        self._silence: dict[SiteId, int] = {}  # parent and children: periods without a word
        self._suspects: set[SiteId] = set()  # they do not answer
        self._returning: set[SiteId] = set()  # left out, and back
        self._changes: dict[tuple[SiteId, int], Change] = {}  # asked for, by asker and its number
        self._decisions: dict[int, Decision] = {}  # decided, by number: what somebody may have missed, or is to come
        self._learned: Decision | None = None  # the next graph, while what is missing of this one is fetched
        self._wish_armed = False
        self._wish_tries = 0

    def quiet(self) -> bool:
        if self._recovers and (self._stopped or self._learned is not None or self._is_away()):
            return False
        return super().quiet()

    def _is_away(self) -> bool:
        return self._site in self._stage.graph.decision.away

    # Who is alive

    def _watch(self, now: Micros) -> None:
        """Begin to watch the neighbours in the present graph."""
        if self._recovers:
            self._silence = {}
            if self._stage.parent >= 0:
                self._silence[self._stage.parent] = 0
            for child in self._stage.graph.children:
                self._silence[child] = 0
            self._outbox.set_timer(BEAT, 0, now + self._null_us)

    def _on_beat(self, now: Micros) -> None:
        stage = self._stage
        self._outbox.set_timer(BEAT, 0, now + self._null_us)
        if self._learned is not None:
            return
        if self._is_away():
            self._outbox.multicast(self._others(), Hello(stage.number))
            return
        for child in stage.graph.children:
            edge = stage.edges[child]
            self._outbox.send(child, Null(stage.number, 0, edge.end, edge.floor))
        for peer in sorted(self._silence):
            self._silence[peer] += 1
            if self._silence[peer] > self._suspect_after:
                self._suspects.add(peer)
        for outlet in self._outlets.values():
            if outlet.tries >= BACKOFF_MAX and outlet.acked < outlet.end:
                primary = stage.graph.primary_of(outlet.group)
                if primary >= 0 and primary != self._site:
                    self._suspects.add(primary)
        self._consider(now)

    def _on_word(self, source: SiteId) -> None:
        """A site has said something."""
        if source in self._silence:
            self._silence[source] = 0
        self._suspects.discard(source)

    def _others(self) -> list[SiteId]:
        return [site for site in range(self._sites) if site != self._site]

    # Wanting a new graph

    def _wants_graph(self) -> bool:
        decision = self._stage.graph.decision
        for suspect in self._suspects:
            if suspect not in decision.away and self._is_needed(suspect):
                return True
        for site in self._returning:
            if site in decision.away:
                return True
        applied = dict(decision.applied)
        for asker, number in self._changes:
            if number >= applied.get(asker, 0):
                return True
        return self._stopped

    def _is_needed(self, site: SiteId) -> bool:
        for members in self._stage.graph.decision.groups:  # noqa: SIM110
            if site in members:
                return True
        return False

    def _turn(self) -> int:
        """Which of the live sites this is; the first is the manager, the others take over in turn."""
        turn = 0
        for site in range(self._site):
            if site not in self._suspects and site not in self._stage.graph.decision.away:
                turn += 1
        return turn

    def _consider(self, now: Micros) -> None:
        """If a new graph is wanted, tell the manager, and be it if nothing comes."""
        if not self._recovers or self._learned is not None or self._wish_armed or not self._wants_graph():
            return
        turn = self._turn()
        if turn > 0:
            self._tell_manager()
        self._set_wish(now, turn)

    def _tell_manager(self) -> None:
        for site in range(self._site):
            if site not in self._suspects and site not in self._stage.graph.decision.away:
                self._outbox.send(site, Wish(self._stage.number, tuple(sorted(self._suspects))))
                for asked in self._asked:
                    self._outbox.send(site, Change(asked.number, asked.group, asked.members))
                return

    def _set_wish(self, now: Micros, turn: int) -> None:
        self._wish_armed = True
        patience = self._resend_us + turn * (self._grace_us + 2 * self._resend_us)
        self._outbox.set_timer(WISH, 0, now + (patience << min(self._wish_tries, BACKOFF_MAX)))

    def _on_wish_timer(self, now: Micros) -> None:
        self._wish_armed = False
        if self._learned is not None or not self._wants_graph():
            self._wish_tries = 0
            return
        self._wish_tries += 1
        self._prepare(now)
        self._set_wish(now, self._turn() + 1)

    def _on_wish(self, now: Micros, source: SiteId, wish: Wish) -> None:
        if wish.number == self._stage.number:
            for suspect in wish.suspects:
                if suspect < self._sites and suspect != self._site and self._silence.get(suspect, 1) > 0:
                    self._suspects.add(suspect)
        self._consider(now)

    def _on_hello(self, now: Micros, source: SiteId, hello: Hello) -> None:
        number = hello.number + 1
        while number in self._decisions and number <= hello.number + DECISIONS_SENT_MAX:
            self._outbox.send(source, Decided(self._decisions[number]))
            number += 1
        if source in self._stage.graph.decision.away and hello.number == self._stage.number:
            self._returning.add(source)
            self._consider(now)

    def _note_changes(self) -> None:
        for asked in self._asked:
            self._changes[(self._site, asked.number)] = Change(asked.number, asked.group, asked.members)

    def _ask_manager(self, now: Micros) -> None:
        if not self._recovers:
            super()._ask_manager(now)
            return
        self._note_changes()
        self._consider(now)

    def _on_change(self, now: Micros, asker: SiteId, change: Change) -> None:
        if not self._recovers:
            super()._on_change(now, asker, change)
        elif self._is_sound_group(self._stage.graph.decision, change) and len(self._changes) < CHANGES_MAX:
            self._changes[(asker, change.number)] = change
            self._consider(now)

    def _hold(self, source: SiteId, message: Message) -> None:
        if self._recovers and not self._future:
            self._outbox.send(source, Hello(self._stage.number))
        super()._hold(source, message)

    def _on_newer_null(self, source: SiteId) -> None:
        """Somebody is in a graph that this site does not know."""
        if self._recovers and self._learned is None:
            self._outbox.send(source, Hello(self._stage.number))

    def _on_older_null(self, source: SiteId, null: Null) -> None:
        if not self._recovers:
            super()._on_older_null(source, null)
        elif null.graph + 1 in self._decisions:  # the sender was left out, and has not heard of it
            self._outbox.send(source, Decided(self._decisions[null.graph + 1]))

    def _prepare(self, now: Micros) -> None:
        """Be the manager; see deciding.py."""
