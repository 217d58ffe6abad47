"""The means of one experiment, as the papers' pages ask for them."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.core.errors import InputError


def short(value: float, digits: int) -> str:
    """So many digits, without an exponent: `1,340`, not `1.34e+03`."""
    return f"{float(f'{value:.{digits}g}'):,.15g}"


class Point(NamedTuple):
    """A mean over replicates."""

    mean: float
    half_width: float  # of the 95 % interval; 0 where one replicate says it all
    replications: int

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width

    def told(self, digits: int = 4) -> str:
        """`12.3 ± 0.4`."""
        if self.half_width <= 1e-12 * abs(self.mean):  # equal replicates, but for the last bit of their sum
            return short(self.mean, digits)
        return f"{short(self.mean, digits)} ± {short(self.half_width, 2)}"

    def over(self, divisor: float) -> "Point":
        return Point(self.mean / divisor, self.half_width / divisor, self.replications)


class Mean(NamedTuple):
    """A row of the table."""

    parameters: dict[str, Any]
    metric: str
    point: Point
    low: float  # the smallest of the replicates
    high: float


class Table:
    """Means by parameters and metric."""

    def __init__(self, name: str, rows: Iterable[Mean]) -> None:
        self.name = name
        self.rows = sorted(rows, key=lambda row: (_sortable(row.parameters), row.metric))
        self._points = {(_sortable(row.parameters), row.metric): row.point for row in self.rows}

    @classmethod
    def of(cls, name: str, rows: Iterable[Mapping[str, Any]]) -> "Table":
        """From the rows that Spark made."""
        means = []
        for row in rows:
            parameters = {key: json.loads(value) for key, value in json.loads(row["parameters"]).items()}
            point = Point(row["mean"], row["half_width"] or 0.0, row["replications"])
            means.append(Mean(parameters, row["metric"], point, row["low"], row["high"]))
        return cls(name, means)

    def point(self, metric: str, where: Mapping[str, Any]) -> Point:
        """The mean of exactly this combination."""
        found = self._points.get((_sortable(where), metric))
        if found is None:
            raise InputError(f"{self.name}: no result for {metric} at {dict(where)}; did its cells fail?")
        return found

    def has(self, metric: str, where: Mapping[str, Any]) -> bool:
        return (_sortable(where), metric) in self._points

    def series(self, metric: str, over: str, where: Mapping[str, Any]) -> list[tuple[Any, Point]]:
        """The means over the values of one parameter, the others as given."""
        found = [
            (row.parameters[over], row.point)
            for row in self.rows
            if row.metric == metric
            and over in row.parameters
            and {key: value for key, value in row.parameters.items() if key != over} == dict(where)
        ]
        return sorted(found, key=lambda pair: pair[0])

    def values(self, key: str) -> list[Any]:
        """The values that a parameter takes, in order."""
        found = {json.dumps(row.parameters[key]): row.parameters[key] for row in self.rows if key in row.parameters}
        return sorted(found.values(), key=lambda value: (str(type(value)), value))

    def combinations(self) -> list[dict[str, Any]]:
        return list({json.dumps(_sortable(row.parameters)): row.parameters for row in self.rows}.values())

    def replications(self) -> tuple[int, int]:
        """The fewest and the most of any mean."""
        counts = [row.point.replications for row in self.rows] or [0]
        return min(counts), max(counts)

    # Files

    def csv(self) -> bytes:
        keys, rows = self._flat()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*keys, "metric", "replications", "mean", "half_width_95", "smallest", "largest"])
        writer.writerows(rows)
        return text.getvalue().encode()

    def parquet(self) -> bytes:
        keys, rows = self._flat()
        names = [*keys, "metric", "replications", "mean", "half_width_95", "smallest", "largest"]
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink, compression="zstd")
        return bytes(sink.getvalue().to_pybytes())

    def _flat(self) -> tuple[list[str], list[list[Any]]]:
        keys = list(dict.fromkeys(key for row in self.rows for key in row.parameters))
        rows = [
            [
                *[_plain(row.parameters.get(key)) for key in keys],
                row.metric,
                row.point.replications,
                row.point.mean,
                row.point.half_width if row.point.replications > 1 else None,
                row.low,
                row.high,
            ]
            for row in self.rows
        ]
        return keys, rows


def _plain(value: Any) -> Any:
    """What fits into a cell: lists and tables as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def _sortable(parameters: Mapping[str, Any]) -> tuple[tuple[str, int, float, str], ...]:
    """Numbers by size, everything else by its text."""
    return tuple(
        (key, 0, float(value), "") if isinstance(value, int | float) else (key, 1, 0.0, json.dumps(value))
        for key, value in sorted(parameters.items())
    )
