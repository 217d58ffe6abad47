"""`reliability_tree`: the fewest messages for a wanted probability of reaching everybody, learned while running.

Paper: Garbinato, Pedone, Schmidt, "An Adaptive Algorithm for Efficient Message Diffusion in Unreliable Environments",
2004.

| what the paper says                                        | here                                            |
|------------------------------------------------------------|-------------------------------------------------|
| 3.1, 3.3 maximum reliability tree, optimize()              | `tocsin.planning.reliability`, `plans.py`       |
| Algorithm 1: broadcast, propagate                          | `broadcast`, `_on_data`, `_propagate`           |
| Algorithm 3: the less distorted estimate is kept           | `Knowledge.merge`                               |
| Algorithm 4, lines 14-17: heartbeats                       | `_on_heartbeat_due`, `_send_heartbeats`         |
| Event 1: a heartbeat arrives                               | `_on_heartbeat`, `Direct.on_heartbeat`          |
| Event 2: none for some time                                | `_look_at_neighbours`, `Direct.on_tick`         |
| Events 3 and 4: own ticks, and those missed in a crash     | `_on_tick`, `Memory.tick`, `Memory.begin_life`  |
| Algorithm 5: beliefs                                       | `beliefs.py`                                    |

Deviations (reasons in docs/protocols/reliability_tree.md): line 19 counts what was lost, not the arrival itself;
evidence is two integers; each direction of a link has its own estimate, told by who hears it, and they are taken
together while they look alike; the time that a process is down is common to all copies of a message, losses are not;
who cannot be reached is not promised to; versions tell old from new; own estimates are told when they have changed
enough; heartbeats hold what changed since the neighbour's acknowledgement; the tree travels as a plan with the copies
in it; a neighbour that is silent for long is gone, and so is its link; what was delivered is remembered on disk;
groups; a budget.
"""

from typing import Final

from tocsin.core.data import Account, Enquiry
from tocsin.core.errors import InputError
from tocsin.core.machine import ROOM_WITHOUT_LIMIT, GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.renewal import RENEW
from tocsin.protocols.reliability_tree.beliefs import is_news, packed
from tocsin.protocols.reliability_tree.direct import Direct
from tocsin.protocols.reliability_tree.knowledge import Knowledge, is_newer, link_key
from tocsin.protocols.reliability_tree.memory import Memory
from tocsin.protocols.reliability_tree.messages import Data, Heartbeat
from tocsin.protocols.reliability_tree.news import decode_news
from tocsin.protocols.reliability_tree.options import ReliabilityTreeOptions
from tocsin.protocols.reliability_tree.plans import NetworkMap, Plan, best_plan, make_plan, read_plan, unreachable
from tocsin.protocols.reliability_tree.surroundings import believed_map, given_map, members_of, neighbours_of

HEARTBEAT: Final = "HEARTBEAT"
TICK: Final = "TICK"
SETTLE: Final = "SETTLE"


class ReliabilityTree(Machine):
    """Broadcast down the most reliable tree, in as many copies as the wanted reach needs; learn what is reliable."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, ReliabilityTreeOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._groups = setup.groups
        self._outbox = outbox
        self._rng = setup.rng
        self._learns: bool = options.knowledge == "learned"
        self._reach: float = options.reach
        self._per_site: int = options.messages_per_site_max
        self._caution: float = options.caution
        self._heartbeat_us: int = options.heartbeat_us
        self._tick_us: int = options.tick_us
        self._growth: float = options.news_growth
        self._news_max: int = options.news_max
        self._full_every: int = options.full_every
        self._settle_us: int = options.settle_us
        self._leaves_out: bool = options.leave_out
        self._given_loss: float = options.given_loss
        self._topology = setup.topology  # `given` knowledge; who learns takes nothing from it but its neighbours
        self._memory = Memory(setup, outbox, options.memory, options.records_max)
        self.knowledge = Knowledge(setup.site, setup.sites)  # to look at
        self.neighbours: list[Direct] = []  # to look at; sorted by site
        self._beside: dict[SiteId, Direct] = {}  # the same, by site
        if self._learns:
            for site in neighbours_of(setup.site, setup.sites, setup.topology):
                direct = Direct(site, len(self.neighbours), options.memory, options.vanish_after)
                self.neighbours.append(direct)
                self._beside[site] = direct
        self._everybody = members_of(setup.groups)
        self._heartbeats = 0  # sent in this life
        self._settled = not self._learns  # whether broadcasts are taken
        self._plans: dict[tuple[GroupId, float], Plan] = {}  # of what is known now

    # The application

    def room(self) -> int:
        return ROOM_WITHOUT_LIMIT if self._settled and self._memory.renewal.is_over else 0

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        """With the reach of the options, or the best that the budget allows."""
        return self._broadcast(group, payload, self._plain(group))

    def _plain(self, group: GroupId) -> Plan:
        """Of a broadcast without a reach of its own."""
        if (group, 0.0) not in self._plans:
            plan = best_plan(self._map(), self._site, self._groups[group], self._reach, self._per_site)
            self._plans[(group, 0.0)] = plan
        return self._plans[(group, 0.0)]

    def broadcast_reaching(self, now: Micros, group: GroupId, payload: bytes, reach: float) -> int:
        """With a reach of its own; an error if the budget does not allow it."""
        return self._broadcast(group, payload, self._promised(group, reach))

    def promise(self, now: Micros, group: GroupId, reach: float) -> float:
        return self._promised(group, reach).reach

    def plan(self, group: GroupId, reach: float) -> Plan:
        """What a broadcast with this reach would do now; an error if the budget does not allow it."""
        return self._plan(group, reach)

    def _plan(self, group: GroupId, reach: float) -> Plan:
        plan = self._plans.get((group, reach))
        if plan is None:
            plan = make_plan(self._map(), self._site, self._groups[group], reach, self._per_site)
            self._plans[(group, reach)] = plan
        return plan

    def _promised(self, group: GroupId, reach: float) -> Plan:
        """The plan, if it can be promised: nobody is left out, or that is allowed."""
        plan = self._plans.get((group, reach))
        left_out = plan.left_out if plan else unreachable(self._map(), self._site, self._groups[group])
        if left_out and not self._leaves_out:
            lacking = ", ".join([str(site) for site in left_out])
            raise InputError(
                f"reach: no known way leads to {len(left_out)} of {len(self._groups[group])} members (sites "
                f"{lacking}); expected to have heard of them, or `leave_out`"
            )
        return self._plan(group, reach)

    def left_out(self, now: Micros, group: GroupId, reach: float) -> list[SiteId]:
        return self._plan(group, reach).left_out if reach > 0.0 else self._plain(group).left_out

    # Algorithm 1

    def _broadcast(self, group: GroupId, payload: bytes, plan: Plan) -> int:
        seqno = self._memory.take_number()
        self._propagate(group, self._site, seqno, plan.sends, payload)
        if self._site in self._groups[group]:
            self._outbox.deliver(group, self._site, seqno, payload)
        self._memory.maybe_checkpoint()
        return seqno

    def _on_data(self, data: Data) -> None:
        if data.origin >= self._sites or data.origin == self._site or data.group >= len(self._groups):
            return  # not a message of ours, or our own that came back
        if self._memory.has_received(data.origin, data.seqno):
            return  # another copy
        children = read_plan(data.plan, self._sites, self._per_site * self._sites)
        self._propagate(data.group, data.origin, data.seqno, children, data.payload)
        self._memory.note_received(data.origin, data.seqno)
        if self._site in self._groups[data.group]:
            self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)
        self._memory.maybe_checkpoint()

    def _propagate(
        self, group: GroupId, origin: SiteId, seqno: int, children: list[tuple[SiteId, int, bytes]], payload: bytes
    ) -> None:
        for child, copies, plan in children:
            if child != self._site:
                for _ in range(copies):  # each a message of its own: drivers send equal ones to many sites as one
                    self._outbox.send(child, Data(group, origin, seqno, plan, payload))

    # Algorithm 4

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self._memory.recall(records)
        self._memory.renewal.start(now)
        if not self._learns:
            return
        self._memory.begin_life(now, self._tick_us)
        for direct in self.neighbours:
            self._recall_link(direct)
        self._tell_process()
        self._outbox.set_timer(HEARTBEAT, 0, now + self._rng.below(self._heartbeat_us))
        self._outbox.set_timer(TICK, 0, now + self._tick_us)
        self._outbox.set_timer(SETTLE, 0, now + self._settle_us)
        self._maybe_settle()

    def _recall_link(self, direct: Direct) -> None:
        key = link_key(direct.site, self._site, self._sites)
        told = self._memory.told(key)
        direct.recall(told.successes, told.failures)
        if told.version > 0:
            self.knowledge.publish(key, told.version, told.public_successes, told.public_failures)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RENEW:
            self._memory.ask_again(now)
        elif timer == HEARTBEAT:
            self._on_heartbeat_due(now)
        elif timer == TICK:
            self._on_tick(now)
        elif timer == SETTLE:
            self._settled = True

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Data):
            if self._memory.renewal.is_over:
                self._on_data(message)
        elif isinstance(message, Enquiry):
            self._memory.on_enquiry(source, message)
        elif isinstance(message, Account):
            self._memory.on_account(source, message)
        elif isinstance(message, Heartbeat):
            direct = self._beside.get(source)
            if direct is not None:
                self._on_heartbeat(direct, message)

    def _on_heartbeat_due(self, now: Micros) -> None:
        self._look_at_neighbours()
        for direct in self.neighbours:
            self._maybe_tell_link(direct)
            self._maybe_tell_deaf(direct)
        self._maybe_tell_process()
        self._send_heartbeats()
        self._memory.maybe_checkpoint()
        self._outbox.set_timer(HEARTBEAT, 0, now + self._heartbeat_us)
        self._plans = {}  # they were of what was known until now

    def _send_heartbeats(self) -> None:
        """Lines 14 to 17. The same news are encoded once for all neighbours that hold the same."""
        self._heartbeats += 1
        encoded: dict[int, tuple[int, bytes]] = {}  # by base: up to which change, and what
        for direct in self.neighbours:
            base = direct.acknowledged
            if (self._heartbeats + direct.index) % self._full_every == 0:
                base = 0
            upto = base
            news = b""
            if direct.heard:  # who does not hear us is told nothing at length
                known = encoded.get(base)
                if known is None:
                    known = self.knowledge.news(base, self._news_max)
                    encoded[base] = known
                upto, news = known
            successes, failures = packed(direct.evidence.successes, direct.failures())
            if not direct.is_there():
                successes, failures = 0, 0
            self._outbox.send(
                direct.site,
                Heartbeat(
                    self._memory.life,
                    self._heartbeats,
                    successes,
                    failures,
                    direct.life(),
                    direct.have,
                    base,
                    upto,
                    news,
                ),
            )

    def _on_heartbeat(self, direct: Direct, message: Heartbeat) -> None:
        """Event 1."""
        if not direct.on_heartbeat(message.life, message.seqno):
            return
        if direct.is_newest(message.life, message.seqno):
            has_heard_us = message.your_life == self._memory.life
            direct.on_answer(message.successes, message.failures, has_heard_us)
            direct.acknowledged = message.have if has_heard_us and message.have <= self.knowledge.changes else 0
        if message.life == direct.life() and message.base <= direct.have:
            self._learn(direct, message)
        if not self._settled:
            self._maybe_settle()

    def _learn(self, direct: Direct, message: Heartbeat) -> None:
        """Lines 26 to 33, for what the neighbour says is new."""
        if message.news:
            news = decode_news(message.news, self._sites)
            if news is None:
                return  # nothing that a process of ours sends
            for key, version in self.knowledge.merge(news, direct.index):
                self._contradict(key, version)
        direct.have = max(direct.have, message.upto)

    def _look_at_neighbours(self) -> None:
        """Event 2."""
        for direct in self.neighbours:
            if direct.on_tick():
                self.knowledge.age(direct.index)
                if direct.maybe_vanish():
                    self._tell_gone(direct)

    def _on_tick(self, now: Micros) -> None:
        """Event 3."""
        self._memory.tick(now, self._tick_us)
        self._outbox.set_timer(TICK, 0, now + self._tick_us)

    # What we tell others of ourselves and our links

    def _maybe_tell_link(self, direct: Direct) -> bool:
        if direct.expected:
            return False  # what was told before our crash stands until we hear, or miss, the neighbour
        key = link_key(direct.site, self._site, self._sites)
        told = self._memory.told(key)
        successes = 0
        failures = 0
        if direct.heard:
            successes, failures = packed(direct.evidence.successes, direct.failures())
        if not is_news(successes, failures, told.public_successes, told.public_failures, self._growth):
            return False
        told.successes = direct.evidence.successes
        told.failures = direct.evidence.failures
        self._tell(key, successes, failures)
        return True

    def _maybe_tell_deaf(self, direct: Direct) -> bool:
        """The other end tells of the way from us to it; but where it does not hear us, those on our side may not hear
        it either: then we tell."""
        key = link_key(self._site, direct.site, self._sites)
        if not direct.heard or direct.way_to()[0] > 0 or not self.knowledge.has_link(key):
            return False
        self._tell(key, 0, 0)
        return True

    def _tell_gone(self, direct: Direct) -> None:
        """Both ways are gone; the other end may be, too, so whoever notices tells."""
        key = link_key(direct.site, self._site, self._sites)
        told = self._memory.told(key)
        told.successes = 0
        told.failures = 0
        self._tell(key, 0, 0)
        back = link_key(self._site, direct.site, self._sites)
        if self.knowledge.has_link(back):
            self._tell(back, 0, 0)

    def _maybe_tell_process(self) -> bool:
        told = self._memory.told(self._site)
        up, down = packed(self._memory.ticks.successes, self._memory.ticks.failures)
        if not is_news(up, down, told.public_successes, told.public_failures, self._growth):
            return False
        self._tell_process()
        return True

    def _tell_process(self) -> None:
        up, down = packed(self._memory.ticks.successes, self._memory.ticks.failures)
        self._tell(self._site, up, down)

    def _tell(self, key: int, successes: int, failures: int) -> None:
        """A new version of an estimate."""
        told = self._memory.told(key)
        known = self.knowledge.version(key)
        newest = known if known >= 0 and is_newer(known, told.version) else told.version
        self._publish(key, newest + 1, successes, failures)

    def _contradict(self, key: int, version: int) -> None:
        """Somebody holds a newer version of what is ours to tell: go beyond it."""
        told = self._memory.told(key)
        self._publish(key, version + 1, told.public_successes, told.public_failures)

    def _publish(self, key: int, version: int, successes: int, failures: int) -> None:
        told = self._memory.told(key)
        told.version = version & 0xFFFF
        told.public_successes = successes
        told.public_failures = failures
        self._memory.keep(key)
        self.knowledge.publish(key, told.version, successes, failures)

    # What we know

    def _map(self) -> NetworkMap:
        """The network as it is believed to be."""
        if not self._learns:
            return given_map(self._sites, self._topology, self._given_loss)
        return believed_map(self._site, self._sites, self.knowledge, self.neighbours, self._caution)

    def _maybe_settle(self) -> bool:
        """Take broadcasts as soon as a way to every member of every group is known; those aside that were heard once,
        and that nobody hears any more."""
        if self.knowledge.process_count() + len(self.neighbours) < len(self._everybody):
            return False
        heard = set(self.knowledge.processes()[0])
        heard.update([direct.site for direct in self.neighbours if direct.expected])
        if not heard.issuperset(self._everybody):
            return False
        missing = set(unreachable(self._map(), self._site, self._everybody))
        if missing and not missing <= self.knowledge.silent():
            return False
        self._settled = True
        self._outbox.cancel_timer(SETTLE, 0)
        return True
