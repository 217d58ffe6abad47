"""Whether a history of calls could have been one call after the other, each at some time between its begin and its end
(Wing and Gong, with the states that were visited remembered, as Lowe does it).

A history is a list of `Call`. One that never ended may have taken effect at any time since it began, or never. A model
says what a call may answer: `step(state, call)` gives the states after it, none if it cannot have answered so.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol

NEVER = 1 << 62


class Call(NamedTuple):
    who: str
    operation: str
    arguments: tuple[Any, ...]
    answer: Any  # of a call that never ended: meaningless
    begin: int
    end: int  # NEVER: it did not


class Model(Protocol):
    def first(self) -> Hashable: ...

    def step(self, state: Any, call: Call) -> list[Hashable]: ...


def explain(history: list[Call], model: Model) -> str:
    """Nothing if the history is linearizable; else the calls that fit nowhere, for people."""
    calls = sorted(history, key=lambda call: call.begin)
    everything = sum(1 << index for index, call in enumerate(calls) if call.end != NEVER)
    visited: set[tuple[int, Hashable]] = set()
    stack: list[tuple[int, Hashable]] = [(0, model.first())]
    furthest = 0
    while stack:
        done, state = stack.pop()
        if (done, state) in visited:
            continue
        visited.add((done, state))
        if done & everything == everything:
            return ""
        if done.bit_count() > furthest.bit_count():
            furthest = done
        for index in _next(calls, done):
            for after in model.step(state, calls[index]):
                if calls[index].end != NEVER or after != state:  # else it may as well not have counted
                    stack.append((done | 1 << index, after))
    stuck = [calls[index] for index in _next(calls, furthest)]
    lines = [
        f"  {call.who}: {call.operation}{call.arguments} -> {call.answer!r} [{call.begin}, {call.end}]"
        for call in stuck
    ]
    return f"not linearizable: after {furthest.bit_count()} of {len(calls)} calls none of these fits:\n" + "\n".join(
        lines
    )


def _next(calls: list[Call], done: int) -> list[int]:
    """The calls that may come next: those that began before any other that is left has ended."""
    left: list[int] = []
    earliest = NEVER
    for index, call in enumerate(calls):
        if done >> index & 1:
            continue
        if call.begin > earliest:
            break
        left.append(index)
        earliest = min(earliest, call.end)
    return [index for index in left if calls[index].begin <= earliest]


class MapModel:
    """One key of a map. `get`, `set`, `delete`, `compare_and_set`."""

    def first(self) -> bytes | None:
        return None

    def step(self, state: bytes | None, call: Call) -> list[Hashable]:
        open_ended = call.end == NEVER
        if call.operation == "get":
            return [state] if open_ended or call.answer == state else []
        if call.operation == "set":
            return [call.arguments[0]]
        if call.operation == "delete":
            return [None] if open_ended or call.answer == (state is not None) else []
        old, new = call.arguments
        return [new if state == old else state] if open_ended or call.answer == (state == old) else []


class LockModel:
    """`acquire` answers with a token; `release` of a token, which may be the holder's or have ended; `gone`: that the
    holds of a site have ended, at some time since then or never. Also for leaders."""

    def first(self) -> tuple[str, int, int]:
        return ("", 0, 0)  # holder, its token, the largest token

    def step(self, state: tuple[str, int, int], call: Call) -> list[Hashable]:
        holder, token, largest = state
        if call.operation == "acquire":
            if holder:
                return []
            answer = largest + 1 if call.end == NEVER else call.answer
            return [(call.who, answer, answer)] if answer > largest else []
        ends = holder == call.who and (call.operation == "gone" or token == call.arguments[0])
        return [("", 0, largest)] if ends else [state]


class QueueModel:
    """`put` of an item (all differ), `take` answers with the oldest that nobody has; `done`; `gone`, as of locks."""

    def first(self) -> "Queued":
        return Queued(0, (), ())

    def step(self, state: "Queued", call: Call) -> list[Hashable]:
        puts, free, taken = state
        if call.operation == "put":
            return [Queued(puts + 1, (*free, (puts, call.arguments[0])), taken)]
        if call.operation == "take":
            if not free or (call.end != NEVER and free[0][1] != call.answer):
                return []
            return [Queued(puts, free[1:], tuple(sorted([*taken, (*free[0], call.who)])))]
        if call.operation == "done":
            left = tuple(each for each in taken if each[1:] != (call.arguments[0], call.who))
            return [Queued(puts, free, left)] if call.end == NEVER or call.answer == (left != taken) else []
        back = [each[:2] for each in taken if each[2] == call.who]
        return [Queued(puts, tuple(sorted([*back, *free])), tuple(each for each in taken if each[2] != call.who))]


class Queued(NamedTuple):
    puts: int
    free: tuple[tuple[int, Any], ...]  # which put, and the item: oldest first
    taken: tuple[tuple[int, Any, str], ...]  # and who has it
