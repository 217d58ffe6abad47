"""What survives a crash: numbers, what was delivered, the ticks of the local clock, and what was told to others.

A process should be sparing with stable storage (section 2.1): a broadcast and a delivery write one record each, a tick
one, an estimate one whenever it is told, which becomes rare as evidence grows. What was learned from others is not
kept: neighbours tell everything to one that comes back.
"""

from typing import Final

from tocsin.core.data import Account, Enquiry, Received, Renewed
from tocsin.core.machine import FIRST_INCARNATION, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.received import ReceivedNumbers
from tocsin.core.records import Records
from tocsin.core.renewal import ASKS_BY_LUCK, OF_EACH_GROUP, Renewal
from tocsin.protocols.reliability_tree.beliefs import Evidence
from tocsin.protocols.reliability_tree.messages import Published, Sent, Started, Summary, Ticked

MISSED_MAX: Final = 1_000_000  # ticks of one crash that are counted: twelve days of seconds
LIVES_MAX: Final = 1 << 32  # starts of one incarnation: every life of a later one is greater
NEVER: Final = -1
RENEW_US: Final = 50_000  # between the questions of a process that begins anew: a round trip of most networks


class Told:
    """An estimate of ours, as it was last told."""

    def __init__(self) -> None:
        self.version = 0
        self.successes = 0  # of what we observed ourselves; kept so that a crash does not lose it
        self.failures = 0
        self.public_successes = 0  # as told: of a link, both ends' observations
        self.public_failures = 0


class Memory:
    """The records of a process, and what they say."""

    def __init__(self, setup: Setup, outbox: Outbox, remembered: int, records_max: int) -> None:
        self.life = (setup.incarnation - FIRST_INCARNATION) * LIVES_MAX  # of this start; greater than any before
        self.ticks = Evidence(remembered)  # of our own: up, down
        self._groups: int = len(setup.groups)
        self._numbers = OwnNumbers(setup.first_seqno)
        self._received = ReceivedNumbers()
        self._ticked_at = NEVER  # the last look at the clock
        self._told: dict[int, Told] = {}  # by key
        self._records = Records(outbox, records_max)
        self.renewal = Renewal(setup, RENEW_US, OF_EACH_GROUP, self._records, outbox, ASKS_BY_LUCK)

    # Starting

    def recall(self, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, Received):
                self._received.add(record.origin, record.seqno)
            elif isinstance(record, Sent):
                self._numbers.recall(record.seqno)
            elif isinstance(record, Ticked):
                self._recall_ticks(record.at, record.up, record.down)
            elif isinstance(record, Published):
                self._recall_told(record)
            elif isinstance(record, Started):
                self.life = record.life
            elif isinstance(record, Summary):
                self._recall_summary(record)
            elif isinstance(record, Renewed):
                self.renewal.recall()
        self._records.recall(records)

    def _recall_summary(self, summary: Summary) -> None:
        self.life = summary.life
        self._numbers.resume(summary.next_seqno)
        for origin, ranges in summary.received:
            self._received.recall(origin, ranges)
        if summary.ticked is not None:
            self._recall_ticks(summary.ticked.at, summary.ticked.up, summary.ticked.down)
        for published in summary.published:
            self._recall_told(published)

    def _recall_ticks(self, at: int, up: int, down: int) -> None:
        self._ticked_at = at
        self.ticks.successes = up
        self.ticks.failures = down

    def _recall_told(self, record: Published) -> None:
        told = self.told(record.key)
        told.version = record.version
        told.successes = record.successes
        told.failures = record.failures
        told.public_successes = record.public_successes
        told.public_failures = record.public_failures

    def begin_life(self, now: Micros, tick_us: int) -> None:
        """Event 4: the ticks since the last one on disk were missed. A clock that went back (after a reboot) tells only
        that there was a crash."""
        self.life += 1
        self._records.persist(Started(self.life))
        if self._ticked_at != NEVER:
            missed = (now - self._ticked_at) // tick_us if now >= self._ticked_at else 1
            self.ticks.add(0, min(missed, MISSED_MAX))
        self._keep_ticks(now)

    # The clock

    def tick(self, now: Micros, tick_us: int) -> None:
        """Event 3; a process that was stopped in between was down to all others."""
        missed = (now - self._ticked_at) // tick_us - 1
        self.ticks.add(1, min(max(missed, 0), MISSED_MAX))
        self._keep_ticks(now)

    def _keep_ticks(self, now: Micros) -> None:
        self._ticked_at = now
        self._records.persist(Ticked(now, self.ticks.successes, self.ticks.failures))

    # Messages

    def take_number(self) -> int:
        seqno = self._numbers.take()
        self._records.persist(Sent(seqno))
        return seqno

    def has_received(self, origin: SiteId, seqno: int) -> bool:
        return self._received.has(origin, seqno)

    def note_received(self, origin: SiteId, seqno: int) -> None:
        self._received.add(origin, seqno)
        self._records.persist(Received(origin, seqno))

    # A site that begins anew

    def on_enquiry(self, source: SiteId, enquiry: Enquiry) -> None:
        self.renewal.answer(source, enquiry, self._received.marks())

    def on_account(self, source: SiteId, account: Account) -> None:
        if self.renewal.on_account(source, account):
            self._begin_anew()

    def ask_again(self, now: Micros) -> None:
        if self.renewal.maybe_give_up():
            self._begin_anew()
        self.renewal.ask(now)

    def _begin_anew(self) -> None:
        """What the others have is missed here, and never delivered."""
        self.renewal.tell_missed()
        for _, marks in self.renewal.answers():
            self._received.adopt(marks)
        self._fold()

    # Estimates

    def told(self, key: int) -> Told:
        """What was told of this; an empty entry if nothing was."""
        known = self._told.get(key)
        if known is None:
            known = Told()
            self._told[key] = known
        return known

    def told_keys(self) -> list[int]:
        return sorted(self._told)

    def keep(self, key: int) -> None:
        """Make what was told of this durable."""
        self._records.persist(self._published(key))

    def _published(self, key: int) -> Published:
        told = self._told[key]
        return Published(key, told.version, told.successes, told.failures, told.public_successes, told.public_failures)

    # Stable storage

    def maybe_checkpoint(self) -> bool:
        """Fold the records into a summary, once they are many."""
        if not self._records.are_many(0):
            return False
        self._fold()
        return True

    def _fold(self) -> None:
        ticked: Ticked | None = None
        if self._ticked_at != NEVER:
            ticked = Ticked(self._ticked_at, self.ticks.successes, self.ticks.failures)
        published = [self._published(key) for key in self.told_keys()]
        received = self._received.all_ranges()
        summary = Summary(self.life, self._numbers.following, received, ticked, tuple(published))
        self._records.fold([summary, *self.renewal.records()])
        self._records.release_log(self._groups)
