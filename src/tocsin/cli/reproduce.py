"""`tocsin reproduce [NAMES]`: every table, figure and claim of the five papers, on Spark.

The papers' experiments are in the folder `papers` of the source tree and are not installed with the package. This file
finds that folder and hands over to it.
"""

import argparse
import importlib
import sys
from pathlib import Path

from tocsin.core.errors import EnvironmentMissing
from tocsin.spark.session import SessionOptions, parse_settings

COMMAND = Path("papers/common/command.py")

EXAMPLES = """\
names: schneider, kogan, chang_hwang, spauster, garbinato (default: all)

examples:
  tocsin reproduce --quick                      a first look, about 3 minutes
  tocsin reproduce                              everything, about an hour
  tocsin reproduce schneider --out out/trees    one paper
  tocsin reproduce --master spark://host:7077   on a cluster: the same figures

Needs the source tree, whose folder `papers` has the experiments. Results: DIR/index.html (the page),
DIR/reproduction.md, DIR/tables (CSV and Parquet), DIR/plots (SVG). A call that was interrupted goes on where it
stopped. Exit code 1 when a cell failed.
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
    sys.path.insert(0, str(_source_tree()))
    command = importlib.import_module(".".join(COMMAND.with_suffix("").parts))
    options = SessionOptions(arguments.master, parse_settings(arguments.spark), "tocsin reproduce")
    code: int = command.reproduce(arguments.names, arguments.quick, arguments.out, options, arguments.json)
    return code


def _source_tree() -> Path:
    """The source tree that this package runs from, or the one that we are in."""
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / COMMAND).is_file():
            return folder
    raise EnvironmentMissing(
        "the papers' experiments are not installed with the package: "
        "call `tocsin reproduce` in a checkout of Tocsin's sources, which has them in its folder `papers`"
    )
