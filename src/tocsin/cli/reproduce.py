"""`tocsin reproduce [NAMES]`: every table, figure and claim of the five papers, on Spark."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tocsin.cli.progress import Bar
from tocsin.spark.reproduce.paper import AGREES, DIFFERS, Claim
from tocsin.spark.reproduce.reproduction import NAMES, Reproduced, Reproduction, papers, write_all
from tocsin.spark.session import SessionOptions, cores_of, open_session, parse_settings
from tocsin.spark.sweep.sweep import Progress

EXAMPLES = f"""\
names: {", ".join(NAMES)} (default: all)

examples:
  tocsin reproduce --quick                      a first look, about 3 minutes
  tocsin reproduce                              everything, about an hour
  tocsin reproduce schneider --out out/trees    one paper
  tocsin reproduce --master spark://host:7077   on a cluster: the same figures

Results: DIR/index.html (the page), DIR/reproduction.md, DIR/tables (CSV and Parquet), DIR/plots (SVG). A call that
was interrupted goes on where it stopped. Exit code 1 when a cell failed.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("names", nargs="*", metavar="NAME", help="a paper, by its first author")
    parser.add_argument("--quick", action="store_true", help="smaller grids, about 3 minutes on 2 cores")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("out/reproduce"), help="default: out/reproduce")
    parser.add_argument(
        "--master", metavar="URL", help="a Spark master, or sc://… for Spark Connect (default: this machine)"
    )
    parser.add_argument("--spark", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    reproduction = Reproduction(arguments.out, papers(arguments.names), arguments.quick)
    options = SessionOptions(arguments.master, parse_settings(arguments.spark), "tocsin reproduce")
    with Bar("reproducing", 1.0) as bar:

        def watch(experiment: str, number: int, count: int, progress: Progress) -> None:
            share = (number + progress.done / max(1, progress.cells)) / count
            bar.show(share, f"{experiment}: {progress.done} of {progress.cells} cells")

        print("starting Spark", file=sys.stderr)
        with open_session(options) as session:
            found = reproduction.run(session, cores_of(session, options), watch)
    write_all(arguments.out, found)
    if arguments.json:
        print(json.dumps(_answer(found, arguments.out)))
    else:
        _print(found, arguments.out)
    return 1 if found.failures else 0


def _claims(found: Reproduced) -> list[tuple[str, Claim]]:
    return [(paper.name, claim) for paper, sections in found.papers for part in sections for claim in part.claims]


def _answer(found: Reproduced, folder: Path) -> dict[str, Any]:
    return {
        "claims": [{"paper": name, **claim._asdict()} for name, claim in _claims(found)],
        "cells": found.cells,
        "failed": found.failures,
        "seconds": found.seconds,
        "page": str(folder / "index.html"),
    }


def _print(found: Reproduced, folder: Path) -> None:
    for name, claim in _claims(found):
        print(f"{claim.verdict.upper():15}{name}, {claim.where}: {claim.says}")
        print(f"{'':15}measured: {claim.measured}")
        if claim.because:
            print(f"{'':15}because: {claim.because}")
    verdicts = [claim.verdict for _, claim in _claims(found)]
    other = len(verdicts) - verdicts.count(AGREES) - verdicts.count(DIFFERS)
    print(f"{verdicts.count(AGREES)} agree, {verdicts.count(DIFFERS)} differ with a reason, {other} not reproduced")
    for failure in found.failures[:10]:
        print(f"FAILED: {failure}")
    print(f"{found.cells:,} cells in {found.seconds:.0f} s: {folder / 'index.html'}")
