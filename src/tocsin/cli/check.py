"""`tocsin check PATH…`: which guarantees held in a trace or a live group; the smallest evidence where not."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from tocsin.cli.progress import Bar
from tocsin.cli.verdicts import add_arguments, judge, print_report, write_witnesses
from tocsin.core.files import read_document
from tocsin.core.topology_config import groups_from_document
from tocsin.live.storage.data_folders import opened
from tocsin.properties import check, level_properties
from tocsin.traces.reader import count_rows, has_one_clock, read_rows
from tocsin.traces.rows import Row

EXAMPLES = """\
examples:
  tocsin check out                                  every property, by all traces below out
  tocsin check data                                 what the members of a live group noted, running or not
  tocsin check out --expect agreed                  exit 1 if a property of that level fails
  tocsin check a.parquet b.parquet --groups g.toml  with the members of the groups
  tocsin check out --json | jq .properties.fifo

docs/guarantees.md says what each property means and how it is decided.
"""

SHOW_EVERY_ROWS = 65_536  # between two looks at the progress bar


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("paths", nargs="+", metavar="PATH", help="traces, journals, data folders of live groups")
    add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.expect is not None:
        level_properties(arguments.expect)  # a bad word is refused before the work, not after it
    groups = None
    if arguments.groups is not None:
        groups = groups_from_document(read_document(arguments.groups), str(arguments.groups))
    with opened(arguments.paths) as files:
        paths = [Path(file) for file in files]
        report = check(_rows_with_bar(paths), groups, one_clock=has_one_clock(paths))
    if arguments.witnesses is not None:
        write_witnesses(report, arguments.witnesses)
    if arguments.json:
        print(json.dumps(report.to_json_object()))
    else:
        print_report(report, arguments.expect)
    if arguments.expect is None:
        return 0
    return judge("check", report, arguments.expect)


def _rows_with_bar(paths: list[Path]) -> Iterator[Row]:
    with Bar("reading", max(1, count_rows(paths))) as bar:
        for number, row in enumerate(read_rows(paths)):
            if number % SHOW_EVERY_ROWS == 0:
                bar.show(number, f"{number:,} rows")
            yield row
