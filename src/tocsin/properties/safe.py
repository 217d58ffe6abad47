"""Safe delivery: when anyone delivers a message, all members of its view have it (docs/guarantees.md, section 5)."""

from array import array
from typing import Final

from tocsin.properties.case import Case
from tocsin.properties.finding import Finding
from tocsin.properties.history import IS_ROLLBACK, Log
from tocsin.traces.rows import RECEIVE, Row

NEVER: Final = 1 << 63  # later than any time_us
ALWAYS: Final = -NEVER  # earlier than any


def check_safe(case: Case) -> Finding:
    obstacle = case.truncation
    if not any(log.receipts for log in case.logs):
        if obstacle is None and case.has_deliveries:
            obstacle = f"{case.lacking(RECEIVE)} of kind data that name their message"
        return Finding(case.delivered, obstacle=obstacle)
    sets = [case.members.at_deliveries(log, sequence) for log, sequence in zip(case.logs, case.sequences, strict=True)]
    having = _Having(case)
    complete_at = _complete_at(case, sets, having)
    violations = 0
    witness: tuple[bool, int, int] | None = None  # whether a member has it late, not never; log, index in its sequence
    for index, log in enumerate(case.logs):
        sequence = case.sequences[index]
        for at, (message, number) in enumerate(zip(sequence.messages, sets[index], strict=True)):
            time_us = complete_at[number][message]
            if time_us > log.times[sequence.places[at]]:
                violations += 1
                if witness is None or (time_us != NEVER) < witness[0]:
                    witness = (time_us != NEVER, index, at)
    if witness is None:
        return Finding(case.delivered, obstacle=obstacle)
    _, index, at = witness
    rows, why = _explain(case, index, at, case.members.sites(sets[index][at]), having)
    return Finding(case.delivered, violations, rows, why, obstacle)


class _Having:
    """From when on a site has a message: its first receive row of kind data, broadcast or deliver row.

    Without one clock, times of two sites cannot be compared: then it has a message ALWAYS or NEVER.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._logs = {log.site: log for log in case.logs}
        history = case.history
        without_group = {stream.origin: stream.messages for stream in history.streams if stream.group is None}
        # by message: its number in receive rows that name no group, or -1
        self._without_group = array("i", [-1]) * len(history.stream_of)
        for stream in history.streams:
            numbers = without_group.get(stream.origin)
            if stream.group is not None and numbers is not None:
                for seqno, message in stream.messages.items():
                    self._without_group[message] = numbers.get(seqno, -1)

    def times(self, site: str) -> dict[int, int]:
        """By message, or its number without group: from when on the site has it."""
        log = self._logs.get(site)
        if log is None:
            return {}
        if not self._case.one_clock:
            return dict.fromkeys([*_seen(log), *log.receipts], ALWAYS)
        found: dict[int, int] = {}
        for message, time_us in zip(log.receipts, log.receipt_times, strict=True):
            if time_us < found.get(message, NEVER):
                found[message] = time_us
        for event, message, time_us in zip(log.events, log.messages, log.times, strict=True):
            if event != IS_ROLLBACK and time_us < found.get(message, NEVER):
                found[message] = time_us
        return found

    def time(self, times: dict[int, int], message: int) -> int:
        return min(times.get(message, NEVER), times.get(self._without_group[message], NEVER))

    def row(self, site: str, message: int, time_us: int) -> Row:
        """The row from which on a site has a message."""
        log = self._logs[site]
        for place, (event, other) in enumerate(zip(log.events, log.messages, strict=True)):
            if event != IS_ROLLBACK and other == message and log.times[place] == time_us:
                return self._case.history.row(log, place)
        numbers = (message, self._without_group[message])
        place = next(
            place
            for place, other in enumerate(log.receipts)
            if other in numbers and log.receipt_times[place] == time_us
        )
        return self._case.history.receipt_row(log, place)


def _seen(log: Log) -> list[int]:
    if IS_ROLLBACK not in log.events:
        return log.messages.tolist()
    return [message for event, message in zip(log.events, log.messages, strict=True) if event != IS_ROLLBACK]


def _complete_at(case: Case, sets: list[list[int]], having: _Having) -> dict[int, dict[int, int]]:
    """By set of members and message that was delivered to it: from when on all of them have the message."""
    complete: dict[int, dict[int, int]] = {}
    for sequence, numbers in zip(case.sequences, sets, strict=True):
        for message, number in zip(sequence.messages, numbers, strict=True):
            complete.setdefault(number, {})[message] = ALWAYS
    sets_of: dict[str, list[int]] = {}
    for number in complete:
        for site in case.members.sites(number):
            if site not in case.truncated:
                sets_of.setdefault(site, []).append(number)
    for site, numbers in sets_of.items():
        times = having.times(site)
        for number in numbers:
            wanted = complete[number]
            for message, before in wanted.items():
                time_us = having.time(times, message)
                if time_us > before:
                    wanted[message] = time_us
    return complete


def _explain(case: Case, index: int, at: int, members: frozenset[str], having: _Having) -> tuple[tuple[Row, ...], str]:
    message = case.sequences[index].messages[at]
    row = case.row(index, case.sequences[index].places[at])
    times = {site: having.time(having.times(site), message) for site in sorted(members) if site not in case.truncated}
    site = max(times, key=times.__getitem__)
    text = case.text(message)
    if times[site] == NEVER:
        return (row,), f"site {row.site} delivered {text}, which member {site} never received"
    late = having.row(site, message, times[site])
    why = f"site {row.site} delivered {text} at {row.time_us} us, member {site} had it only at {late.time_us} us"
    return (row, late), why
