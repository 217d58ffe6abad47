"""`tocsin VERB …`: finds the verb's file, runs it, and turns errors into one line and an exit code.

A verb is a module in this folder with `configure(parser)` and `run(arguments) -> exit code`. Only the verb that was
asked for is imported, so that `tocsin --help` is quick and nothing needs Spark but what uses it.
"""

import argparse
import errno
import importlib
import os
import sys

from tocsin.cli.encoding import make_output_safe
from tocsin.cli.interrupts import Interrupts
from tocsin.cli.parser import HelpLines, OneLineParser
from tocsin.core.errors import TocsinError

VERBS = {  # purpose: verb: what it does
    "see it": {
        "showcase": "five members, loss, a kill -9, a partition; then the proof: about a minute",
    },
    "run a group": {
        "init": "make a group's file and key, and say what to type next",
        "keygen": "make or change the key of a group",
        "join": "be a member of a live group: lines in, deliveries out",
        "status": "ask a running member how it is; change its injected faults or keys",
        "groups": "who is in which group; change that while the members run",
        "members": "who votes; add, remove and move members while the group runs",
        "doctor": "check a group's file, ports, keys, network path and disk, and name the cure",
        "journal": "print a member's journal, or turn journals into a trace",
        "backup": "a group's order and state into one file",
        "restore": "a new group with the order and the state of a backup",
        "scrub": "read everything that members have on disk, and name what is damaged",
    },
    "come in by a door": {
        "send": "publish lines of stdin through the doors of a group, as no member of it",
        "read": "print what a group delivers, from a position on, read through its doors",
    },
    "choose a protocol": {
        "protocols": "list the protocols, their guarantees, assumptions and options",
        "simulate": "run a scenario in the simulator and print what happened",
        "sweep": "simulate a grid of scenarios on Spark",
        "plan": "compute trees, priority lists and forests from a topology or groups",
        "explore": "visit every order of events of a small scenario",
        "swarm": "run many random scenarios inside a protocol's assumptions",
        "reproduce": "every table, figure and claim of the five papers, on Spark",
    },
    "prove what was delivered": {
        "check": "check the properties of a trace, in this process",
        "audit": "prove from delivery traces which guarantees held, on Spark",
        "watch": "the same of a group that is running, while it runs",
    },
}

ON_SPARK = {"sweep", "reproduce", "audit", "watch"}
IN_ORDER = {"showcase", "keygen", "join", "journal", "simulate", "swarm", *ON_SPARK}  # at Ctrl-C

EXAMPLES = """\
first steps:
  tocsin showcase                                   a group under fire, and the proof
  tocsin simulate examples/showcase.toml --trace t  five sites, loss, a crash, a partition; keep the trace
  tocsin check t                                    which guarantees held in it, and why not
  tocsin protocols counter_token                    what a protocol promises, and its options

a group of three, on this machine:
  tocsin init orders                                once: its file and its key
  tocsin join orders/group.toml --as a              in one terminal; --as b, --as c in two others:
                                                    what is typed in one comes out of all, in one order

tocsin VERB --help has the options of a verb, with examples.
exit codes: 0 nothing wrong was found, 1 something asked for did not hold, 2 bad input or call,
3 the machine lacks something (the line names the cure), 130 interrupted
"""


def answer(words: list[str], verb: str | None, interrupts: Interrupts) -> int:
    """What is asked for, with its output handed over; a reader that has enough, or no room for it, is told apart."""
    make_output_safe()
    try:
        code = _answer(words, verb, interrupts)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has enough: not an error of ours
        discard_output()
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            if error.filename is None:
                raise
            print(f"{interrupts.said}: {os.fsdecode(error.filename)!r}: {error.strerror}", file=sys.stderr)
            return 2
        discard_output()
        print(f"{interrupts.said}: there is no room left for what is written; free some", file=sys.stderr)
        return 3


def _answer(words: list[str], verb: str | None, interrupts: Interrupts) -> int:
    parser = _parser(verb)
    try:
        parsed = parser.parse_args(words)
    except SystemExit as end:  # --help, or a bad call
        return int(end.code or 0)
    if parsed.version:
        print(_version())
        return 0
    if parsed.verb is None:
        parser.print_help()
        return 2
    interrupts.at_once = interrupts.at_once and parsed.verb not in IN_ORDER
    interrupts.is_on_spark = parsed.verb in ON_SPARK
    return _run(parsed)


def _parser(asked: str | None) -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="tocsin",
        usage="tocsin VERB …",
        description=_description(),
        epilog=EXAMPLES,
        formatter_class=HelpLines,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version, compiled or not, and stop")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", help=argparse.SUPPRESS, prog="tocsin")
    for verb, does in ((verb, does) for some in VERBS.values() for verb, does in some.items()):
        sub = verbs.add_parser(
            verb,
            description=does[0].upper() + does[1:] + ".",
            formatter_class=HelpLines,
            allow_abbrev=False,
        )
        if verb == asked:
            importlib.import_module(f"tocsin.cli.{verb}").configure(sub)
    return parser


def _description() -> str:
    lines = ["Reliable, ordered broadcast for a group of processes: run it, choose it, prove it."]
    for purpose, verbs in VERBS.items():
        lines += ["", f"{purpose}:"]
        lines += [f"  {verb:11}{does}" for verb, does in verbs.items()]
    return "\n".join(lines)


def _version() -> str:
    from tocsin import __version__
    from tocsin._sources import WHY_INTERPRETED

    how = "compiled" if WHY_INTERPRETED is None else f"interpreted: {WHY_INTERPRETED}"
    return f"tocsin {__version__} ({how})"


def _run(parsed: argparse.Namespace) -> int:
    try:
        code: int = importlib.import_module(f"tocsin.cli.{parsed.verb}").run(parsed)
        return code
    except TocsinError as error:
        print(f"tocsin {parsed.verb}: {error}", file=sys.stderr)
        return error.exit_code


def discard_output() -> None:
    """Let go of what is still to be written: at the end Python would wait for a reader that may never read it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
