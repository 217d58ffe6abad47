"""Makes large traces for the pipeline's benchmarks: one total order over overlapping groups, as Parquet, quickly.

Ten sites, three groups, every message delivered by all members of its group in one global order; an origin numbers
its messages over all groups, and broadcasts each a little before the first delivery. One file a site, as live members
write.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.traces.schema import CLOCK_KEY, ONE_CLOCK, SIMULATED, STRINGS
from tocsin.traces.writer import COMPRESSION, ROW_GROUP_ROWS

SITES = [f"s{number}" for number in range(10)]
GROUPS = {
    "alpha": [0, 1, 2, 3, 4, 5],
    "beta": [3, 4, 5, 6, 7, 8],
    "gamma": [0, 1, 5, 6, 7, 8, 9],
}
WORDS = [name for name in STRINGS if name in SIMULATED.names]
BLOCK_MESSAGES = 1 << 20  # made at a time
GAP_US = 20  # between two messages of the global order


def write_traces(folder: Path, deliveries: int, seed: int = 1) -> int:
    """Write a trace with about so many deliver rows into a folder; the number of all rows."""
    members = list(GROUPS.values())
    messages = round(deliveries / (sum(map(len, members)) / len(members)))
    rng = np.random.default_rng(seed)
    group = rng.integers(0, len(members), messages).astype(np.int8)
    origin = np.empty(messages, np.int8)
    for number, sites in enumerate(members):
        own = group == number
        origin[own] = rng.choice(sites, int(own.sum()))
    seqno = np.empty(messages, np.int64)
    for site in range(len(SITES)):
        own = origin == site
        seqno[own] = np.arange(int(own.sum()))
    folder.mkdir(parents=True, exist_ok=True)
    return sum(_write_site(folder, site, group, origin, seqno) for site in range(len(SITES)))


def _write_site(folder: Path, site: int, group: np.ndarray, origin: np.ndarray, seqno: np.ndarray) -> int:
    is_member = np.array([site in sites for sites in GROUPS.values()])
    delivered = np.flatnonzero(is_member[group])
    own = np.flatnonzero(origin == site)
    # A broadcast comes between 5 and 50 places before its own place in the global order, in the order of its numbers.
    lead = np.random.default_rng(site).integers(5, 50, len(own))
    sent = np.maximum.accumulate(np.maximum(own - lead, 0))
    message = np.concatenate((delivered, own))
    when = np.concatenate((delivered * 2 + 1, sent * 2))
    is_delivery = np.concatenate((np.ones(len(delivered), np.bool_), np.zeros(len(own), np.bool_)))
    order = np.lexsort((message, when))
    message, when, is_delivery = message[order], when[order], is_delivery[order]
    schema = SIMULATED.with_metadata({CLOCK_KEY: ONE_CLOCK})
    path = folder / f"{SITES[site]}.parquet"
    position = np.zeros(len(GROUPS), np.int64)
    with pq.ParquetWriter(path, schema, compression=COMPRESSION, use_dictionary=WORDS, store_schema=False) as writer:
        for start in range(0, len(message), BLOCK_MESSAGES):
            end = min(start + BLOCK_MESSAGES, len(message))
            chosen = message[start:end]
            places = _positions(group[chosen], is_delivery[start:end], position)
            size = end - start
            columns = [
                pa.repeat("bench", size),
                pa.repeat(SITES[site], size),
                pa.array(np.arange(start, end)),
                pa.array(when[start:end] * GAP_US // 2 + site),
                _words(["broadcast", "deliver"], is_delivery[start:end].astype(np.int8)),
                _words(list(GROUPS), group[chosen]),
                _words(SITES, origin[chosen]),
                pa.array(seqno[chosen]),
                pa.nulls(size, pa.string()),
                pa.nulls(size, pa.string()),
                pa.array(np.full(size, 100, np.int32)),
                pa.array(places, mask=~is_delivery[start:end]),
                pa.nulls(size, pa.int64()),
                pa.nulls(size, SIMULATED.field("members").type),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=ROW_GROUP_ROWS)
    return len(message)


def _positions(group: np.ndarray, is_delivery: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The place of each delivery in its group's sequence at this site; `position` is moved on."""
    places = np.zeros(len(group), np.int64)
    for number in range(len(position)):
        own = np.flatnonzero((group == number) & is_delivery)
        places[own] = position[number] + np.arange(len(own))
        position[number] += len(own)
    return places


def _words(words: list[str], codes: np.ndarray) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words)).cast(pa.string())
