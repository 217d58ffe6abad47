"""`counter_token`, five processes in five network namespaces: kill -9, stopped processes, cut links, restarts of all.

After each healing the audit of all journals finds no violation, and every message that was acknowledged as durable is
in every journal."""

import random
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.live import namespaces
from tests.live.harness import LiveGroup, wait_until
from tocsin.live.storage.journal import journal_batches
from tocsin.protocols.registry import REGISTRY

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

SITES = "abcde"
MESSAGES_PER_ROUND = 40
HEAL_SECONDS_MAX = 90.0
TAIL = '[journal]\nreceives = true\ndurability = "process"\nsegment_bytes = 262_144\n'

needs_namespaces = pytest.mark.skipif(not namespaces.available(), reason=namespaces.WHY_NOT)


class Chaos:
    """A group under a seeded adversary."""

    def __init__(self, folder: Path, spaces: namespaces.Namespaces, seed: int) -> None:
        self.random = random.Random(seed)
        self.happened: dict[str, int] = {}  # what the adversary did
        self.group = LiveGroup(folder, "counter_token", SITES, tail=TAIL, namespaces=spaces)
        self.group.program = (sys.executable, "-W", "error", "-m", "tests.live.acknowledging_member")
        self.spaces = spaces
        self._sent = 0

    def start(self, name: str) -> None:
        self.group.start_program(name, str(self.group.path), name, str(self.group.folder / f"{name}.acks"))

    def send(self) -> set[bytes]:
        """A few messages from each that runs; what they are."""
        sent: set[bytes] = set()
        for name in SITES:
            if self.group.processes[name].poll() is None:
                lines = [f"{name} {self._sent + index}" for index in range(MESSAGES_PER_ROUND // len(SITES))]
                self._sent += len(lines)
                self.group.send(name, lines)
                sent.update(line.encode() for line in lines)
        return sent

    def acknowledged(self) -> set[bytes]:
        files = [self.group.folder / f"{name}.acks" for name in SITES]
        return {line for file in files if file.exists() for line in file.read_bytes().splitlines()}

    def harm(self) -> None:
        """One to three harms at once, with messages before, while and after."""
        self.send()
        for _ in range(self.random.randint(1, 3)):
            harm = self.random.choice(("kill", "kill", "stop", "cut", "cut", "kill all"))
            self.happened[harm] = self.happened.get(harm, 0) + 1
            if harm == "kill all":
                for name in SITES:
                    self._kill(name)
                continue
            name = self.random.choice(SITES)
            if harm == "kill":
                self._kill(name)
            elif harm == "stop":
                if self.group.processes[name].poll() is None:
                    self.group.signal(name, signal.SIGSTOP)
            else:
                self.spaces.cut(SITES.index(name))
            self._pass_time()
            self.send()

    def _kill(self, name: str) -> None:
        if self.group.processes[name].poll() is None:
            self.group.kill(name)

    def _pass_time(self) -> None:
        """Let the survivors work for a moment that the seed draws: long enough for suspicion, sometimes."""
        time.sleep(self.random.choice((0.05, 0.3, 1.5)))

    def heal(self) -> None:
        for index, name in enumerate(SITES):
            self.spaces.mend(index)
            if self.group.processes[name].poll() is None:
                self.group.signal(name, signal.SIGCONT)
            else:
                self.start(name)
        try:
            wait_until("the group is whole again", self._is_whole, HEAL_SECONDS_MAX)
            sent = self.send()
            wait_until("all is acknowledged", lambda: sent <= self.acknowledged(), HEAL_SECONDS_MAX)
            wait_until("the group is quiet again", self._is_whole, HEAL_SECONDS_MAX)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._story()}") from None

    def _story(self) -> str:
        """How each member stands, for a failure's reader."""
        lines: list[str] = []
        for name in SITES:
            status = self.group.status(name)
            if status is None:
                lines.append(f"{name}: no answer; {self.group.errors(name)[-300:]}")
            else:
                parts = {part: status[part] for part in ("life", "view", "queues", "drops", "totals", "failed")}
                lines.append(f"{name}: {parts} {status['journal']['positions']}")
        return "\n".join(lines)

    def _is_whole(self) -> bool:
        statuses = [self.group.status(name) for name in SITES]
        if any(status is None for status in statuses):
            return False
        whole = [status for status in statuses if status is not None]
        positions = {status["journal"]["positions"]["all"] for status in whole}
        return len(positions) == 1 and all(
            status["queues"]["quiet"]
            and status["queues"]["outstanding"] == 0
            and status["queues"]["to_broadcast"] == 0
            and status["view"] is not None
            and len(status["view"]["members"]) == len(SITES)
            for status in whole
        )

    def judge(self) -> None:
        promised = REGISTRY["counter_token"].guarantees
        verdicts = self.group.verdicts(promised)
        assert set(verdicts.values()) <= {"pass", "not checkable"}, verdicts
        for name in ("agreement", "uniform_agreement", "multiple_source", "acyclic", "safe"):
            assert verdicts[name] == "pass", verdicts
        acknowledged = self.acknowledged()
        assert acknowledged, "nothing was acknowledged"
        for name in SITES:
            journal = {
                payload
                for batch in journal_batches(self.group.data / name)
                for payload in batch.column("payload").to_pylist()
                if payload is not None
            }
            missing = acknowledged - journal
            assert not missing, f"{name} lacks {sorted(missing)[:5]} of {len(missing)} acknowledged as durable"


def run_rounds(folder: Path, rounds: int, seed: int) -> dict[str, int]:
    with namespaces.Namespaces(len(SITES)) as spaces:
        chaos = Chaos(folder, spaces, seed)
        with chaos.group:
            for name in SITES:
                chaos.start(name)
            wait_until("the group starts", chaos._is_whole)
            for number in range(rounds):
                chaos.harm()
                chaos.heal()
                try:
                    chaos.judge()
                except AssertionError as error:
                    raise AssertionError(f"round {number} of seed {seed}: {error}") from None
    return chaos.happened


@needs_namespaces
@pytest.mark.namespaces
def test_a_few_rounds(tmp_path: Path) -> None:
    happened = run_rounds(tmp_path, rounds=4, seed=1)
    assert sum(happened.values()) >= 4


@needs_namespaces
@pytest.mark.namespaces
@pytest.mark.long
def test_two_hundred_rounds(tmp_path: Path) -> None:
    happened = run_rounds(tmp_path, rounds=200, seed=2)
    assert all(happened.get(harm, 0) > 10 for harm in ("kill", "stop", "cut", "kill all")), happened
