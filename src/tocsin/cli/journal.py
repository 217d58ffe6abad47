"""`tocsin journal DIR`: print a member's journal, or write what members noted as one trace."""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tocsin.cli.event_lines import consumer_line, delivery_line, view_line
from tocsin.core.errors import InputError
from tocsin.live.operations.status_server import ask
from tocsin.live.storage.consumer_places import read_consumer_places
from tocsin.live.storage.cursors import forget
from tocsin.live.storage.identity import is_running
from tocsin.live.storage.journal import journal_batches, write_trace
from tocsin.live.storage.journal_follow import followed_batches
from tocsin.live.storage.site_folders import site_folders

EXAMPLES = """\
examples:
  tocsin journal data/a                        what a delivered, as `tocsin join` prints it
  tocsin journal data/a --follow               and what it delivers from now on
  tocsin journal data/a --consumers            how far its consumers have come
  tocsin journal data/a --forget billing       this one does not come back: nothing is kept for it
  tocsin journal data --trace run.parquet      what all members below data noted, as one trace, without payloads
"""

LOOK_SECONDS = 0.1  # between two looks whether something was added

PRINTED = [  # columns
    "time_us",
    "event",
    "group",
    "origin",
    "seqno",
    "size",
    "position",
    "view",
    "members",
    "primary",
    "payload",
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("paths", nargs="+", type=Path, metavar="DIR", help="members' data folders, or a folder of them")
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="OUT.parquet",
        help="write a trace in place of printing (in a folder that is there)",
    )
    parser.add_argument("--follow", action="store_true", help="go on printing what is added, until Ctrl-C")
    parser.add_argument("--consumers", action="store_true", help="print how far its consumers have come instead")
    parser.add_argument("--forget", metavar="NAME", help="forget a consumer: it holds nothing back any more")
    parser.add_argument("--json", action="store_true", help="with --trace or --consumers: print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    if arguments.trace is not None:
        rows = write_trace(arguments.paths, arguments.trace)
        if arguments.json:
            print(json.dumps({"trace": str(arguments.trace), "rows": rows}))
        else:
            print(f"{arguments.trace}: {rows} rows", file=sys.stderr)
        return 0
    folders = [folder for path in arguments.paths for folder in site_folders(path)]
    if len(folders) != 1:
        raise InputError(f"{arguments.paths[0]}: expected one member's folder to print, found {len(folders)}; name one")
    if arguments.forget is not None:
        _forget(folders[0], arguments.forget)
    if arguments.consumers:
        _print_consumers(folders[0], arguments.json)
    if arguments.forget is not None or arguments.consumers:
        return 0
    batches = followed_batches(folders[0], _pause) if arguments.follow else journal_batches(folders[0])
    for line in _lines(batches):
        sys.stdout.write(line + "\n")
    return 0


def _pause() -> None:
    sys.stdout.flush()
    time.sleep(LOOK_SECONDS)


def _forget(folder: Path, name: str) -> None:
    if is_running(folder) and ask(folder, {"ask": "status"})["consumers"].get(name, {}).get("state") == "running":
        raise InputError(f"{folder}: the member runs with consumer `{name}`; stop it first")
    forget(folder, name)


def _print_consumers(folder: Path, as_json: bool) -> None:
    found = read_consumer_places(folder)
    if as_json:
        print(json.dumps({"consumers": found}))
        return
    for name, told in found.items():
        print(consumer_line(name, told))
    if not found:
        print(f"{folder}: no consumer", file=sys.stderr)


def _lines(batches: Iterator[Any]) -> Iterator[str]:
    for batch in batches:
        for row in batch.select(PRINTED).to_pylist():
            line = _line(row)
            if line is not None:
                yield line


def _line(row: dict[str, Any]) -> str | None:
    if row["event"] == "deliver":
        return delivery_line(row["position"], row["group"], row["origin"], row["seqno"], row["time_us"], row["payload"])
    if row["event"] == "view":
        return view_line(row["view"], tuple(row["members"]), row["primary"])
    if row["event"] == "rollback":
        return json.dumps({"rollback": [row["group"], row["origin"], row["seqno"]], "position": row["position"]})
    if row["event"] == "missed":
        first = row["position"] if row["origin"] is None else row["seqno"]
        return json.dumps({"missed": [row["group"], row["origin"], first, row["size"]]})
    return None
