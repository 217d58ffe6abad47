"""Counts in buckets one per cent wide: exact counts, percentiles within half a per cent, and histograms add up."""

from typing import Final

import numpy as np

from tocsin.properties.kernels.arrays import Ints

GROWTH: Final = 1.01  # each bucket's end over its beginning
BUCKETS: Final = 4_400  # enough for 63 bits: ln(2**63) / ln(1.01) = 4389
_LOG_GROWTH: Final = float(np.log(GROWTH))


class Histogram:
    """Of whole numbers; those below one count as zero."""

    def __init__(self) -> None:
        self.zeros = 0
        self.counts = np.zeros(BUCKETS, np.int64)
        self.total = 0.0
        self.highest = 0

    def add(self, values: Ints) -> None:
        if len(values) == 0:
            return
        positive = values[values >= 1]
        self.zeros += len(values) - len(positive)
        if len(positive):
            buckets = np.floor(np.log(positive) / _LOG_GROWTH).astype(np.int64)
            self.counts += np.bincount(buckets, minlength=BUCKETS)
            self.total += float(positive.sum(dtype=np.float64))
            self.highest = max(self.highest, int(positive.max()))

    def merge(self, other: "Histogram") -> None:
        self.zeros += other.zeros
        self.counts += other.counts
        self.total += other.total
        self.highest = max(self.highest, other.highest)

    @property
    def count(self) -> int:
        return self.zeros + int(self.counts.sum())

    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def percentile(self, percent: float) -> float:
        """The value that so many per cent do not exceed: the middle of its bucket, never above the highest."""
        rank = int(np.ceil(self.count * percent / 100.0))
        if rank <= self.zeros:
            return 0.0
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank - self.zeros))
        return min(float(GROWTH ** (bucket + 0.5)), float(self.highest))

    def shares(self) -> tuple[list[float], list[float]]:
        """Ends of buckets, and which share of all values lies below each; only buckets that have any."""
        used = np.flatnonzero(self.counts)
        below = (np.cumsum(self.counts)[used] + self.zeros) / max(1, self.count)
        return [float(GROWTH ** (bucket + 1)) for bucket in used.tolist()], below.tolist()
