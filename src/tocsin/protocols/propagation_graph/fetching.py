"""Getting what one lacks of a closed graph from those who have it; the same for survivors and for who was away."""

from typing import Final

from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.record_messages import Passed
from tocsin.protocols.propagation_graph.recovering import FETCH, Recovering
from tocsin.protocols.propagation_graph.recovery_messages import Entry, Fetch, Gone, Supply
from tocsin.protocols.propagation_graph.stage import final_of

SUPPLY_MAX: Final = 64  # messages in one Supply
SUPPLY_BYTES_MAX: Final = 32_768  # of their payloads, unless one alone is larger
EVERYTHING: Final = 1 << 61  # beyond every rank


class Fetching(Recovering):
    """Asks for missing messages, one holder after another, and answers such questions."""

    def _fetch(self, now: Micros, decision: Decision, missing: list[tuple[GroupId, int]]) -> None:
        for group, rank in missing:
            refused = self._refused.get(group, {})
            holders = [site for site in self._holders(decision, group) if site not in refused]
            if holders:
                holder = holders[self._fetch_turn % len(holders)]
                self._outbox.send(holder, Fetch(self._stage.number, group, rank))
        if not self._fetch_armed:  # asked again meanwhile, the timer stays: the next holder's turn must come
            self._fetch_armed = True
            self._outbox.set_timer(FETCH, 0, now + 2 * self._resend_us)

    def _holders(self, decision: Decision, group: GroupId) -> list[SiteId]:
        """Members that were in the present graph, those that took part in deciding on the next one first."""
        present = self._stage.graph.decision
        first: list[SiteId] = []
        later: list[SiteId] = []
        for site in present.groups[group]:
            if site != self._site:
                if site in decision.away or site in present.away:
                    later.append(site)
                else:
                    first.append(site)
        return first + later

    def _on_fetch_timer(self, now: Micros) -> None:
        self._fetch_armed = False
        self._fetch_turn += 1
        self._fetch_rounds += 1
        for group in sorted(self._refused):
            self._maybe_give_up(group)
        self._install(now)
        self._gather(now)

    def _on_fetch(self, source: SiteId, fetch: Fetch) -> None:
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

    def _on_gone(self, now: Micros, source: SiteId, gone: Gone) -> None:
        """Somebody keeps no more what this site lacks; others may."""
        decision = self._learned
        if decision is None or gone.graph != self._stage.number or source in self._refused.get(gone.group, {}):
            return
        if gone.rank <= self._first_missing(decision, gone.group) or source not in self._holders(decision, gone.group):
            return
        if not self._refused:
            self._fetch_rounds = 0
        self._refused.setdefault(gone.group, {})[source] = gone.rank
        self._maybe_give_up(gone.group)
        self._fetch_more(now, decision, gone.group)

    def _first_missing(self, decision: Decision, group: GroupId) -> int:
        """The first rank of the group that is missing here; if none is, one beyond all."""
        for found, rank in self._missing(decision):
            if found == group:
                return rank
        return EVERYTHING

    def _fetch_more(self, now: Micros, decision: Decision, group: GroupId) -> None:
        """Something of the group has come, or is given up: ask for the rest of it, or go on."""
        missing = self._missing(decision)
        if missing:
            self._fetch(now, decision, [pair for pair in missing if pair[0] == group])
        else:
            self._install(now)
            self._gather(now)

    def _maybe_give_up(self, group: GroupId) -> bool:
        """Nobody keeps the first that is missing of the group: all have said so, or do not answer in a round."""
        decision = self._learned
        refused = self._refused.get(group, {})
        if decision is None or not refused:
            return False
        holders = self._holders(decision, group)
        if len(refused) < len(holders) and self._fetch_rounds < len(holders):
            return False
        del self._refused[group]
        start = self._first_missing(decision, group)
        end = min(final_of(decision.finals, group), min(refused.values()))
        if start < end:
            self._holes.setdefault(group, []).append((start, end))
        return start < end

    def _find(self, graph: int, group: GroupId, rank: int) -> Passed | None:
        record = self._history.find(graph, group, rank)
        if record is None and graph == self._stage.number:
            record = self._fetched.get((group, rank))
        return record

    def _on_supply(self, now: Micros, source: SiteId, supply: Supply) -> None:
        decision = self._learned if self._learned is not None else self._next
        if decision is None or supply.graph != self._stage.number:
            return
        progress = False
        for place in range(min(len(supply.entries), SUPPLY_MAX)):
            entry = supply.entries[place]
            rank = supply.rank + place
            wanted = rank < final_of(decision.finals, supply.group) and entry.origin < self._sites
            if wanted and not self._has_entry(supply.group, rank) and not self._is_hole(supply.group, rank):
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
                progress = True
        if not progress:
            return
        self._refused.pop(supply.group, None)
        self._fetch_more(now, decision, supply.group)
