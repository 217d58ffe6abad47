"""What `tocsin reproduce` does when it has found this folder: run, write everything down, and tell."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papers.common.paper import AGREES, DIFFERS, NOT_DECIDED, NOT_REPRODUCED, Claim
from papers.common.reproduction import Reproduced, Reproduction, papers, write_all
from tocsin.cli.progress import Bar
from tocsin.spark.session import SessionOptions, cores_of, open_session
from tocsin.spark.sweep.sweep import Progress

FAILURES_SHOWN = 10


def reproduce(names: Sequence[str], quick: bool, out: Path, options: SessionOptions, as_json: bool) -> int:
    """The exit code: 1 when a cell failed."""
    reproduction = Reproduction(out, papers(names), quick)
    with Bar("reproducing", 1.0) as bar:

        def watch(grid: str, number: int, count: int, progress: Progress) -> None:
            share = (number + progress.done / max(1, progress.cells)) / count
            bar.show(share, f"{grid}: {progress.done} of {progress.cells} cells")

        print("starting Spark", file=sys.stderr)
        with open_session(options) as session:
            found = reproduction.run(session, cores_of(session, options), watch)
    write_all(out, found)
    if as_json:
        print(json.dumps(_answer(found, out)))
    else:
        _print(found, out)
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
    told = ((AGREES, "agree"), (DIFFERS, "differ with a reason"), (NOT_REPRODUCED, "not reproduced"))
    undecided = verdicts.count(NOT_DECIDED)
    print(", ".join(f"{verdicts.count(each)} {words}" for each, words in told) + f", {undecided} not decided")
    for failure in found.failures[:FAILURES_SHOWN]:
        print(f"FAILED: {failure}")
    print(f"{found.cells:,} cells in {found.seconds:.0f} s: {folder / 'index.html'}")
