"""Getting what one lacks of the present graph from those who have it; the same for survivors and for who was away.

A site asks one holder after another. Where nobody keeps a message any more (`keep`), there is a hole in the group's
messages: the site will never have them, and the application is told.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.application import Application
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.messages import Decision, Entry, Fetch, Gone, Supply
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.records import Passed
from tocsin.protocols.propagation_graph.stage import final_of

FETCH: Final = "FETCH"  # missing messages of a closed graph have not come

SUPPLY_MAX: Final = 64  # messages in one Supply
SUPPLY_BYTES_MAX: Final = 32_768  # of their payloads, unless one alone is larger
EVERYTHING: Final = 1 << 61  # beyond every rank


class Fetching:
    """Asks for missing messages of the present graph, and answers such questions about any graph."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        history: History,
        application: Application,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._resend_us: int = options.resend_us
        self._graphs = graphs
        self._history = history
        self._application = application
        self._outbox = outbox
        self._fetched: dict[tuple[GroupId, int], Passed] = {}  # by group and rank; not yet in this site's order
        self._holes: dict[GroupId, list[tuple[int, int]]] = {}  # ranks [start, end) kept by nobody, increasing
        self._refused: dict[GroupId, dict[SiteId, int]] = {}  # by holder: it has nothing below this rank
        self._turn = 0  # whom to ask next
        self._rounds = 0  # time-outs since the first holder said that it keeps no more what is missing
        self._armed = False  # FETCH is set

    def start_graph(self) -> None:
        self._fetched = {}
        self._holes = {}
        self._refused = {}

    # What is missing

    def missing(self, decision: Decision) -> list[tuple[GroupId, int]]:
        """By group, the first rank that counts and is not here."""
        found: list[tuple[GroupId, int]] = []
        stage = self._graphs.present
        for group in range(len(stage.graph.decision.groups)):
            if self._application.hears(stage, group):
                for rank in range(stage.rank(group), final_of(decision.finals, group)):
                    if self._find(stage.number, group, rank) is None and not self._is_hole(group, rank):
                        found.append((group, rank))
                        break
        return found

    def _first_missing(self, decision: Decision, group: GroupId) -> int:
        """The first rank of the group that is missing here; if none is, one beyond all."""
        for found, rank in self.missing(decision):
            if found == group:
                return rank
        return EVERYTHING

    def _find(self, graph: int, group: GroupId, rank: int) -> Passed | None:
        record = self._history.find(graph, group, rank)
        if record is None and graph == self._graphs.present.number:
            record = self._fetched.get((group, rank))
        return record

    def _is_hole(self, group: GroupId, rank: int) -> bool:
        for start, end in self._holes.get(group, []):  # noqa: SIM110  (a generator would not compile to plain code)
            if start <= rank < end:
                return True
        return False

    def late(self, decision: Decision) -> list[Passed]:
        """Nothing is missing any more: what counts and is not in this site's order, in the order of the keys."""
        stage = self._graphs.present
        late: list[Passed] = []
        for group in range(len(stage.graph.decision.groups)):
            if self._application.hears(stage, group):
                for rank in range(stage.rank(group), final_of(decision.finals, group)):
                    record = self._find(stage.number, group, rank)
                    if record is not None:
                        late.append(record)
                    else:
                        assert self._is_hole(group, rank), "nothing else is missing"
        late.sort(key=_key)
        return late

    def holes(self) -> list[GroupId]:
        """The groups that have some."""
        return sorted(self._holes)

    def take_holes(self, group: GroupId, before: int) -> list[int]:
        """Forget the holes before this rank of the group; how large they were."""
        sizes: list[int] = []
        holes = self._holes.get(group, [])
        while holes and holes[0][0] < before:
            start, end = holes.pop(0)
            sizes.append(end - start)
        return sizes

    # Asking

    def fetch(self, now: Micros, decision: Decision, missing: list[tuple[GroupId, int]]) -> None:
        for group, rank in missing:
            refused = self._refused.get(group, {})
            holders = [site for site in self._holders(decision, group) if site not in refused]
            if holders:
                holder = holders[self._turn % len(holders)]
                self._outbox.send(holder, Fetch(self._graphs.present.number, group, rank))
        if not self._armed:  # asked again meanwhile, the timer stays: the next holder's turn must come
            self._armed = True
            self._outbox.set_timer(FETCH, 0, now + 2 * self._resend_us)

    def fetch_more(self, now: Micros, decision: Decision, group: GroupId) -> bool:
        """Something of the group has come, or is given up: ask for the rest of it; whether anything is missing."""
        missing = self.missing(decision)
        if missing:
            self.fetch(now, decision, [pair for pair in missing if pair[0] == group])
        return bool(missing)

    def stop(self) -> None:
        """Nothing is missing."""
        self._armed = False
        self._outbox.cancel_timer(FETCH, 0)

    def _holders(self, decision: Decision, group: GroupId) -> list[SiteId]:
        """Members that were in the present graph, those that took part in deciding on the next one first."""
        present = self._graphs.decision()
        first: list[SiteId] = []
        later: list[SiteId] = []
        for site in present.groups[group]:
            if site != self._site:
                if site in decision.away or site in present.away:
                    later.append(site)
                else:
                    first.append(site)
        return first + later

    def on_timer(self, learned: Decision | None) -> None:
        """It is the next holder's turn."""
        self._armed = False
        self._turn += 1
        self._rounds += 1
        if learned is not None:
            for group in sorted(self._refused):
                self._maybe_give_up(learned, group)

    def on_supply(self, supply: Supply, decision: Decision) -> bool:
        """Whether something came that is missing for the graph that is to come."""
        if supply.graph != self._graphs.present.number:
            return False
        progress = False
        for place in range(min(len(supply.entries), SUPPLY_MAX)):
            if self._put(supply, place, decision):
                progress = True
        if progress:
            self._refused.pop(supply.group, None)
        return progress

    def _put(self, supply: Supply, place: int, decision: Decision) -> bool:
        entry = supply.entries[place]
        rank = supply.rank + place
        if rank >= final_of(decision.finals, supply.group) or entry.origin >= self._sites:
            return False
        if self._find(supply.graph, supply.group, rank) is not None or self._is_hole(supply.group, rank):
            return False
        self._fetched[(supply.group, rank)] = Passed(
            supply.graph,
            True,
            supply.group,
            entry.origin,
            entry.seqno,
            entry.place,
            rank,
            entry.key,
            entry.payload,
        )
        return True

    def on_gone(self, source: SiteId, gone: Gone, learned: Decision) -> bool:
        """Whether it is news that somebody keeps no more what this site lacks; others may."""
        if gone.graph != self._graphs.present.number or source in self._refused.get(gone.group, {}):
            return False
        if gone.rank <= self._first_missing(learned, gone.group) or source not in self._holders(learned, gone.group):
            return False
        if not self._refused:
            self._rounds = 0
        self._refused.setdefault(gone.group, {})[source] = gone.rank
        self._maybe_give_up(learned, gone.group)
        return True

    def _maybe_give_up(self, learned: Decision, group: GroupId) -> bool:
        """Nobody keeps the first that is missing of the group: all have said so, or do not answer in a round."""
        refused = self._refused.get(group, {})
        if not refused:
            return False
        holders = self._holders(learned, group)
        if len(refused) < len(holders) and self._rounds < len(holders):
            return False
        del self._refused[group]
        start = self._first_missing(learned, group)
        end = min(final_of(learned.finals, group), min(refused.values()))
        if start < end:
            self._holes.setdefault(group, []).append((start, end))
        return start < end

    # Answering

    def on_fetch(self, source: SiteId, fetch: Fetch) -> None:
        entries: list[Entry] = []
        size = 0
        rank = fetch.rank
        record = self._find(fetch.graph, fetch.group, rank)
        while record is not None and len(entries) < SUPPLY_MAX:
            size += len(record.payload)
            if entries and size > SUPPLY_BYTES_MAX:
                break
            entries.append(Entry(record.origin, record.seqno, record.place, record.key, record.payload))
            rank += 1
            record = self._find(fetch.graph, fetch.group, rank)
        if entries:
            self._outbox.send(source, Supply(fetch.graph, fetch.group, fetch.rank, tuple(entries)))
        elif self._history.is_gone(fetch.graph, fetch.group, fetch.rank):
            floor = EVERYTHING if fetch.graph < self._history.oldest else self._history.floors[fetch.group]
            self._outbox.send(source, Gone(fetch.graph, fetch.group, floor))


def _key(record: Passed) -> tuple[int, ...]:
    key: tuple[int, ...] = record.key
    return key
