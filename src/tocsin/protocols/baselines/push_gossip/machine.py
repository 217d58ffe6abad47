"""`push_gossip`: in every step forward to the neighbours that may lack the message, for a number of steps.

Paper: Garbinato, Pedone, Schmidt 2004, section 5: the reference algorithm that their adaptive one is compared with.

| what the paper says                                                       | here                                     |
|---------------------------------------------------------------------------|------------------------------------------|
| it proceeds in steps; in each, processes forward to their neighbours      | STEP, `_forward`                         |
| it goes on until all are reached with probability 0.9999; the number of   | `steps`, `search.steps_for_reach`        |
| steps was determined by trying                                            |                                          |
| processes acknowledge the receipt of data messages                        | `_on_data`                               |
| never forward to q what (a) was received from q or (b) q acknowledged     | `Rumour.lacking`                         |

Deviations. A step is a timer of each process, not a global round. The steps left travel with the message, so that all
forwarding ends. `fanout` limits a step to some neighbours drawn anew (the usual gossip); 0 is the reference. What was
delivered is remembered on stable storage, so that a crash does not deliver twice; what was being forwarded is not.
Without a topology everybody in the group is a neighbour of everybody.

Nothing but luck brings a message everywhere: agreement is a probability, and no order is promised.
"""

from typing import Final

from tocsin.core.data import Account, Enquiry, Received, Renewed
from tocsin.core.machine import ROOM_WITHOUT_LIMIT, GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.received import ReceivedNumbers
from tocsin.core.records import Records
from tocsin.core.renewal import ASKS_BY_LUCK, OF_EACH_GROUP, RENEW, Renewal
from tocsin.protocols.baselines.push_gossip.messages import Ack, Data, Sent, Summary
from tocsin.protocols.baselines.push_gossip.options import PushGossipOptions

STEP: Final = "STEP"


class Rumour:
    """A message that is being forwarded."""

    def __init__(self, data: Data, lacking: list[SiteId]) -> None:
        self.data = data
        self.left: int = data.left  # steps to come
        self.lacking = lacking  # sorted; neighbours it neither came from nor was acknowledged by


class PushGossip(Machine):
    """Forward, step by step, to those who may lack it."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, PushGossipOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._groups = setup.groups
        self._outbox = outbox
        self._rng = setup.rng
        self._steps: int = options.steps
        self._step_us: int = options.step_us
        self._fanout: int = options.fanout
        self._acknowledge: bool = options.acknowledge
        self._active_max: int = options.active_max
        self._neighbours: list[SiteId] | None = None  # None: the members of the group
        if setup.topology is not None:
            self._neighbours = _hosts_beside(setup)
        self._numbers = OwnNumbers(setup.first_seqno)
        self._received = ReceivedNumbers()
        self._rumours: dict[tuple[SiteId, int], Rumour] = {}  # oldest first
        self._records = Records(outbox, options.records_max)
        self._renewal = Renewal(setup, options.step_us, OF_EACH_GROUP, self._records, outbox, ASKS_BY_LUCK)

    def room(self) -> int:
        return ROOM_WITHOUT_LIMIT if self._renewal.is_over else 0

    def quiet(self) -> bool:
        return not self._rumours and self._renewal.is_over

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, Summary):
                self._numbers.resume(record.next_seqno)
                for origin in range(len(record.received)):
                    self._received.recall(origin, record.received[origin])
            elif isinstance(record, Sent):
                self._numbers.recall(record.seqno)
            elif isinstance(record, Received):
                self._received.add(record.origin, record.seqno)
            elif isinstance(record, Renewed):
                self._renewal.recall()
        self._records.recall(records)
        self._renewal.start(now)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        self._records.persist(Sent(seqno))
        data = Data(group, self._site, seqno, self._steps, payload)
        if self._site in self._groups[group]:
            self._outbox.deliver(group, self._site, seqno, payload)
        self._spread(now, data, -1)
        rumour = self._rumours.get((self._site, seqno))
        if rumour is not None:
            self._forward(rumour)  # the first step is now
        self._maybe_checkpoint()
        return seqno

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Data):
            self._on_data(now, source, message)
        elif isinstance(message, Ack):
            self._drop_neighbour(message.origin, message.seqno, source)
        elif isinstance(message, Enquiry):
            self._renewal.answer(source, message, self._received.marks())
        elif isinstance(message, Account):
            self._on_account(source, message)
        self._maybe_checkpoint()

    def _on_data(self, now: Micros, source: SiteId, data: Data) -> None:
        if data.origin >= self._sites or data.group >= len(self._groups):
            return  # not a message of ours
        if not self._renewal.is_over:
            return
        if data.origin != self._site and not self._received.has(data.origin, data.seqno):
            self._received.add(data.origin, data.seqno)
            self._records.persist(Received(data.origin, data.seqno))
            if self._site in self._groups[data.group]:
                self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)
            self._spread(now, data, source)
        else:
            self._drop_neighbour(data.origin, data.seqno, source)
        if self._acknowledge:
            self._outbox.send(source, Ack(data.origin, data.seqno))

    def _on_account(self, source: SiteId, account: Account) -> None:
        """This site has begun anew, and is told what the others have: that is missed here, and never delivered."""
        if self._renewal.on_account(source, account):
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._renewal.tell_missed()
        for _, marks in self._renewal.answers():
            self._received.adopt(marks)
        self._fold()

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RENEW:
            if self._renewal.maybe_give_up():
                self._begin_anew()
            self._renewal.ask(now)
        else:
            self._step(now)

    def _step(self, now: Micros) -> None:
        """Forward everything that has steps left, to those who may lack it."""
        for rumour in list(self._rumours.values()):
            self._forward(rumour)
        if self._rumours:
            self._outbox.set_timer(STEP, 0, now + self._step_us)

    def _spread(self, now: Micros, data: Data, source: SiteId) -> None:
        """Begin to forward a message that is new here."""
        neighbours = self._groups[data.group] if self._neighbours is None else self._neighbours
        lacking = [site for site in neighbours if site not in (self._site, source, data.origin)]
        if not lacking or data.left == 0:
            return
        if not self._rumours:
            self._outbox.set_timer(STEP, 0, now + self._step_us)
        self._rumours[(data.origin, data.seqno)] = Rumour(data, lacking)
        if len(self._rumours) > self._active_max:
            del self._rumours[next(iter(self._rumours))]

    def _forward(self, rumour: Rumour) -> None:
        """One step of one message."""
        rumour.left -= 1
        data = rumour.data
        targets = list(rumour.lacking)
        if 0 < self._fanout < len(targets):
            targets = [targets[place] for place in self._rng.sample(len(targets), self._fanout)]
        self._outbox.multicast(targets, Data(data.group, data.origin, data.seqno, rumour.left, data.payload))
        if rumour.left <= 0:
            del self._rumours[(data.origin, data.seqno)]

    def _drop_neighbour(self, origin: SiteId, seqno: int, neighbour: SiteId) -> None:
        """That neighbour has it."""
        rumour = self._rumours.get((origin, seqno))
        if rumour is not None and neighbour in rumour.lacking:
            rumour.lacking.remove(neighbour)
            if not rumour.lacking:
                del self._rumours[(origin, seqno)]

    def _maybe_checkpoint(self) -> bool:
        if not self._records.are_many(0):
            return False
        self._fold()
        return True

    def _fold(self) -> None:
        received = tuple([self._received.ranges(origin) for origin in range(self._sites)])
        self._records.fold([Summary(self._numbers.following, received), *self._renewal.records()])
        self._records.release_log(len(self._groups))


def _hosts_beside(setup: Setup) -> list[SiteId]:
    """The sites that a link joins to this one; through a switch all hosts on it are beside each other."""
    topology = setup.topology
    assert topology is not None
    hosts = topology.hosts()
    node = hosts[setup.site]
    beside: list[SiteId] = []
    for link in range(topology.link_count()):
        first = topology.link_first[link]
        second = topology.link_second[link]
        other = second if first == node else first if second == node else -1
        if other in hosts:
            beside.append(hosts.index(other))
    if not beside:  # only switches around: everybody is as near as everybody else
        beside = [site for site in range(setup.sites) if site != setup.site]
    return sorted(set(beside))
