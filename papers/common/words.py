"""How the replications behind a claim are told."""

from papers.common.judging import Series
from papers.common.table import Table


def replications(series: Series) -> str:
    """`5 replications`, or `5 to 20 replications`."""
    return _told([point.replications for _, point in series])


def replications_of(table: Table) -> str:
    """Of a whole table. (A short run may be without a number that needs a long one: the most of any number count.)"""
    runs: dict[str, int] = {}
    for row in table.rows:
        key = str(sorted(row.parameters.items()))
        runs[key] = max(runs.get(key, 0), row.point.replications)
    return _told(list(runs.values()))


def _told(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low} replications" if low == high else f"{low} to {high} replications"
