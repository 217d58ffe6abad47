"""Agreement, plain and uniform: what one delivered, every correct member delivered (docs/guarantees.md, section 2)."""

from __future__ import annotations  # array[int] is an annotation only before Python 3.12

from array import array

from tocsin.properties.case import Case
from tocsin.properties.finding import Finding


def check_agreement(case: Case) -> Finding:
    return _agreement(case, [index for index, log in enumerate(case.logs) if log.up])


def check_uniform_agreement(case: Case) -> Finding:
    return _agreement(case, list(range(len(case.logs))))


def _agreement(case: Case, witnesses: list[int]) -> Finding:
    """`witnesses`: the logs whose deliveries oblige the others."""
    members = case.members
    required = array("i", [-1]) * len(case.history.stream_of)  # by message: the set of those it was delivered to
    for index in witnesses:
        sequence = case.sequences[index]
        for message, number in zip(sequence.messages, members.at_deliveries(case.logs[index], sequence), strict=True):
            before = required[message]
            if before != number:
                required[message] = number if before < 0 else members.union(before, number)
    delivered = _count_obliged_deliveries(case, required)
    missing = {
        message
        for message, number in enumerate(required)
        if number >= 0 and delivered[message] < len(members.obliged(number))
    }
    checked = len(required) - required.count(-1)
    if not missing:
        return Finding(checked, obstacle=case.truncation)
    index = next(index for index in witnesses if not missing.isdisjoint(case.sequences[index].messages))
    message = next(message for message in case.sequences[index].messages if message in missing)
    why = _explain(case, message, required[message])
    return Finding(checked, len(missing), (case.delivery_row(index, message),), why, case.truncation)


def _count_obliged_deliveries(case: Case, required: array[int]) -> array[int]:
    """By message: how many of those who owe it delivered it."""
    members = case.members
    delivered = array("i", [0]) * len(required)
    for index, log in enumerate(case.logs):
        if not log.up:
            continue
        owes: dict[int, bool] = {-1: False}  # set: whether this site owes what was delivered to it
        for message in case.sequences[index].messages:
            number = required[message]
            owed = owes.get(number)
            if owed is None:
                owed = owes[number] = log.site in members.obliged(number)
            if owed:
                delivered[message] += 1
    return delivered


def _explain(case: Case, message: int, number: int) -> str:
    having = {log.site for log, sequence in zip(case.logs, case.sequences, strict=True) if message in sequence.messages}
    site = min(case.members.obliged(number) - having)
    group = case.history.stream(message).group
    silent = "" if any(log.site == site for log in case.logs) else " (it has no rows in the trace)"
    return f"site {site}{silent}, up at the end and a member of {group}, never delivered {case.text(message)}"
