"""Traces as files, for tests of audits: rows as they are, and larger ones made quickly, right or with planted
faults.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.traces.rows import BROADCAST, DELIVER, Row
from tocsin.traces.schema import CLOCK_KEY, ONE_CLOCK, SCHEMA, SITE_CLOCKS


def trace_table(rows: Iterable[Row], one_clock: bool = False) -> Any:
    schema = SCHEMA.with_metadata({CLOCK_KEY: ONE_CLOCK if one_clock else SITE_CLOCKS})
    return pa.Table.from_pylist([row._asdict() for row in rows], schema=schema)


def write_rows(path: Path, rows: Iterable[Row], one_clock: bool = False, row_group_size: int = 1 << 20) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(trace_table(rows, one_clock), path, row_group_size=row_group_size)
    return path


class MadeRun:
    """A run in which every member of a group delivers its messages in one global order; faults are planted by
    hand.
    """

    def __init__(self, groups: dict[str, list[str]], messages: int, seed: int, run: str = "made") -> None:
        rng = np.random.default_rng(seed)
        self.run = run
        self.groups = groups
        self.sites = sorted({site for members in groups.values() for site in members})
        names = list(groups)
        chosen = rng.integers(0, len(names), messages)
        counts: dict[str, int] = dict.fromkeys(self.sites, 0)
        self.order: list[tuple[str, str, int]] = []  # (group, origin, seqno), numbered over all groups of an origin
        for number in chosen.tolist():
            origin = str(rng.choice(groups[names[number]]))
            self.order.append((names[number], origin, counts[origin]))
            counts[origin] += 1
        lead = rng.integers(0, 12, messages)
        self.events: dict[str, list[tuple[str, tuple[str, str, int]]]] = {}  # by site
        for site in self.sites:
            timed: list[tuple[int, int, str, tuple[str, str, int]]] = []
            latest = -1
            for place, message in enumerate(self.order):
                if site in groups[message[0]]:
                    timed.append((2 * place + 1, place, DELIVER, message))
                if message[1] == site:
                    latest = max(latest, 2 * (place - int(lead[place])))
                    timed.append((latest, place, BROADCAST, message))
            self.events[site] = [(event, message) for _, _, event, message in sorted(timed)]

    def deliveries(self, site: str) -> list[int]:
        """Where a site's deliver rows are among its events."""
        return [at for at, (event, _) in enumerate(self.events[site]) if event == DELIVER]

    def swap(self, site: str, at: int, distance: int = 1) -> None:
        """Let a site deliver two messages in the other order: its delivery number `at`, and a later one."""
        places = self.deliveries(site)
        one, other = places[at], places[at + distance]
        events = self.events[site]
        events[one], events[other] = events[other], events[one]

    def drop(self, site: str, at: int) -> None:
        """Let a site never deliver its delivery number `at`."""
        del self.events[site][self.deliveries(site)[at]]

    def repeat(self, site: str, at: int, later: int) -> None:
        """Let a site deliver its delivery number `at` again, after `later` more."""
        places = self.deliveries(site)
        self.events[site].insert(places[at + later] + 1, self.events[site][places[at]])

    def rows(self) -> list[Row]:
        found: list[Row] = []
        for site in self.sites:
            for order, (event, (group, origin, seqno)) in enumerate(self.events[site]):
                found.append(Row(self.run, site, order, 10 * order, event, group, origin, seqno))
        return found
