"""Replicas in real processes, killed by kill -9, one and all: what was answered counts once, at its place."""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.live.live_groups import write_group

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 60.0


class Processes:
    def __init__(self, folder: Path) -> None:
        self.path = write_group(folder, "counter_token", head="[journal]\nsegment_bytes = 65536\n")
        self.folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "tests.state.calling_process", str(self.path), name]
        out, err = (self.folder / f"{name}.{end}" for end in ("out", "err"))
        with open(out, "ab") as stdout, open(err, "ab") as stderr:
            self.running[name] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, cwd=ROOT
            )

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()

    def lines(self, name: str) -> list[str]:
        text = (self.folder / f"{name}.out").read_text()
        return text[: text.rfind("\n") + 1].splitlines()

    def answers(self) -> dict[str, int]:
        """By command: what it was answered."""
        rows = [line.split() for name in "abc" for line in self.lines(name) if not line.startswith("[")]
        return {command: int(answer) for command, answer in rows}

    def wait_for_answers(self, count: int, names: str = "") -> None:
        """So many more, and at least one to each of these."""
        deadline = time.monotonic() + SECONDS_MAX
        wanted = len(self.answers()) + count
        before = {name: len(self.lines(name)) for name in names}
        while len(self.answers()) < wanted or any(len(self.lines(name)) == before[name] for name in names):
            stopped = {name: each.poll() for name, each in self.running.items() if each.poll() is not None}
            errors = {name: (self.folder / f"{name}.err").read_text()[-2000:] for name in stopped}
            assert not stopped, f"ended by themselves: {stopped} {errors}"
            assert time.monotonic() < deadline, f"{len(self.answers())} answers of {wanted}"
            time.sleep(0.05)

    def end(self) -> dict[str, list[str]]:
        """All stop calling; the state of each."""
        for process in self.running.values():
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
        deadline = time.monotonic() + SECONDS_MAX
        while not all(any(line.startswith("[") for line in self.lines(name)) for name in self.running):
            assert time.monotonic() < deadline, "no state was written"
            time.sleep(0.05)
        found = {name: json.loads(self.lines(name)[-1]) for name in self.running}
        for name in list(self.running):
            self.kill(name)
        return found


@pytest.mark.parametrize("rounds", [1, pytest.param(6, marks=pytest.mark.long)])
def test_answered_calls_count_once_whoever_is_killed(tmp_path: Path, rounds: int) -> None:
    """In the last round, all."""
    rng = random.Random(7)
    group = Processes(tmp_path)
    try:
        for name in "abc":
            group.start(name)
        group.wait_for_answers(100)
        for round_number in range(rounds):
            victims = "abc" if round_number == rounds - 1 else rng.choice("abc")
            for name in victims:
                group.kill(name)
            if len(victims) < 3:
                group.wait_for_answers(50)  # the others go on
            for name in victims:
                group.start(name)
            group.wait_for_answers(100, victims)  # who is not back yet counts for no majority
        states = group.end()
    finally:
        for name in list(group.running):
            group.kill(name)
    shortest = min(states.values(), key=len)
    for state in states.values():
        assert state[: len(shortest)] == shortest, "the order differs"
    longest = max(states.values(), key=len)
    assert max(Counter(longest).values()) == 1, "a call counted twice"
    answers = group.answers()
    wrong = {command: answer for command, answer in answers.items() if longest[answer - 1 : answer] != [command]}
    assert not wrong and len(answers) > 100 + 100 * rounds
