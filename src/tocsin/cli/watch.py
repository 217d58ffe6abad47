"""`tocsin watch DATA…`: which guarantees a group keeps, while it runs, on Spark; a violation is told within seconds."""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tocsin.cli.verdicts import Expected, add_arguments, print_report, terms_of, write_witnesses
from tocsin.core.errors import InputError, TocsinError
from tocsin.judging import PATIENCE_S
from tocsin.live.storage.site_folders import site_folders
from tocsin.properties import FAIL
from tocsin.properties.report import Report
from tocsin.properties.watch.run_watch import HELD_ROWS_MAX
from tocsin.properties.watch.watch import LATE
from tocsin.spark.session import SessionOptions, parse_settings, start_session
from tocsin.spark.watch.watching import POLL_SECONDS, Told, Watching

EVERY_SECONDS = 1.0

EXAMPLES = """\
examples:
  tocsin watch data                                 all members of a group, until they have stopped, or Ctrl-C
  tocsin watch data --json                          a line for every trigger
  tocsin watch data --stop-on-violation             exit 1 when a property fails, with its witness
  tocsin watch data --once --expect agreed          what is there now, as `tocsin audit` would judge it
  tocsin watch data --checkpoint w                  goes on there when it is started again

The same properties as `tocsin audit`. What is overdue is `late`, and fails only at the end. docs/spark-streams.md.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("paths", nargs="+", metavar="DATA", help="data folders of live groups, running or stopped")
    add_arguments(parser)
    parser.add_argument("--stop-on-violation", action="store_true", help="end with exit code 1 when a property fails")
    parser.add_argument("--once", action="store_true", help="judge what is there now, and end")
    parser.add_argument("--follow", action="store_true", help="go on when all members have stopped")
    parser.add_argument(
        "--every", type=float, default=EVERY_SECONDS, metavar="SECONDS", help="between triggers (default 1)"
    )
    parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="where it keeps what it knows, to go on there")
    parser.add_argument(
        "--hold", type=int, default=HELD_ROWS_MAX, metavar="ROWS", help=f"at the most (default {HELD_ROWS_MAX:,})"
    )
    parser.add_argument("--master", metavar="URL", help="a Spark master (default: this machine)")
    parser.add_argument("--spark", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's")


def run(arguments: argparse.Namespace) -> int:
    expected = Expected(arguments)
    _refuse(arguments)
    terms_of(arguments)  # what is bad is refused before Spark is started
    with tempfile.TemporaryDirectory(prefix="tocsin-watch-") as scratch:
        checkpoint = Path(scratch) if arguments.checkpoint is None else arguments.checkpoint
        session = start_session(SessionOptions(arguments.master, parse_settings(arguments.spark), "tocsin watch"))
        teller = _Teller(arguments.json)
        watching = Watching(
            session, arguments.paths, lambda: terms_of(arguments), teller.tell, checkpoint.absolute(), arguments.hold
        )
        report = _watch(watching, arguments)
        session.stop()
    if arguments.witnesses is not None:
        write_witnesses(report, arguments.witnesses)
    if not arguments.json:
        print_report(report, arguments.expect)
    code = expected.judge("watch", report)
    failed = [name for name, verdict in report.properties.items() if verdict.verdict == FAIL]
    return 1 if arguments.stop_on_violation and failed else code


def _refuse(arguments: argparse.Namespace) -> None:
    if arguments.every <= 0:
        raise InputError(f"--every: expected more than 0 seconds, found {arguments.every:g}")
    if arguments.hold < 1:
        raise InputError(f"--hold: expected at least 1 row, found {arguments.hold}")
    if arguments.master is not None and arguments.master.startswith("sc://"):
        raise InputError("--master: a watch tells what it finds where its driver runs; Connect has that elsewhere")
    for path in arguments.paths:
        if "://" in path:
            raise InputError(f"{path}: expected data folders; a door hands out deliveries only, and no evidence")
        site_folders(Path(path))


def _watch(watching: Watching, arguments: argparse.Namespace) -> Report:
    """Until it is over; the verdicts at the end."""
    query = watching.start(None if arguments.once else arguments.every)
    patience = PATIENCE_S if arguments.patience is None else arguments.patience
    with _asked_to_stop() as stop:
        while query.isActive and not stop:
            time.sleep(POLL_SECONDS)
            if arguments.stop_on_violation and _fails(watching.last):
                break
            if not arguments.once:
                watching.tick(arguments.every)
                if not arguments.follow and watching.is_over(patience):
                    break
    error = query.exception()
    query.stop()
    if error is not None:
        raise TocsinError(_cause(error))
    return watching.finish().report


def _fails(told: Told | None) -> bool:
    return told is not None and any(verdict.verdict == FAIL for verdict in told.report.properties.values())


def _cause(error: Any) -> str:
    """What went wrong, in one line, out of what Spark makes of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line.partition(": ")[2] for line in lines if line.startswith("tocsin.") and ": " in line]
    return ours[-1] if ours else lines[0] if lines else "the query ended"


@contextmanager
def _asked_to_stop() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM end a watch in order: it says how things stand. A second Ctrl-C does not wait."""
    asked: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        if asked:
            signal.signal(number, signal.SIG_DFL)
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Teller:
    """Says each report: as a line of JSON, or to people only what has changed."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._before: dict[str, str] = {}

    def tell(self, told: Told) -> None:
        if self._as_json:
            print(json.dumps(told.line()), flush=True)
            return
        now = {name: verdict.verdict for name, verdict in told.report.properties.items()}
        standing = [f"{name} {verdict}" for name, verdict in now.items() if verdict in (FAIL, LATE)]
        print(
            f"{told.report.rows:,} rows, {told.lag_s:g} s behind: {', '.join(standing) or 'nothing fails'}",
            file=sys.stderr,
        )
        for name, verdict in told.report.properties.items():
            if verdict.verdict == FAIL and self._before.get(name) != FAIL:
                print(f"{name}: {verdict.why}", file=sys.stderr)
        self._before = now
