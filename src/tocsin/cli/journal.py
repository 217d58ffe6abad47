"""`tocsin journal DIR`: print a member's journal, or write what members noted as one trace."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tocsin.cli.event_lines import delivery_line, view_line
from tocsin.core.errors import InputError
from tocsin.live.storage.journal import journal_batches, write_trace
from tocsin.live.storage.site_folders import site_folders

EXAMPLES = """\
examples:
  tocsin journal data/a                        what a delivered, as `tocsin join` prints it
  tocsin journal data --trace run.parquet      what all members below data noted, as one trace, without payloads
"""

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
    parser.add_argument("--json", action="store_true", help="with --trace: print one JSON object")


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
    for line in _lines(folders[0]):
        sys.stdout.write(line + "\n")
    return 0


def _lines(folder: Path) -> Iterator[str]:
    for batch in journal_batches(folder):
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
