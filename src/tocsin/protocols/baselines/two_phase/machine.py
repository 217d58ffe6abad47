"""`two_phase`: the members propose priorities, the largest is agreed, messages are delivered in that order (ABCAST).

Papers: Birman, Joseph, "Reliable Communication in the Presence of Failures", TOCS 5(1), 1987 (the protocol is Skeen's);
as described in section 2 of Garcia-Molina, Spauster 1988 and section 4.3 of Chang, Hwang.

| what the papers say                                                          | here                         |
|------------------------------------------------------------------------------|------------------------------|
| the sender sends the message to its destinations                             | `Source.maybe_start`         |
| each gives it a priority higher than any so far, puts it on its queue as     | `Member.propose`             |
| "undeliverable", and returns the priority                                    |                              |
| the sender picks the highest and sends it back                               | `Source.on_propose`          |
| receivers change the priority, mark "deliverable", reorder, deliver the head | `Member.settle`, `PriorityQueue` |
| if the sender fails, a receiver takes over                                   | `Takeover`                   |

Deviations. A proposal is durable and given once, so whoever gathers all of them, source or not, finds the same largest
one: a takeover needs no agreement, and one too many is harmless. The origin's own proposal travels with the message, so
a source may stay down for ever once one member that is up has its message. A destination that is down is waited for
(the paper removes it from the view): new messages to its groups block, which is what two-phase commit does. Ties are
broken by (origin, number). Members propose for the messages of one source in the order of sending, and a source changes
groups only when its earlier messages are final: that makes the order first-in first-out and causal, which the paper
leaves to its transport and to CBCAST. Losses are repaired by asking again.
"""

from tocsin.core.data import Account, Enquiry, PeerRenewed
from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.core.renewal import RENEW, Renewal
from tocsin.protocols.baselines.two_phase.keeping import Keeping
from tocsin.protocols.baselines.two_phase.member import Member
from tocsin.protocols.baselines.two_phase.messages import Ask, Data, Final, Propose
from tocsin.protocols.baselines.two_phase.options import TwoPhaseOptions
from tocsin.protocols.baselines.two_phase.outgoing import RESEND, Outgoings
from tocsin.protocols.baselines.two_phase.source import Source
from tocsin.protocols.baselines.two_phase.takeover import ASK, Takeover


class TwoPhase(Machine):
    """Priorities proposed by all, the largest agreed."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, TwoPhaseOptions)
        site = setup.site
        groups = setup.groups
        records = Records(outbox, options.records_max)
        self._site = site
        self._window: int = options.window
        self._outgoings = Outgoings(outbox)
        self._member = Member(site, setup.sites, groups, options.window, self._outgoings, records, outbox)
        self._source = Source(setup, options.resend_us, self._outgoings, self._member, records, outbox)
        self._records = records
        self._renewal = Renewal(setup, options.resend_us, setup.sites - 1, records, outbox)
        self._takeover = Takeover(site, groups, options, self._member, outbox)
        self._keeping = Keeping(len(groups), self._source, self._outgoings, self._member, self._renewal, records)

    def room(self) -> int:
        return self._window - len(self._outgoings.waiting) if self._renewal.is_over else 0

    def quiet(self) -> bool:
        return not self._outgoings.waiting and not self._member.queue.entries and self._renewal.is_over

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self._keeping.recall(records)
        self._source.maybe_start(now)
        self._takeover.maybe_ask(now)
        self._renewal.start(now)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._source.add(group, payload)
        self._end_step(now)
        return seqno

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Enquiry):
            self._renewal.answer(source, message, (self._member.clock,), self._source.over_for(source))
        elif isinstance(message, Account):
            self._on_account(source, message)
        elif not self._renewal.is_over:
            return  # nothing is proposed: it comes again
        elif isinstance(message, Data):
            self._member.on_data(source, message)
        elif isinstance(message, Propose):
            if message.origin == self._site:
                self._source.on_propose(source, message)
            else:
                self._takeover.on_propose(source, message)
        elif isinstance(message, Final):
            self._member.on_final(message)
        elif isinstance(message, Ask):
            self._member.on_ask(source, message)
        self._end_step(now)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RESEND:
            self._source.send_again(now, key)
        elif timer == ASK:
            self._takeover.ask()
        elif timer == RENEW:
            self._renewal.ask(now)
        self._end_step(now)

    # Sites that begin anew

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        """Its places begin at 0 again; what it proposed for messages under way is gone with its disk."""
        self._member.renew(site)
        self._source.renew(site)
        self._records.persist(PeerRenewed(site))
        self._renewal.forget(site)

    def _on_account(self, source: SiteId, account: Account) -> None:
        """This site has begun anew; when all have answered, it proposes for what they send from there on."""
        if self._renewal.on_account(source, account, 1):
            self._renewal.tell_missed()
            for site, marks in self._renewal.answers():
                self._member.begin_at(site, marks[0], self._renewal.over(site))
            self._keeping.fold()

    def _end_step(self, now: Micros) -> None:
        self._source.maybe_start(now)
        self._takeover.maybe_ask(now)
        self._keeping.maybe_checkpoint()
