"""Rows on their way to a trace file, sorted out by site in bounded memory.

The simulator's rows come interleaved over all sites; the file holds each site's rows together. So rows are gathered
up to a limit, sorted by site (stable: each site's order stays), and put aside in blocks in a temporary file that has
no name: whatever kills the process, nothing of it is left. In the end the rows of a few sites at a time are read back.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tocsin.traces.schema import SIMULATED

BLOCK_ROWS: Final = 8_192  # what is read back at once; small, because a block at a border is read twice
CODEC: Final = "lz4"  # 5 times smaller than plain for a fraction of the time of making the columns

# a row as it is appended: the site's place, then the columns from time_us on; run and order are known at the end
SPOOLED: Final = pa.schema([pa.field("site", pa.int32()), *list(SIMULATED)[3:]])


class _Block(NamedTuple):
    """Where a block lies in the file, and the sites in it, first and last."""

    offset: int
    stored_bytes: int
    plain_bytes: int
    first_site: int
    last_site: int


class Spool:
    """Takes rows of any sites into `pending`; gives back the rows of a range of sites, in order."""

    def __init__(self, folder: Path, sites: int) -> None:
        self.pending: list[tuple[Any, ...]] = []  # rows not yet put aside: in order, of any sites
        self.rows_by_site: npt.NDArray[np.int64] = np.zeros(sites, np.int64)  # of the rows that are put aside
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (closed by close)
        self._blocks: list[_Block] = []  # chunk by chunk; within a chunk sorted by site
        self._end = 0  # the next block goes here; after an interrupted `put_aside`, over what that left

    def put_aside(self) -> None:
        """Move the pending rows to the file. All or nothing: interrupted, it has done nothing."""
        if not self.pending:
            return
        columns = [
            pa.array(values, field.type) for values, field in zip(zip(*self.pending, strict=True), SPOOLED, strict=True)
        ]
        sites = columns[0].to_numpy()
        batch = pa.RecordBatch.from_arrays(columns, schema=SPOOLED).take(pa.array(np.argsort(sites, kind="stable")))
        blocks = list(self._blocks)
        end = self._end
        for start in range(0, batch.num_rows, BLOCK_ROWS):
            blocks.append(self._write(batch.slice(start, BLOCK_ROWS), end))
            end += blocks[-1].stored_bytes
        counts = self.rows_by_site + np.bincount(sites, minlength=len(self.rows_by_site))
        nothing: list[tuple[Any, ...]] = []
        # no call from here on: Python looks for signals at calls and loops only, so these four happen together
        self._blocks, self._end, self.rows_by_site, self.pending = blocks, end, counts, nothing

    def _write(self, batch: Any, offset: int) -> _Block:
        plain = batch.serialize()
        stored = pa.compress(plain, codec=CODEC, asbytes=True)
        sites = batch.column(0)
        view = memoryview(stored)
        written = 0
        while written < len(view):
            written += os.pwrite(self._file.fileno(), view[written:], offset + written)
        return _Block(offset, len(stored), plain.size, sites[0].as_py(), sites[-1].as_py())

    def read(self, first_site: int, end_site: int) -> Iterator[Any]:
        """Record batches with the rows of the sites in [first_site, end_site): each site's own rows come in order."""
        for block in self._blocks:
            if block.last_site < first_site or block.first_site >= end_site:
                continue
            stored = os.pread(self._file.fileno(), block.stored_bytes, block.offset)
            plain = pa.decompress(stored, decompressed_size=block.plain_bytes, codec=CODEC)
            batch = pa.ipc.read_record_batch(plain, SPOOLED)
            sites = batch.column(0).to_numpy()
            start, end = np.searchsorted(sites, [first_site, end_site])
            yield batch.slice(int(start), int(end - start))

    def close(self) -> None:
        self._file.close()
