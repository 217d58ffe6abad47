"""`tocsin showcase`: five members as real processes, loss, a kill -9, a partition; then the proof."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from tocsin.cli.showcase_page import Moment, write_page
from tocsin.cli.showcase_stage import LOSS, PROTOCOL, SITES, Stage
from tocsin.cli.tables import Cell, output, print_table
from tocsin.cli.verdicts import ALARM
from tocsin.core.errors import InputError, TocsinError
from tocsin.live.storage.journal import write_trace
from tocsin.properties import FAIL, PASS, check
from tocsin.protocols.registry import find_protocol
from tocsin.traces.calm import Calm

EXAMPLES = """\
examples:
  tocsin showcase                       about a minute; page, trace and the members' data stay in the folder it names
  tocsin showcase --messages 5000       a short one
  tocsin showcase --engine check        judge in this process in place of Spark
exit code: 0 every promised property holds, 1 one does not
"""
FINISH_SECONDS_MAX = 120.0
SECONDS_MAX = 3_600.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("--messages", type=int, default=50_000, help="in all, from all members (default 50000)")
    parser.add_argument(
        "--seconds", type=float, default=24.0, help="over which they are sent, with the faults in between (default 24)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where trace and page go (default: a new folder)")
    parser.add_argument(
        "--engine",
        choices=("spark", "check"),
        default="spark",
        help="who judges the trace (default: Spark if it is there)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    if arguments.messages < 1:
        raise InputError(f"--messages: expected at least 1, found {arguments.messages}")
    if not 1.0 <= arguments.seconds <= SECONDS_MAX:
        raise InputError(f"--seconds: expected 1 to {SECONDS_MAX:g}, found {arguments.seconds:g}")
    out = arguments.out or Path(tempfile.mkdtemp(prefix="tocsin-showcase-"))
    out.mkdir(parents=True, exist_ok=True)
    console = output(to_stderr=arguments.json)
    protocol = find_protocol(PROTOCOL, "showcase")
    promised = protocol.guarantees
    began = time.monotonic()
    with Stage(out, arguments.messages) as stage:
        moments = _play(stage, arguments.seconds, console)
        console.print(
            f"  {'%5.1f' % (time.monotonic() - began)} s  everything sent is delivered everywhere; reading the journals"
        )
        trace = out / "trace.parquet"
        calm = Calm(stage.calm_us, protocol.liveness_us, parts_alone=protocol.parts_alone)
        rows = write_trace([stage.data], trace, calm)  # members still run: they are up at the end of the trace
        samples = stage.samples
    console.print(f"         {rows:,} rows of what five members sent, received and delivered: {trace}")
    engine, properties = _judge(trace, arguments.engine, console)
    page = write_page(out / "showcase.html", samples, moments, properties, promised, engine)
    held = all(properties[name]["verdict"] == PASS for name in promised)
    if arguments.json:
        answer = {"messages": arguments.messages, "rows": rows, "engine": engine, "held": held, "page": str(page)}
        print(json.dumps({**answer, "properties": properties}))
    else:
        _print_verdicts(console, properties, promised, engine)
        console.print(f"\nthe run in pictures: {page}\nits trace:           {trace}")
    return 0 if held else 1


def _play(stage: Stage, seconds: float, console: Console) -> list[Moment]:
    """The acts, in order; each is told as it happens."""
    console.print(
        f"five members on this machine, {LOSS:.0%} of their datagrams lost, {stage.messages:,} messages from all"
    )
    stage.start()
    began = time.monotonic()
    acts = [
        (0.15, "kill -9 c", stage.kill_c),
        (0.30, "c comes back", stage.restart_c),
        (0.50, "the network is cut: a b | c d e", stage.cut),
        (0.75, "the network is whole again", stage.heal),
    ]
    moments: list[Moment] = []
    columns = (TextColumn("{task.description}"), BarColumn(40), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        bars = {name: progress.add_task(name, total=stage.messages, note="") for name in SITES}
        while True:
            elapsed = time.monotonic() - began
            stage.feed(min(1.0, elapsed / seconds))
            while acts and elapsed >= acts[0][0] * seconds:
                _, what, do = acts.pop(0)
                do()
                moments.append(Moment(time.monotonic() - began, what))
                progress.console.print(f"  {elapsed:5.1f} s  {what}")
            _show(progress, bars, stage.sample(time.monotonic() - began))
            if not acts and stage.is_done():
                return moments
            if elapsed > seconds + FINISH_SECONDS_MAX:
                raise TocsinError(f"not everything was delivered within {FINISH_SECONDS_MAX:g} s; see {stage.data}")
            time.sleep(0.1)


def _show(progress: Progress, bars: dict[str, TaskID], state: dict[str, tuple[int, str]]) -> None:
    for name, (delivered, view) in state.items():
        progress.update(bars[name], completed=max(0, delivered), note=view)


def _judge(trace: Path, engine: str, console: Console) -> tuple[str, dict[str, dict[str, Any]]]:
    """The properties of the trace, by Spark where it runs here, by this process otherwise; both decide alike."""
    if engine == "spark":
        console.print("         asking Spark which guarantees held")
        command = (sys.executable, "-m", "tocsin.cli.main", "audit", str(trace), "--json")
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
        if done.returncode in (0, 1) and done.stdout.startswith("{"):
            properties: dict[str, dict[str, Any]] = json.loads(done.stdout)["properties"]
            return "tocsin audit, on Spark", properties
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        console.print(f"         Spark does not run here ({reason[:150]}); this process decides")
    report = check(trace, one_clock=False)
    found = {
        name: {
            "verdict": verdict.verdict,
            "checked": verdict.checked,
            "violations": verdict.violations,
            "why": verdict.why,
        }
        for name, verdict in report.properties.items()
    }
    return "tocsin check, in this process", found


def _print_verdicts(
    console: Console, properties: dict[str, dict[str, Any]], promised: Collection[str], engine: str
) -> None:
    console.print(f"\nwhich guarantees held ({engine})")
    rows: list[list[str | Cell]] = []
    for name, found in properties.items():
        style = ALARM if name in promised and found["verdict"] == FAIL else {PASS: "green"}.get(found["verdict"], "")
        numbers = (f"{found['checked']:,}", f"{found['violations']:,}")
        kept = "yes" if name in promised else "no"
        rows.append([name, kept, Cell(found["verdict"], style), *numbers, str(found["why"] or "")])
    headings = ("property", "promised", "verdict", "checked", "violations", "why")
    print_table(console, headings, rows, right=("checked", "violations"), prose=1)
