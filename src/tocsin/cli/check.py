"""`tocsin check PATH…`: which guarantees held in a trace or a live group; the smallest evidence where not."""

import argparse
import json

from tocsin.cli.progress import Bar
from tocsin.cli.verdicts import add_arguments, judge, print_report, write_witnesses
from tocsin.core.files import read_document
from tocsin.core.topology_config import groups_from_document
from tocsin.live.storage.data_folders import opened
from tocsin.properties import check, level_properties

EXAMPLES = """\
examples:
  tocsin check out                                  every property, by all traces below out
  tocsin check data                                 what the members of a live group noted, running or not
  tocsin check out --expect agreed                  exit 1 if a property of that level fails
  tocsin check a.parquet b.parquet --groups g.toml  with the members of the groups
  tocsin check out --json | jq .properties.fifo

docs/guarantees.md says what each property means and how it is decided.
"""


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
    with opened(arguments.paths) as files, Bar("checking", 1.0) as bar:
        report = check(
            files,
            groups,
            watch=lambda done, known: bar.show(done / max(1, known), f"{done} of {known} steps"),
        )
    if arguments.witnesses is not None:
        write_witnesses(report, arguments.witnesses)
    if arguments.json:
        print(json.dumps(report.to_json_object()))
    else:
        print_report(report, arguments.expect)
    if arguments.expect is None:
        return 0
    return judge("check", report, arguments.expect)
