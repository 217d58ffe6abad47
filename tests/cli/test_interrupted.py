"""Ctrl-C ends every verb soon, with one line, and leaves nothing running; a simulation leaves a valid, shorter trace.

A terminal sends it to the whole group of processes, and so do these tests.
"""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tests.cli.terminal import TOCSIN
from tests.live.harness import LiveGroup, wait_until
from tocsin.properties import check
from tocsin.traces.reader import read_rows

LONG = """\
protocol = "ack_all"
sites = 5
duration_us = 1_000_000_000_000
[workload]
messages = 100_000_000
every_us = 100
"""


def interrupt(folder: Path) -> tuple[int, str]:
    """Start a long simulation on a terminal, press Ctrl-C once its bar is drawn; exit code and what was shown."""
    scenario = folder / "long.toml"
    scenario.write_text(LONG)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "tocsin.cli.main", "simulate", str(scenario), "--trace", str(folder / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    os.set_blocking(master, False)
    shown = b""
    deadline = time.monotonic() + 120
    while b"simulating" not in shown and time.monotonic() < deadline:
        time.sleep(0.05)
        shown += _read(master)
    process.send_signal(signal.SIGINT)
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        shown += _read(master)
    shown += _read(master)
    os.close(master)
    return process.wait(1), shown.decode(errors="replace")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # nothing there now, or the other end is closed
        return b""


def test_ctrl_c_leaves_a_valid_shorter_trace(tmp_path: Path) -> None:
    code, shown = interrupt(tmp_path)
    assert code == 130
    assert "simulating" in shown and "events" in shown, "a progress bar was drawn"
    assert "interrupted: the answer and the trace end there" in shown and "Traceback" not in shown
    report = check(read_rows([tmp_path / "out"]), properties=["integrity", "fifo"])
    assert report.rows > 1_000 and report.properties["integrity"].verdict == "pass"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["trace.parquet"]


SECONDS_MAX = 2.0  # from Ctrl-C to the end, on a machine that is ours …
SLOWNESS = 5.0  # … and how much longer it may take on one that is busy with other tests

EXPLORED = """\
protocol = "counter_token"
sites = 4
duration_us = 500_000
[workload]
messages = 4
every_us = 1
"""
GRID = f"replications = 50\n[scenario]\n{LONG.replace('[workload]', '[scenario.workload]')}\n[grid]\nsites = [3, 5]\n"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files on which each verb works for longer than these tests wait."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "long.toml").write_text(LONG)
    (folder / "explored.toml").write_text(EXPLORED)
    (folder / "grid.toml").write_text(GRID)
    (folder / "topology.json").write_text(_topology(100_000))
    (folder / "groups.json").write_text(_groups(20_000))
    (folder / "many.toml").write_text(LONG.replace("sites = 5", "sites = 2_000"))
    trace = tocsin.simulate(Path(__file__).parents[2] / "examples" / "showcase.toml").trace
    with pq.ParquetWriter(folder / "trace.parquet", trace.schema) as writer:
        for number in range(40):
            runs = pa.array([f"run {number}"] * trace.num_rows)
            writer.write_table(trace.set_column(0, trace.schema.field("run"), runs))
    return folder


def _groups(count: int) -> str:
    """Groups that overlap in all ways."""
    members = (
        {(number * step * step + 7 * step * number + step) % 4_999 for step in range(1, 30)} for number in range(count)
    )
    groups = (f'"g{number}":{json.dumps([f"s{site}" for site in sites])}' for number, sites in enumerate(members))
    return f'{{"groups":{{{",".join(groups)}}}}}'


def _topology(nodes: int) -> str:
    names = ",".join(f'{{"name":"h{number}"}}' for number in range(nodes))
    ends = ((number, (number + step) % nodes) for number in range(nodes) for step in (1, 7, 31, 1009))
    links = ",".join(f'{{"ends":["h{one}","h{other}"],"loss":0.1}}' for one, other in ends)
    return f'{{"nodes":[{names}],"links":[{links}]}}'


def press_ctrl_c(words: list[str], folder: Path, after_seconds: float) -> tuple[int, str, float]:
    """Exit code, what was said on stderr, and how long it took until nobody held its output any more."""
    process = subprocess.Popen(
        [*TOCSIN, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        process.wait(after_seconds)
        raise AssertionError(f"ended by itself: {process.communicate()}")
    except subprocess.TimeoutExpired:
        pass
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, said, time.monotonic() - began


@pytest.mark.parametrize(
    ("after_seconds", "call"),
    [
        (0.5, "simulate long.toml"),
        (4.0, "simulate long.toml"),
        (0.5, "explore explored.toml --losses 2 --crashes 1"),
        (4.0, "explore explored.toml --losses 2 --crashes 1"),
        (0.7, "swarm counter_token --seeds 0..100000 --only loss"),  # its processes start
        (4.0, "swarm counter_token --seeds 0..100000 --only loss"),
        (1.2, "check trace.parquet"),
        (1.2, "plan reliability topology.json --source h0 --reach 0.999999"),
        (1.5, "plan propagation groups.json"),  # one call of compiled code
        (1.5, "plan strategy --sites 10000000 --delay 3 --gap 1 --json"),
        (2.0, "simulate many.toml"),  # thousands of messages an event
        (1.0, "showcase --out out"),
        (6.0, "showcase --out out"),
        pytest.param(2.0, "audit trace.parquet", marks=pytest.mark.spark),  # Spark starts
        pytest.param(6.0, "audit trace.parquet", marks=pytest.mark.spark),
        pytest.param(3.0, "sweep grid.toml --out out", marks=pytest.mark.spark),
        pytest.param(12.0, "sweep grid.toml --out out", marks=pytest.mark.spark),
    ],
)
def test_ctrl_c(after_seconds: float, call: str, inputs: Path, tmp_path: Path) -> None:
    words = [str(inputs / word) if (inputs / word).is_file() else word for word in call.split()]
    code, said, seconds = press_ctrl_c(words, tmp_path, after_seconds)
    assert code == 130 and "Traceback" not in said, said
    lines = [line for line in said.splitlines() if line != "starting Spark"]
    assert len(lines) == 1 and lines[0].startswith(f"tocsin {words[0]}: interrupted"), said
    assert seconds < SECONDS_MAX * SLOWNESS, f"{seconds:.1f} s"


@pytest.mark.parametrize("verb", ["protocols", "simulate", "plan", "doctor"])
def test_ctrl_c_while_it_starts(verb: str) -> None:
    """As soon as the first instruction of ours was run: one line, or what it had to say, never a traceback."""
    for delay in (0.0, 0.01, 0.02, 0.04, 0.08, 0.16):
        process = subprocess.Popen(
            [sys.executable, "-c", STARTED, verb, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stdout.readline() == "started\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, 130, -signal.SIGINT), said
        assert said == (f"tocsin {verb}: interrupted\n" if process.returncode == 130 else ""), (delay, said)


STARTED = """
import sys
from tocsin.cli import interrupts, main
enter = interrupts.Interrupts.__enter__
def entered(self):
    result = enter(self)
    print("started", flush=True)
    return result
interrupts.Interrupts.__enter__ = entered
sys.exit(main.main())
"""


def test_a_child_that_computes_ends_with_its_parent(inputs: Path) -> None:
    """`kill`, or even kill -9, of the command leaves nothing running that would hold its output open."""
    words = ["plan", "propagation", str(inputs / "groups.json")]
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen([*TOCSIN, *words], stdout=subprocess.PIPE)
        time.sleep(1.0)
        process.send_signal(number)
        process.communicate(timeout=SECONDS_MAX * SLOWNESS)
        assert process.returncode == -number


def test_nobody_reads_the_output() -> None:
    """As before `less`: the pipe is full, and Ctrl-C still ends the verb."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHATTY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS_MAX * SLOWNESS) == 130
    assert process.stderr is not None and process.stderr.read() == "tocsin protocols: interrupted\n"
    assert process.stdout is not None
    process.stdout.close()
    process.stderr.close()


CHATTY = """
import sys
import tocsin.cli.protocols as verb
def run(arguments):
    while True: print("line " * 1000)
verb.run = run
from tocsin.cli.main import main
sys.exit(main(["protocols"]))
"""


@pytest.mark.xdist_group("live")
def test_join_leaves_in_order_and_a_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    with LiveGroup(tmp_path, "counter_token") as group:
        for name in "abc":
            group.start(name)
        group.wait_together()
        group.signal("a", signal.SIGINT)
        assert group.wait_gone("a") == 0
        group.kill("b")  # c alone is no majority of anything: nothing it sends is ordered any more
        group.send("c", ["never ordered"])
        group.signal("c", signal.SIGINT)
        wait_until("it says that it leaves", lambda: "at most 10 s" in group.errors("c"), 5)
        assert group.processes["c"].poll() is None
        group.signal("c", signal.SIGINT)
        assert group.wait_gone("c") == 130
        assert group.errors("c").count("\n") == 2


@pytest.mark.xdist_group("live")
def test_join_ends_though_nobody_reads_its_output(tmp_path: Path) -> None:
    """A full pipe stops the output, not the member: the group goes on, status answers, Ctrl-C works."""
    with LiveGroup(tmp_path, "counter_token") as group:
        for name in "bc":
            group.start(name)
        reader, writer = os.pipe()
        command = [*group.program, str(group.path), "--as", "a"]
        stuck = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        group.processes["a"] = stuck
        group.wait_together()
        group.send("b", ["x" * 200] * 2_000)  # 600 kB of lines
        group.wait_delivered(2_000)
        group.signal("a", signal.SIGINT)
        time.sleep(1.0)
        group.signal("a", signal.SIGINT)
        assert group.wait_gone("a") == 130
        os.close(reader)
        assert stuck.stderr is not None
        stuck.stderr.close()
