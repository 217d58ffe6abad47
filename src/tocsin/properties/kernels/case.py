"""The messages of a run, or of a slice of it, as every property sees them: arrays over rows, and over messages.

Rows lie by (site name, order), so that "first" in docs/guarantees.md is the smallest index. A slice has all rows
of its messages. Its core are the messages that it answers for; the others are there because core messages are
compared with them.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tocsin.properties.bad_rows import LOWEST
from tocsin.properties.gaps import Gap
from tocsin.properties.kernels.arrays import Codes, Flags, Ints, Small, Table, first_indices, number_pairs
from tocsin.properties.kernels.encode import BROADCAST, LogPart
from tocsin.properties.kernels.facts import RunFacts, SiteFacts, Spot
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.sequences import Net, net_deliveries
from tocsin.properties.kernels.streams import Stream

CoreOf = Callable[[list[Stream], Ints, Ints], Flags]  # (streams, stream of message, seqno of message) -> is core


class Rows(NamedTuple):
    """Rows that name a message, of all whole logs, by (site name, order)."""

    log: Codes  # index into `facts.whole`
    event: Small
    stream: Codes
    seqno: Ints
    order: Ints
    time_us: Ints
    view: Ints
    position: Ints  # empty if nobody asked for it


class Case:
    """One run or slice. What several properties need is computed once, when the first asks for it."""

    def __init__(self, facts: RunFacts, parts: Sequence[LogPart], core_of: CoreOf | None = None) -> None:
        """`parts`: those of whole logs, by (site name, order)."""
        self.facts = facts
        self.members = Members(facts)
        self.streams: list[Stream] = []
        self._stream_numbers: dict[Stream, int] = {}
        self.rows, self.receipts = self._gather(parts)
        # Messages are numbered by (stream, seqno); receive rows do not make a message.
        numbers, streams, seqnos = number_pairs(self.rows.stream, self.rows.seqno, len(self.streams))
        self.message: Ints = numbers  # by row
        self.stream_of: Ints = streams  # by message
        self.seqno_of: Ints = seqnos  # by message
        self.count = len(streams)
        names = sorted({group for group, _ in self.streams if group is not None})
        self.group_names = names
        group_numbers = {name: number for number, name in enumerate(names)}
        self.group_of_stream: Ints = np.array(
            [-1 if group is None else group_numbers[group] for group, _ in self.streams], np.int64
        )
        self._duplicates: list[list[tuple[Stream, int]]] = [[] for _ in facts.whole]  # by log
        for part in parts:
            self._duplicates[facts.logs[part.log]] += part.duplicates
        self.core: Flags = np.ones(self.count, np.bool_)
        if core_of is not None:
            self.core = core_of(self.streams, streams, seqnos)

    def _gather(self, parts: Sequence[LogPart]) -> tuple[Rows, Rows]:
        codes = [self._codes(part.streams) for part in parts]
        logs = [self.facts.logs[part.log] for part in parts]
        rows = Rows(
            log=_joined([np.full(len(p.event), at, np.int32) for at, p in zip(logs, parts, strict=True)], np.int32),
            event=_joined([part.event for part in parts], np.int8),
            stream=_joined([code[part.stream] for code, part in zip(codes, parts, strict=True)], np.int32),
            seqno=_joined([part.seqno for part in parts], np.int64),
            order=_joined([part.order for part in parts], np.int64),
            time_us=_joined([part.time_us for part in parts], np.int64),
            view=_joined([part.view for part in parts], np.int64),
            position=_joined([part.position for part in parts if part.position is not None], np.int64),
        )
        sizes = [len(part.receipt_order) for part in parts]
        receipts = Rows(
            log=_joined([np.full(n, at, np.int32) for at, n in zip(logs, sizes, strict=True)], np.int32),
            event=np.zeros(0, np.int8),
            stream=_joined([code[part.receipt_stream] for code, part in zip(codes, parts, strict=True)], np.int32),
            seqno=_joined([part.receipt_seqno for part in parts], np.int64),
            order=_joined([part.receipt_order for part in parts], np.int64),
            time_us=_joined([part.receipt_time_us for part in parts], np.int64),
            view=np.zeros(0, np.int64),
            position=np.zeros(0, np.int64),
        )
        return rows, receipts

    def _codes(self, streams: list[Stream]) -> Codes:
        """The numbers of a part's streams in this case."""
        codes = np.empty(len(streams), np.int32)
        for index, stream in enumerate(streams):
            number = self._stream_numbers.setdefault(stream, len(self.streams))
            if number == len(self.streams):
                self.streams.append(stream)
            codes[index] = number
        return codes

    # Rows

    @cached_property
    def log_bounds(self) -> Ints:
        """By log: where its rows begin; and the end of the last."""
        return np.searchsorted(self.rows.log, np.arange(len(self.facts.whole) + 1)).astype(np.int64)

    @cached_property
    def first_broadcast(self) -> Ints:
        """By message: the row of its first broadcast; -1 if nobody broadcast it."""
        rows = np.flatnonzero(self.rows.event == BROADCAST)
        first = np.full(self.count, -1, np.int64)
        first[self.message[rows[::-1]]] = rows[::-1]
        return first

    @cached_property
    def source(self) -> Ints:
        """By message: the log of its first broadcast; -1 if there is none."""
        found: Ints = np.where(self.first_broadcast >= 0, self.rows.log[self.first_broadcast], -1).astype(np.int64)
        return found

    def duplicates(self, log: int) -> Ints:
        """The messages that a site noted as repeats of others, instead of delivering them."""
        return self.numbers(self._duplicates[log])

    def numbers(self, messages: list[tuple[Stream, int]]) -> Ints:
        """Those of some messages that are in this case."""
        found: list[int] = []
        for stream, seqno in messages:
            number = self._stream_numbers.get(stream, -1)
            low, high = np.searchsorted(self.stream_of, (number, number + 1))
            at = low + np.searchsorted(self.seqno_of[low:high], seqno)
            if at < high and self.seqno_of[at] == seqno:
                found.append(int(at))
        return np.array(found, np.int64)

    def end_of(self, gap: Gap) -> int:
        """One more than the last number that a `missed` row of one origin means."""
        number = self._stream_numbers.get((gap.group, gap.origin or ""), -1)
        low, high = np.searchsorted(self.stream_of, (number, number + 1))
        behind = int(np.searchsorted(self.seqno_of[low:high], gap.first)) + gap.end - gap.first
        return max(gap.end, int(self.seqno_of[low + behind - 1]) + 1) if 0 < behind <= high - low else gap.end

    def told_missed(self, log: int, messages: Ints) -> Flags:
        """Which of them the site was told, by their numbers, that it will never get."""
        told = np.zeros(len(messages), np.bool_)
        for gap in self.facts.whole[log].gaps:
            number = self._stream_numbers.get((gap.group, gap.origin or ""), -1)
            if not gap.by_position and number >= 0:
                seqnos = self.seqno_of[messages]
                told |= (self.stream_of[messages] == number) & (seqnos >= gap.first) & (seqnos < self.end_of(gap))
        return told

    # Sequences

    @cached_property
    def net(self) -> Net:
        return net_deliveries(self.rows.event, self.delivery_key)

    @cached_property
    def delivery_key(self) -> Ints:
        """By row: its log and message as one number."""
        return self.rows.log.astype(np.int64) * max(1, self.count) + self.message

    @cached_property
    def sequence(self) -> Ints:
        """The rows of all S(s), one sequence after the other."""
        if not len(self.net.kept):
            return self.net.kept
        keys = self.delivery_key[self.net.kept]
        _, is_first = first_indices(keys, len(self.facts.whole) * self.count)
        return self.net.kept[is_first]

    @cached_property
    def sequence_message(self) -> Ints:
        return self.message[self.sequence]

    @cached_property
    def sequence_log(self) -> Ints:
        return self.rows.log[self.sequence].astype(np.int64)

    @cached_property
    def sequence_bounds(self) -> Ints:
        """By log: where its sequence begins in `sequence`; and the end of the last."""
        return np.searchsorted(self.sequence_log, np.arange(len(self.facts.whole) + 1)).astype(np.int64)

    @cached_property
    def sequence_core(self) -> Flags:
        """By delivery in a sequence: whether its message is one that this case answers for."""
        return self.core[self.sequence_message]

    @cached_property
    def delivered(self) -> int:
        """D of docs/guarantees.md."""
        return int(np.count_nonzero(self.sequence_core))

    @cached_property
    def _delivery_table(self) -> Table:
        keys = self.sequence_log * max(1, self.count) + self.sequence_message
        return Table(keys, np.arange(len(keys)), len(self.facts.whole) * self.count)

    @cached_property
    def delivered_by_somebody(self) -> Flags:
        """By message: whether a site that is up delivered it, or noted it as a repeat of another."""
        up = np.array([site.up for site in self.facts.whole], np.bool_)
        found = np.zeros(self.count, np.bool_)
        found[self.sequence_message[up[self.sequence_log]]] = True
        for log in np.flatnonzero(up).tolist():
            found[self.duplicates(log)] = True
        return found

    def delivery(self, log: int, messages: Ints) -> Ints:
        """By message: its index in `sequence` at a site; -1 if the site did not deliver it."""
        return self._delivery_table.look_up(log * max(1, self.count) + messages)

    def passed(self, site: SiteFacts, messages: Ints) -> Flags:
        """By message: whether a site delivered a later one of its stream."""
        reached = np.array([site.reached.get(stream, LOWEST) for stream in self.streams], np.int64)
        found: Flags = self.seqno_of[messages] < reached[self.stream_of[messages]]
        return found

    @cached_property
    def member_set(self) -> Ints:
        """M(d), as the number of a set, for each delivery in a sequence."""
        found = np.empty(len(self.sequence), np.int64)
        groups = self.group_of_stream[self.stream_of[self.sequence_message]]
        for log, site in enumerate(self.facts.whole):
            low, high = self.sequence_bounds[log], self.sequence_bounds[log + 1]
            rows = self.sequence[low:high]
            if len(rows):
                found[low:high] = self.members.at_deliveries(
                    site, self.group_names, groups[low:high], self.rows.order[rows], self.rows.view[rows]
                )
        return found

    # Words

    def group(self, message: int) -> str:
        return self.streams[self.stream_of[message]][0] or ""

    def text(self, message: int) -> str:
        """How people read a message: `alpha:a/7`."""
        group, origin = self.streams[self.stream_of[message]]
        return f"{group}:{origin}/{self.seqno_of[message]}"

    def site(self, log: int) -> str:
        return self.facts.whole[log].site

    def spot(self, row: int) -> Spot:
        return self.spot_at(int(self.rows.log[row]), int(self.rows.order[row]))

    def spot_at(self, log: int, order: int) -> Spot:
        """A row of any kind."""
        return self.facts.whole[log].spot(order)


def _joined(arrays: list[Any], kind: type) -> Any:
    return np.concatenate(arrays) if arrays else np.zeros(0, kind)
