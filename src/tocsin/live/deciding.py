"""Which messages of an ordered frame are new, and which repeat a producer's number: decided where a frame becomes
messages, at every member alike, since the table is a function of the order."""

from tocsin.core.cursors import FORGET, Cursors, is_cursor
from tocsin.core.producers import TOO_OLD, Producers
from tocsin.live.frame_format import Run, runs_of

Sent = tuple[str, int] | None  # a producer and its number; or a consumer, and how far it has come (`core/cursors.py`)


class Decided:
    """Of one frame."""

    __slots__ = ("answers", "dropped", "messages", "runs")

    def __init__(self) -> None:
        self.messages: list[bytes] = []  # those that are new, in order
        self.answers: list[int] = []  # by message of the frame: its position, an earlier one, TOO_OLD, or a cursor
        self.dropped: tuple[tuple[int, int], ...] = ()  # those that are not: place in the frame, and the answer
        self.runs: tuple[Run, ...] = ()  # the new ones that have numbers, and cursors


def decide(table: Producers, cursors: Cursors, position: int, messages: list[bytes], sent: list[Sent]) -> Decided:
    """`position`: of the next message; `sent`: by message."""
    decided = Decided()
    dropped: list[tuple[int, int]] = []
    accepted: list[Sent] = []
    for index, message in enumerate(messages):
        here = position + len(decided.messages)
        each = sent[index]
        if each is not None and is_cursor(each[0]):
            number = each[1] if each[1] <= here or each[1] == FORGET else 0  # beyond the order: only a question
            decided.answers.append(cursors.take(each[0], number))
            dropped.append((index, TOO_OLD))
            accepted.append((each[0], number))
            continue
        answer = here if each is None else table.take(each[0], each[1], here)
        decided.answers.append(answer)
        if answer == here:
            decided.messages.append(message)
            accepted.append(each)
        else:
            dropped.append((index, answer))
            accepted.append(None)
    decided.dropped = tuple(dropped)
    decided.runs = tuple(runs_of(accepted))
    return decided
