"""Applications that are killed at random points of their handlers: nothing lost, nothing twice, one order."""

import contextlib
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from tests.live.consuming_process import whole_lines
from tests.live.harness import LiveGroup, wait_until

KINDS = {"a": "db", "b": "ack", "c": "db", "d": "ack", "e": "db"}
PROGRAM = (sys.executable, "-W", "error", "-m", "tests.live.consuming_process")


def in_database(folder: Path, name: str) -> list[tuple[int, str]]:
    with contextlib.closing(sqlite3.connect(folder / f"{name}.db", timeout=30)) as database:
        return database.execute("SELECT position, payload FROM handled ORDER BY rowid").fetchall()


def acknowledged(folder: Path, name: str) -> list[tuple[int, str]]:
    """What the application handled, once; a repeat of what was acknowledged before is a failure."""
    handled: list[tuple[int, str]] = []
    done = -1  # the last acknowledged
    for first, *rest in whole_lines(folder / f"{name}.handled"):
        second = " ".join(rest)
        if first == "ack":
            done = int(second)
            continue
        position = int(first)
        assert position > done, f"{name}: {position} again, which was acknowledged"
        assert position <= len(handled), f"{name}: {position} after {len(handled) - 1}"
        if position < len(handled):
            assert handled[position] == (position, second), "a repeat is the same"
        else:
            handled.append((position, second))
    return handled


def handled(group: LiveGroup, name: str) -> list[tuple[int, str]]:
    try:
        return (in_database if KINDS[name] == "db" else acknowledged)(group.folder, name)
    except (FileNotFoundError, sqlite3.OperationalError):
        return []  # it has not begun


def start(group: LiveGroup, name: str) -> None:
    group.start_program(name, str(group.path), name, KINDS[name])


@pytest.mark.parametrize("rounds", [10, pytest.param(200, marks=pytest.mark.long)])
def test_nothing_is_lost_and_nothing_comes_twice(tmp_path: Path, rounds: int) -> None:
    rng = random.Random(rounds)
    sites = "abc" if rounds <= 10 else "abcde"
    tail = '[journal]\ndurability = "process"\nsegment_bytes = 65536\n'
    with LiveGroup(tmp_path, "counter_token", sites, tail=tail) as group:
        group.program = PROGRAM
        for name in sites:
            start(group, name)
        wait_until("all begin", lambda: all(len(handled(group, name)) > 20 for name in sites))
        for number in range(rounds):
            everybody = number % 2 == 1
            names = list(sites) if everybody else rng.sample(sites, rng.choice([1, 1, 2]))
            if number % 4 == 1:
                for name in names:
                    group.signal(name, signal.SIGTERM)
                for name in names:
                    assert group.wait_gone(name) == 0, group.errors(name)
            else:
                for name in names:
                    group.kill(name)
                    time.sleep(rng.random() * 0.05)
            time.sleep(rng.random() * 0.2)
            before = len(handled(group, names[0]))
            for name in names:
                start(group, name)
            wait_until(
                f"round {number}: all go on",
                lambda names=names, before=before: all(len(handled(group, name)) > before + 20 for name in names),  # type: ignore[misc]
            )
        for name in sites:
            stdin = group.processes[name].stdin
            assert stdin is not None
            stdin.write(b"\n")
            stdin.flush()
        ordered = {" ".join(line) for name in sites for line in whole_lines(tmp_path / f"{name}.ordered")}

        def is_there(name: str) -> bool:
            return ordered <= {payload for _, payload in handled(group, name)}

        wait_until("all have all", lambda: all(is_there(name) for name in sites))
        wait_until("all have as much", lambda: len({len(handled(group, name)) for name in sites}) == 1)
        first = handled(group, sites[0])
        assert [position for position, _ in first] == list(range(len(first)))
        assert len({payload for _, payload in first}) == len(first), "what was sent again was delivered once"
        assert any(payload.startswith("clock") for _, payload in first)
        for name in sites:
            assert handled(group, name) == first, name
            assert group.processes[name].poll() is None, group.errors(name)
