"""`tocsin check PATH…`: which guarantees held in a trace or a live group; the smallest evidence where not."""

import argparse
import json

from tocsin.cli.progress import Bar
from tocsin.cli.verdicts import Expected, add_arguments, print_report, terms_of, write_witnesses
from tocsin.live.storage.data_folders import opened
from tocsin.properties import check_by

EXAMPLES = """\
examples:
  tocsin check out                                  every property, by all traces below out
  tocsin check data                                 what the members of a live group noted, running or not
  tocsin check out --expect agreed                  exit 1 unless that level holds
  tocsin check data --expect safe --patience 2      of running members, what is younger than 2 s is not owed yet
  tocsin check data --calm-since 2026-03-01T12:00   has the group settled since then?
  tocsin check a.parquet b.parquet --groups g.toml  with the members of the groups
  tocsin check out --json | jq .properties.fifo

docs/guarantees.md says what each property means and how it is decided.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("paths", nargs="+", metavar="PATH", help="traces, journals, data folders of live groups")
    add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    expected = Expected(arguments)  # a bad word is refused before the work, not after it
    terms = terms_of(arguments)
    with opened(arguments.paths) as files, Bar("checking", 1.0) as bar:
        report = check_by(
            files,
            terms,
            watch=lambda done, known: bar.show(done / max(1, known), f"{done} of {known} steps"),
        )
    if arguments.witnesses is not None:
        write_witnesses(report, arguments.witnesses)
    if arguments.json:
        print(json.dumps(report.to_json_object()))
    else:
        print_report(report, arguments.expect)
    return expected.judge("check", report)
