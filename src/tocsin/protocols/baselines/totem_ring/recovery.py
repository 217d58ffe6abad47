"""From agreed members to an installed ring: the commit token goes round four times (section 5, commit and recovery).

Phase 0 collects what each member brings, 1 tells it to all, who then exchange the messages of their old rings, 2 goes
on at each member when nothing is lacking there, 3 installs.
"""

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.protocols.baselines.totem_ring.exchange import Exchange
from tocsin.protocols.baselines.totem_ring.messages import Commit, Data
from tocsin.protocols.baselines.totem_ring.passing import Passing
from tocsin.protocols.baselines.totem_ring.ring import RINGS_MAX
from tocsin.protocols.baselines.totem_ring.store import Store


class Recovery:
    """The commit token as it was last here."""

    def __init__(
        self, site: SiteId, sites: int, store: Store, exchange: Exchange, passing: Passing, outbox: Outbox
    ) -> None:
        self._site = site
        self._sites = sites
        self._store = store
        self._exchange = exchange
        self._passing = passing
        self._outbox = outbox
        self._commit: Commit | None = None  # the newest seen here; None: no ring is being committed to
        self._held: Commit | None = None  # phase 2, waiting for messages of the old ring

    # Which commit token comes next

    def first_commit(self, members: list[SiteId]) -> Commit:
        """The representative of agreed members makes the commit token."""
        number = self._store.propose_ring()
        return Commit(number, self._site, tuple(members), 0, (self._exchange.past(),))

    def is_sound(self, commit: Commit) -> bool:
        """Whether a correct site may have sent it to this one."""
        members = commit.members
        if (
            commit.ring > RINGS_MAX
            or self._site not in members
            or max(members) >= self._sites
            or list(members) != sorted(set(members))
        ):
            return False
        return members[0] == commit.root and len(commit.pasts) <= len(members)

    def with_past(self, commit: Commit) -> Commit | None:
        """The token of phase 0 with what this site brings; None if this is not its turn."""
        if commit.phase != 0 or len(commit.pasts) != commit.members.index(self._site):
            return None
        return Commit(commit.ring, commit.root, commit.members, 0, (*commit.pasts, self._exchange.past()))

    def following(self, commit: Commit) -> Commit | None:
        """What to go on with when this token comes while one is known; None: it brings nothing new."""
        known = self._commit
        if known is None or len(commit.pasts) != len(commit.members):
            return None
        index = commit.members.index(self._site)
        own = commit.pasts[index]
        if known.ring != commit.ring or known.root != commit.root or not self._store.ring.is_named(own.ring, own.root):
            return None
        if index == 0 and commit.phase == known.phase and commit.phase < 3:  # round once: the next phase
            return Commit(commit.ring, commit.root, commit.members, commit.phase + 1, commit.pasts)
        if index > 0 and commit.phase == known.phase + 1:
            return commit
        return None

    def is_given_up(self, site: SiteId, accepted: int) -> bool:
        """Whether the ring will never be: one of its members gathers anew, and had accepted it or a later one."""
        commit = self._commit
        return commit is not None and site in commit.members and accepted >= commit.ring

    # Going on

    def advance(self, now: Micros, commit: Commit) -> bool:
        """Do what a phase asks for, and pass the commit token on; True: the ring is installed, see `tell_installed`."""
        self._commit = commit
        self._passing.forget()
        self._passing.expect_return(now, max(len(commit.members), len(self._store.ring.members)), 0)
        if len(commit.members) == 1 or commit.phase == 3:
            self._install(commit)
            self.stop()
            self._passing.expect_nothing()
            return True
        if commit.phase == 1:
            self._exchange.send_missing(commit)
        if commit.phase == 2 and self._exchange.lacking(commit):
            self._held = commit
            self.ask_again(now)
        else:
            self._passing.pass_on(now, self._next_after(commit), commit, 0)
        return False

    def tell_installed(self, now: Micros, commit: Commit) -> None:
        """The last round goes on after the ring was started here; only the representative repeats it."""
        if len(commit.members) == 1:
            return
        if commit.root == self._site:
            self._passing.pass_on(now, self._next_after(commit), commit, 0)
        else:
            self._outbox.send(self._next_after(commit), commit)

    def stop(self) -> None:
        """No ring is being committed to."""
        self._commit = None
        self._held = None

    def _next_after(self, commit: Commit) -> SiteId:
        return commit.members[(commit.members.index(self._site) + 1) % len(commit.members)]

    def _install(self, commit: Commit) -> None:
        """Deliver what the old ring left, in two configurations, and begin the new one; all in one step."""
        companions = self._exchange.companions(commit)
        self._store.deliver_below(self._exchange.settled(commit))
        self._outbox.install_view((commit.ring - 1) * self._sites + companions[0], companions, True)
        self._store.deliver_rest(companions)
        members = list(commit.members)
        self._outbox.install_view(commit.ring * self._sites + commit.root, members, True)
        self._store.begin_ring(commit.ring, commit.root, members)

    # The exchange

    def ask_again(self, now: Micros) -> None:
        """Ask for what is lacking, while the commit token waits for it."""
        if self._held is not None:
            self._exchange.send_wants(self._held)
            self._passing.retry_later(now)

    def on_data(self, data: Data) -> Commit | None:
        """A message of the old ring, taken only if the exchange is about it; the commit token, if it need not wait."""
        commit = self._commit
        if commit is None or commit.phase == 0 or not self._exchange.lacking(commit).contains(data.place):
            return None
        self._store.store(data.place, data.item)
        held = self._held
        if held is None or self._exchange.lacking(held):
            return None
        self._held = None
        return held
