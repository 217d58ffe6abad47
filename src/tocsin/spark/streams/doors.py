"""A group read through its doors: positions are asked for on the driver, rows are read by the tasks, from whichever
door answers."""

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from tocsin.core.errors import InputError
from tocsin.door.client import Client
from tocsin.spark.streams.columns import in_schema
from tocsin.spark.streams.filters import Condition, bounds, kept, values_allowed
from tocsin.spark.streams.folders import IDLE_SECONDS, Offsets, parts_of
from tocsin.spark.streams.options import EARLIEST, LATEST, ReadOptions, Start
from tocsin.spark.streams.ranges import told_gone

TASKS_MIN: Final = 2  # of what is worth two
ROWS_WORTH_A_TASK: Final = 25_000


class Stretch(NamedTuple):
    """Positions of a group, for one task."""

    group: str
    first: int
    end: int


class DoorReading(NamedTuple):
    """What every task has to know."""

    options: ReadOptions
    schema: Any
    conditions: tuple[Condition, ...] = ()

    def rows(self, stretches: list[Stretch]) -> Iterator[Any]:
        with client_of(self.options) as client:
            for stretch in stretches:
                for batch in _read(client, stretch, self.options.fail_on_loss):
                    batch = kept(batch, self.conditions)
                    if batch.num_rows:
                        yield in_schema(batch, self.schema)


def client_of(options: Any) -> Client:
    return Client(options.doors, options.token or None, options.fingerprint)


def _read(client: Client, stretch: Stretch, fail_on_loss: bool) -> Iterator[Any]:
    """All of it. A door that is behind the others is waited for: the positions are in the group's order."""
    at = stretch.first
    for batch in client.read(stretch.group, after=at - 1, limit=stretch.end - at, follow=True):
        first = batch.column("position")[0].as_py()
        if first != at and fail_on_loss:
            raise InputError(told_gone(stretch.group, at, first))
        if first + batch.num_rows > stretch.end:  # some before were gone
            batch = batch.slice(0, max(0, stretch.end - first))
        if batch.num_rows:
            yield batch
        at = first + batch.num_rows
        if at >= stretch.end:
            return


class DoorStream:
    """The offsets of a stream, or the bounds of a table."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._client: Client | None = None
        self._target: Offsets | None = None
        self._known: dict[str, tuple[int, int]] = {}

    def held(self) -> dict[str, tuple[int, int]]:
        """By group: the first position that is kept, and the one behind the last."""
        if self._client is None:
            self._client = client_of(self._options)
        groups = {each["group"]: (int(each["first"]), int(each["next"])) for each in self._client.groups()}
        wanted = self._options.group
        if wanted is not None:
            if wanted not in groups:
                raise InputError(f"option `group`: unknown group `{wanted}`; there is {', '.join(sorted(groups))}")
            groups = {wanted: groups[wanted]}
        self._known = dict(sorted(groups.items()))
        return self._known

    def place(self, said: Start, held: dict[str, tuple[int, int]]) -> Offsets:
        if said == EARLIEST:
            return {name: low for name, (low, _) in held.items()}
        if said == LATEST:
            return {name: high for name, (_, high) in held.items()}
        if isinstance(said, int):
            return dict.fromkeys(held, said)
        assert isinstance(said, dict)
        for name in said:
            if name not in held:
                raise InputError(f"positions: unknown group `{name}`; there is {', '.join(held) or 'none'}")
        return {name: said.get(name, low) for name, (low, _) in held.items()}

    def initial(self) -> Offsets:
        return self.place(self._options.starting, self.held())

    def latest(self) -> Offsets:
        return {name: high for name, (_, high) in self._known.items()}

    def stop_here(self) -> None:
        self._target = {name: high for name, (_, high) in self.held().items()}

    def admit(self, start: Offsets) -> Offsets:
        held = self.held()
        ends = {**start, **{name: max(high, start.get(name, 0)) for name, (_, high) in held.items()}}
        if self._target is not None:
            ends = {name: max(start.get(name, 0), min(end, self._target.get(name, 0))) for name, end in ends.items()}
        lags = {name: end - (start[name] if name in start else held[name][0]) for name, end in ends.items()}
        if not any(lags.values()):
            time.sleep(IDLE_SECONDS)
            return dict(sorted(start.items()))
        limit = self._options.records_max
        if limit is not None and sum(lags.values()) > limit:
            ends = {name: ends[name] - lags[name] + part for name, part in parts_of(lags, limit).items()}
        return dict(sorted(ends.items()))

    def plan(self, start: Offsets, end: Offsets, conditions: tuple[Condition, ...] = ()) -> list[list[Stretch]]:
        """Positions for each task; InputError if some are gone, and that matters."""
        held = self.held()
        groups = values_allowed(conditions, "group")
        low, high = bounds(conditions, "position")
        tasks: list[list[Stretch]] = []
        for name in sorted(end):
            if groups is not None and name not in groups:
                continue
            kept_from = held[name][0] if name in held else 0
            first, last = max(start.get(name, kept_from), low), min(end[name], high)
            if first < min(kept_from, last):
                if self._options.fail_on_loss:
                    raise InputError(told_gone(name, first, min(kept_from, last)))
                first = min(kept_from, last)
            rows = last - first
            count = max(-(-rows // self._options.partition_rows), min(TASKS_MIN, rows // ROWS_WORTH_A_TASK), 1)
            edges = [first + rows * number // count for number in range(count + 1)]
            for begin, behind in pairwise(edges):
                if begin < behind:
                    tasks.append([Stretch(name, begin, behind)])
        return tasks

    def release(self, end: Offsets) -> None:
        """What is before is not needed any more: the group's cursor of this consumer moves."""
        if self._options.consumer is None:
            return
        if self._client is None:
            self._client = client_of(self._options)
        for name, position in end.items():
            if position > 0:
                self._client.ack(self._options.consumer, position - 1, group=name)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
