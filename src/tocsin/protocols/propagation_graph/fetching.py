"""Getting what one lacks of a closed graph from those who have it; the same for survivors and for who was away."""

from typing import Final

from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.protocols.propagation_graph.messages import Decision, Entry, Fetch, Passed, Supply
from tocsin.protocols.propagation_graph.recovering import FETCH, Recovering
from tocsin.protocols.propagation_graph.stage import final_of

SUPPLY_MAX: Final = 64  # messages in one Supply
SUPPLY_BYTES_MAX: Final = 32_768  # of their payloads, unless one alone is larger


class Fetching(Recovering):
    """Asks for missing messages, one holder after another, and answers such questions."""

    def _fetch(self, now: Micros, decision: Decision, missing: list[tuple[GroupId, int]]) -> None:
        for group, rank in missing:
            holders = self._holders(decision, group)
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
            if wanted and not self._has_entry(supply.group, rank):
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
        missing = self._missing(decision)
        if not missing:
            self._install(now)
            self._gather(now)
        else:
            self._fetch(now, decision, [pair for pair in missing if pair[0] == supply.group])
