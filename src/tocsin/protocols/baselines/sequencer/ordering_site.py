"""A site that keeps one order with others: it follows whoever may order, repairs, and takes part in elections.

How the site that has the token gives places is left to the protocol: `Sequencer` one by one, `OptimisticToken` in
batches. When messages are delivered is `Delivery`'s.
"""

from typing import Final

from tocsin.core.data import Account, Enquiry
from tocsin.core.machine import FIRST_INCARNATION, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.core.renewal import RENEW
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.commits import Commits
from tocsin.protocols.baselines.sequencer.contact import Contact
from tocsin.protocols.baselines.sequencer.delivery import Delivery
from tocsin.protocols.baselines.sequencer.election import ELECT, Election
from tocsin.protocols.baselines.sequencer.filling import Filling
from tocsin.protocols.baselines.sequencer.keeping import Keeping
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import (
    NO_GROUP,
    Fill,
    Have,
    Item,
    Lacks,
    Newer,
    Ordered,
    Seek,
    Skip,
    Status,
    Submit,
    Vote,
)
from tocsin.protocols.baselines.sequencer.newcomer import Newcomer
from tocsin.protocols.baselines.sequencer.options import SequencerOptions
from tocsin.protocols.baselines.sequencer.repair import Repair
from tocsin.protocols.baselines.sequencer.source import SUBMIT, Source
from tocsin.protocols.baselines.sequencer.terms import NOBODY, Terms
from tocsin.protocols.baselines.sequencer.timers import Timers
from tocsin.protocols.baselines.sequencer.token_site import PASS, TokenSite

GAP: Final = "GAP"  # something is missing here, or nothing was heard of the orderer for long
CHECK: Final = "CHECK"  # the orderer does not know that everybody has everything; or it has not said so for long
UNTOLD: Final = 4  # times `resend_us` before another asks the orderer: it asks everybody itself after one or two


class OrderingSite:
    """The parts of a site, and what happens to several of them at once.

    A step of the machine ends with `end_step`. `on_message` and `on_timer` tell whether this site has the token and
    something new to order.
    """

    def __init__(
        self,
        setup: Setup,
        options: SequencerOptions,
        records: Records,
        log: Log,
        application: Application,
        delivery: Delivery,
        outbox: Outbox,
    ) -> None:
        site = setup.site
        peers: list[SiteId] = [other for other in range(setup.sites) if other != site]
        self._site = site
        self._groups = len(setup.groups)
        self._window: int = options.window
        self._resend_us: int = options.resend_us
        self._acknowledges: bool = options.delivery == "committed"  # deliveries wait for commits: say what is here
        self._outbox = outbox
        self._delivery = delivery
        self.peers = peers
        self.log = log
        self.timers = Timers(outbox)
        self.terms = Terms(setup.sites, records)
        self.token = TokenSite(site, peers, options.rotate, self.terms, log, self.timers, outbox)
        self.source = Source(site, peers, self.terms, log, self.token, records, outbox)
        self.commits = Commits(self.terms, log, self.token, self.source, delivery, application)
        self._keeping = Keeping(self.terms, log, self.token, self.source, self.commits, delivery, application, records)
        self.contact = Contact(options.resend_us, options.suspect_after)
        self.repair = Repair(site, peers, self._groups, self.terms, log, self.token, delivery, outbox)
        self._filling = Filling(site, log, self.token, self.repair, self.commits, self.contact, self._keeping, outbox)
        wait_us, rng = options.election_us, setup.rng
        self.election = Election(site, peers, wait_us, rng, self.terms, log, self.token, self.timers, outbox)
        self._newcomer = Newcomer(setup, options.resend_us, self.terms, self.election, records, outbox)
        self._keeping.welcome(self._newcomer)
        self._is_first_start: bool = setup.incarnation == FIRST_INCARNATION
        self.source.numbers.resume(setup.first_seqno)

    # Questions

    def room(self) -> int:
        return self._window - len(self.source.pending) if self._newcomer.takes_part() else 0

    def quiet(self) -> bool:
        if self.source.pending or self._lagging() or not self._newcomer.takes_part():
            return False
        return not self.token.here or self.token.everywhere() >= self.log.end()

    def may_take_token(self) -> bool:
        """The token comes to this site, and everything ordered before it is here."""
        token = self.token
        if token.here or token.barred or token.orderer != self._site or self.election.candidate or self.repair.early:
            return False
        return self.log.matched >= max(token.have)

    def _lagging(self) -> bool:
        """Whether this site needs to hear something."""
        log = self.log
        if not self.contact.in_step or self.repair.early or self.election.candidate:
            return True
        if self.token.barred and self.token.orderer == self._site:
            return True  # the token is here and may not be used: the term cannot go on
        if log.matched < max(log.end(), self.repair.known_end):
            return True
        return log.committed < log.end() and not self.token.here

    # Starting

    def start(self, now: Micros, records: list[Record]) -> None:
        self._keeping.recall(records)
        self._newcomer.start(now)
        if records or not self._is_first_start:
            self._begin_again()
        self._set_timers(now)

    def _begin_again(self) -> None:
        """After a restart: whoever orders now is to say what is lacking here."""
        self._forget_term()
        self.token.bar()
        if self._newcomer.takes_part():
            self._outbox.multicast(list(self.peers), Lacks(self.terms.term, self.log.matched))

    def on_peer_renewed(self, site: SiteId) -> None:
        """It has nothing, and will ask for what it lacks."""
        self.token.renew(site)
        self._newcomer.renewal.forget(site)

    # Others

    def on_message(self, now: Micros, source: SiteId, message: Message) -> bool:
        """All messages but broadcasts; True: this site has won an election and orders from here on."""
        if isinstance(message, Enquiry):
            self._newcomer.on_enquiry(source, message)
        elif isinstance(message, Account):
            if self._newcomer.on_account(source, message):
                self._begin_again()
        if not self._newcomer.takes_part():
            return False  # nothing is promised or acknowledged
        self.election.trust(source)
        if isinstance(message, Ordered):
            if self.is_current(source, message.term):
                self._on_ordered(source, message)
        elif isinstance(message, Status):
            if self.is_current(source, message.term):
                self._on_status(source, message)
        elif isinstance(message, Have):
            if self.is_current(source, message.term):
                self._on_have(source, message)
        elif isinstance(message, Lacks):
            if self.is_current(source, message.term):
                self._filling.on_lacks(source, message.position)
        elif isinstance(message, Fill):
            if self.is_current(source, message.term):
                self._filling.on_fill(source, message)
        elif isinstance(message, Skip):
            if self.is_current(source, message.term):
                self._filling.on_skip(source, message)
        elif isinstance(message, Seek):
            if self.is_current(source, message.term):
                self.election.on_seek(now, source, message)
        elif isinstance(message, Vote):
            self.election.on_vote(source, message)
            return self._maybe_lead()
        elif isinstance(message, Newer):
            self.is_current(source, message.term)
        return False

    def is_current(self, source: SiteId, term: int) -> bool:
        """Follow into a newer term, refuse an older one."""
        if term > self.terms.term:
            self._enter_term(term, NOBODY)
        elif term < self.terms.term:
            self._outbox.send(source, Newer(self.terms.term))
        return term == self.terms.term

    def accepts(self, source: SiteId, submit: Submit) -> bool:
        """Whether a broadcast is what a correct source sends; it may show that there is a newer term."""
        self.election.trust(source)
        if submit.origin != source or submit.group >= self._groups or not self._newcomer.takes_part():
            return False
        self.log.submissions.note_first(source, min(submit.first, submit.seqno))
        if submit.term > self.terms.term:
            self._enter_term(submit.term, NOBODY)
        return True

    def note_token(
        self, source: SiteId, token: SiteId, hop: int, have: tuple[int, ...], absent: tuple[int, ...]
    ) -> bool:
        """Somebody says who orders now; False if that is not to be believed."""
        if not self.token.is_sound(token, absent):
            return False
        if self.token.here or not self.token.is_complete(have):
            return self.token.here and token == self._site
        if self.token.is_news(source, token, hop):
            self.contact.answered()
        self.contact.get_in_step()
        self.election.end()  # somebody has won this term
        self.token.note(source, token, hop, have, absent)
        return True

    def _on_ordered(self, source: SiteId, ordered: Ordered) -> None:
        if not self.repair.is_valid(ordered.item) or not self.note_token(
            source, ordered.token, ordered.hop, ordered.have, ordered.absent
        ):
            return
        self.repair.hold(ordered.position, ordered.item)
        self.repair.take_early()
        self.commits.commit(ordered.committed)
        self.log.note_stable(ordered.stable)
        if self.log.matched <= ordered.position:
            self.repair.ask(source)
        elif self._acknowledges and not self.token.rotate:
            self._outbox.send(source, Have(self.terms.term, self.log.matched, 0))

    def _on_status(self, source: SiteId, status: Status) -> None:
        if not self.note_token(source, status.token, status.hop, status.have, status.absent):
            return
        self.repair.note_end(status.end)
        if status.end > self.log.matched:
            self.repair.ask(source)
        elif status.ask:
            self._outbox.send(source, Have(self.terms.term, self.log.matched, 0))
        elif status.token == self._site and status.hop < self.token.hop:
            self._outbox.send(source, Have(self.terms.term, self.log.matched, self.token.hop))  # taken long ago
        self.commits.commit(status.committed)
        self.log.note_stable(status.stable)

    def _on_have(self, source: SiteId, have: Have) -> None:
        self.token.note_have(source, have.matched)
        if self.token.rotate:
            self.token.note_taken(source, have.hop)
        elif self.token.here:
            if self.commits.maybe_commit() and self._acknowledges:
                self._outbox.multicast(list(self.peers), self.token.status())

    # Ordering

    def place(self, item: Item) -> None:
        """Give an item the next place, tell everybody, and let the token go with it."""
        position = self.log.end()
        self._delivery.append(item)
        self.log.match_all()
        self.token.note_own()
        self.commits.maybe_commit()
        token = self.token
        if token.rotate and token.next_site() != self._site:
            token.give()
            self.timers.unset(PASS)
        have = tuple(token.have) if token.rotate else ()
        if self.peers:
            log = self.log
            ordered = Ordered(
                self.terms.term,
                position,
                item,
                log.committed,
                log.stable,
                token.orderer,
                token.hop,
                have,
                tuple(token.absent),
            )
            self._outbox.multicast(list(self.peers), ordered)

    # Terms

    def _enter_term(self, term: int, voted: SiteId) -> None:
        self.terms.enter(term, voted)
        self._forget_term()

    def _forget_term(self) -> None:
        """What was known of the last term's order is not known of this one's, but what was committed."""
        self.log.forget_term()
        self.election.forget_term()
        self.token.forget_term()
        self.repair.forget_term()
        self.contact.forget_term()
        self._delivery.forget_term()

    def _seek(self, now: Micros) -> bool:
        """Ask everybody for the right to order in a new term; whether it is granted at once."""
        if self.election.reach() < self.election.floor:
            self.election.wait(now, 1)  # somebody else must lead: this site has lost what it once had
            return False
        self._enter_term(self.terms.term + 1, self._site)
        self.election.seek(now)
        return self._maybe_lead()

    def _maybe_lead(self) -> bool:
        """A majority follows: order from here on, beginning with an item of the new term."""
        if not self.election.is_won():
            return False
        self.election.end()
        self.log.match_all()
        self.token.lead(self.election.absentees())
        self.contact.lead()
        for item in self.source.pending.values():
            self.log.submissions.add(self.log.order, item)
        self.place(Item(self.terms.term, NO_GROUP, self._site, self.terms.term, b""))
        return True

    # Timers

    def on_timer(self, now: Micros, timer: str) -> bool:
        """True: this site has the token, and own messages to order or an election won."""
        self.timers.fired(timer)
        if timer == RENEW:
            self._newcomer.ask(now)
        if not self._newcomer.takes_part():
            return False
        if timer == SUBMIT:
            return self._on_submit_timer(now)
        if timer == GAP:
            return self._on_gap_timer(now)
        if timer == PASS:
            return self._on_pass_timer(now)
        if timer == CHECK:
            self.token.ask_behind()
        elif timer == ELECT and self.token.orderer == NOBODY:
            return self._seek(now)
        return False

    def _on_submit_timer(self, now: Micros) -> bool:
        if self.token.here:
            self.source.submit_here()
            return True
        if self.election.candidate or not self.source.submit_again():
            return False
        return self._count_try(now)

    def _on_gap_timer(self, now: Micros) -> bool:
        if not self._lagging() or self.election.candidate:
            return False
        heard = self.contact.heard
        self.contact.look_away()
        if heard and not self.repair.early and self.log.matched >= max(self.log.end(), self.repair.known_end):
            return False
        self.repair.ask_again()
        return self._count_try(now)

    def _on_pass_timer(self, now: Micros) -> bool:
        if not self.token.is_passed_on():
            return False
        self._outbox.send(self.token.orderer, self.token.status())
        return self._count_try(now)

    def _count_try(self, now: Micros) -> bool:
        """A question had no answer; after too many there is an election."""
        if not self.contact.count_try():
            return False
        if self.token.orderer == NOBODY:
            self.election.wait(now, 1)  # one is under way: asking at once would stop it, again and again
            return False
        self.election.suspect(self.token.orderer)
        return self._seek(now)

    # The end of a step

    def end_step(self, now: Micros) -> None:
        self._set_timers(now)
        self._keeping.end_step()
        self.token.maybe_tell_stable()

    def _set_timers(self, now: Micros) -> None:
        """Set the timers that are needed."""
        if not self._newcomer.takes_part():
            return
        patience_us = self.contact.patience_us()
        if self.source.pending:
            self.timers.set(SUBMIT, now + patience_us)
        if self._lagging() and not self.election.candidate and self.peers:
            in_a_hurry = len(self.repair.early) > 0 or self.log.matched < self.repair.known_end
            self.timers.set(GAP, now + (patience_us if in_a_hurry else 2 * patience_us))
        if self.token.has_to_check():
            is_asked_by_one = not self.token.rotate and not self.token.here
            self.timers.set(CHECK, now + (UNTOLD if is_asked_by_one else 1) * self._resend_us)
        elif not self.token.rotate:
            self.timers.unset(CHECK)
        if self.token.hop > self.token.taken and self.token.is_passed_on():
            self.timers.set(PASS, now + patience_us)
