"""Non-atomic delivery: the second half of section 5.2.1. From a decision to the next graph.

| paper                                              | here                                                     |
|----------------------------------------------------|----------------------------------------------------------|
| survivors install what they miss                   | `_install`, `_complete`, fetching.py                     |
| the new graph opens                                | `_complete`                                              |
| sources resend by source sequence number           | `_switch`: outlets start over, the primary says where    |
| the failed site rolls back its tail and redelivers | `_learn`, `_install`: the same as for survivors          |

We differ: the graph is decided by a majority of all sites (deciding.py), so that a suspicion may be wrong, any number
of managers may work at once, and a partition cannot give two lines of graphs. Group changes go the same way. Every
site, survivor or not, goes through the same steps: take back what does not count, fetch what counts and is missing, in
the order of the keys, then open the next graph.
"""

from typing import Final

from tocsin.core.machine import ANY_ORIGIN, GroupId, Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.deciding import GRACE, PUSH, Deciding
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.options_config import PropagationGraphOptions
from tocsin.protocols.propagation_graph.passing import RESEND
from tocsin.protocols.propagation_graph.record_messages import Lacking, Learned, Opened, Passed
from tocsin.protocols.propagation_graph.stage import Stage, final_of
from tocsin.protocols.propagation_graph.watching import WISH

FETCH: Final = "FETCH"  # missing messages of a closed graph have not come


class Recovering(Deciding):
    """Taking back, catching up, opening."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        options = setup.options
        assert isinstance(options, PropagationGraphOptions)
        self._keep: int = options.keep
        self._log = setup.log
        self._ends: dict[GroupId, int] = {}  # by group: the position of the next delivery, as the application counts
        self._history = History()  # what a site that is away may need
        self._holes: dict[GroupId, list[tuple[int, int]]] = {}  # ranks [start, end) of the present graph kept by nobody
        self._fetched: dict[tuple[GroupId, int], Passed] = {}  # of the present graph, by group and rank
        self._fetch_turn = 0  # whom to ask next
        self._refused: dict[
            GroupId, dict[SiteId, int]
        ] = {}  # by holder: it has nothing below this rank; see fetching.py
        self._fetch_rounds = 0  # time-outs since the first holder said that it keeps no more what is missing
        self._fetch_armed = False

    # Taking back, fetching, opening

    def _learn(self, now: Micros, decision: Decision) -> None:
        """The next graph is decided: undo what does not count of the present one, then fetch what is missing."""
        self._persist(Learned(decision))
        for record in self._take_back(decision):
            if self._delivers(self._stage, record.group):
                self._outbox.rollback(record.group, record.origin, record.seqno)
                self._ends[record.group] = self._ends.get(record.group, 0) - 1
        self._outbox.cancel_timer(GRACE, 0)
        self._install(now)

    def _take_back(self, decision: Decision) -> list[Passed]:
        """What `_learn` changes here, also when it is read back; what was taken back, newest first."""
        self._learned = decision
        self._decisions[decision.number] = decision
        self._stopped = True
        removed = self._stage.take_back(decision.finals)
        removed.reverse()
        for record in removed:
            self._places[(record.group, record.origin)] = record.place
            if record.rank >= final_of(decision.finals, record.group):
                self._history.drop(record)
        return removed

    def _missing(self, decision: Decision) -> list[tuple[GroupId, int]]:
        """By group, the first rank that counts and is not here."""
        found: list[tuple[GroupId, int]] = []
        stage = self._stage
        for group in range(len(stage.graph.decision.groups)):
            if self._delivers(stage, group):
                for rank in range(stage.ranks.get(group, 0), final_of(decision.finals, group)):
                    if not self._has_entry(group, rank) and not self._is_hole(group, rank):
                        found.append((group, rank))
                        break
        return found

    def _has_all(self, decision: Decision) -> bool:
        return not self._missing(decision)

    def _has_entry(self, group: GroupId, rank: int) -> bool:
        return (group, rank) in self._fetched or self._history.find(self._stage.number, group, rank) is not None

    def _is_hole(self, group: GroupId, rank: int) -> bool:
        for start, end in self._holes.get(group, []):  # noqa: SIM110
            if start <= rank < end:
                return True
        return False

    def _install(self, now: Micros) -> None:
        decision = self._learned
        if decision is None:
            return
        missing = self._missing(decision)
        if not missing:
            self._complete(now, decision)
            return
        self._fetch(now, decision, missing)

    def _gather(self, now: Micros) -> None:
        decision = self._next
        if decision is None or self._learned is not None:
            return
        missing = self._missing(decision)
        if missing:
            self._fetch(now, decision, missing)
        else:
            self._stop_fetching()
            self._say_ready(now)

    def _stop_fetching(self) -> None:
        self._fetch_armed = False
        self._outbox.cancel_timer(FETCH, 0)

    def _fetch(self, now: Micros, decision: Decision, missing: list[tuple[GroupId, int]]) -> None:
        """Ask for what is missing; see fetching.py."""

    def _complete(self, now: Micros, decision: Decision) -> None:
        """Deliver what was missing, in the order of the keys, and open the next graph."""
        stage = self._stage
        late: list[Passed] = []
        for group in range(len(stage.graph.decision.groups)):
            if self._delivers(stage, group):
                for rank in range(stage.ranks.get(group, 0), final_of(decision.finals, group)):
                    record = self._fetched.get((group, rank))
                    if record is None:
                        record = self._history.find(stage.number, group, rank)
                    if record is not None:
                        late.append(record)
                    else:
                        assert self._is_hole(group, rank), "nothing else is missing"
        late.sort(key=_key)
        for record in late:
            self._tell_missed(record.group, record.rank)
            self._persist(record)
            self._note(stage, record)
            self._deliver(record)
        if self._holes:
            self._close_holes(stage, decision)
        self._persist(Opened(decision))
        self._stop_fetching()
        for child in stage.graph.children:
            self._outbox.cancel_timer(RESEND, stage.number * self._sites + child)
        self._outbox.cancel_timer(WISH, 0)
        self._outbox.cancel_timer(PUSH, 0)
        self._switch(decision)
        self._open(now, stage)
        self._watch(now)
        following = self._decisions.get(self._stage.number + 1)
        if following is not None:
            self._on_decided(now, following)
        else:
            self._consider(now)

    def _tell_missed(self, group: GroupId, before: int) -> None:
        """The application hears of the holes before this rank of the group, at their place among its deliveries."""
        holes = self._holes.get(group, [])
        while holes and holes[0][0] < before:
            start, end = holes.pop(0)
            first = self._ends.get(group, 0)
            self._outbox.missed(group, ANY_ORIGIN, first, end - start)
            self._ends[group] = first + end - start

    def _close_holes(self, stage: Stage, decision: Decision) -> None:
        for group in sorted(self._holes):
            self._tell_missed(group, final_of(decision.finals, group))
        self._persist(Lacking(stage.number))
        self._history.let_go_before(stage.number + 1)

    def _deliver(self, record: Passed) -> None:
        super()._deliver(record)
        self._ends[record.group] = self._ends.get(record.group, 0) + 1

    def _note(self, stage: Stage, record: Passed) -> None:
        super()._note(stage, record)
        if self._recovers:
            self._history.add(record)
            if self._history.count() > self._keep:  # what survivors may need of one another is in the log
                self._history.shrink(self._keep, stage.log[0] if stage.log else None)

    def _switch(self, decision: Decision) -> None:
        if not self._recovers:
            super()._switch(decision)
            return
        closed = self._stage
        self._previous = closed.graph.decision
        del self._stages[closed.number]
        self._stage = self._add_stage(decision)
        self._decisions[decision.number] = decision
        for group, source, place in decision.places:
            known = self._places.get((group, source), 0)
            self._places[(group, source)] = max(known, place)
        if not decision.away:  # all reported, that is, all have everything of the graphs before the last
            self._history.forget_before(closed.number)
            for number in sorted(self._decisions):
                if number < decision.number:
                    del self._decisions[number]
        self._start_graph(decision)
        self._learned = None
        self._next = None
        self._fetched = {}
        self._holes = {}
        self._refused = {}
        self._stopped = False
        self._promised = 0
        self._voted_ballot = 0
        self._voted = None
        self._ballot = 0
        self._proposed = None
        self._suspects = set()
        self._returning = set()
        self._wish_armed = False
        self._wish_tries = 0
        applied = dict(decision.applied)
        for asker, number in sorted(self._changes):
            if number < applied.get(asker, 0):
                del self._changes[(asker, number)]

    def _on_trimmed(self, now: Micros, record: Passed) -> None:
        super()._on_trimmed(now, record)
        if self._recovers and not self._stage.graph.decision.away:
            self._history.drop(record)  # nobody is away, and everybody has it


def _key(record: Passed) -> tuple[int, ...]:
    key: tuple[int, ...] = record.key
    return key
