"""`tocsin VERB …`: finds the verb's file, runs it, and turns errors into one line and an exit code.

A verb is a module in this folder with `HELP` (one line), `configure(parser)` and `run(arguments) -> exit
code`. Only the verb that was asked for is imported, so that `tocsin --help` is quick and nothing needs
Spark but what uses it.
"""

import argparse
import importlib
import os
import sys

from tocsin.cli.parser import OneLineParser
from tocsin.core.errors import TocsinError

VERBS = {
    "showcase": "five members, loss, a kill -9, a partition; then the proof: about a minute",
    "join": "be a member of a live group: lines in, deliveries out",
    "status": "ask a running member how it is; change its injected faults or keys",
    "journal": "print a member's journal, or turn journals into a trace",
    "keygen": "make or change the key of a group",
    "doctor": "check a group's file, ports, keys, network path and disk, and name the cure",
    "simulate": "run a scenario in the simulator and print what happened",
    "check": "check the properties of a trace, in plain Python",
    "explore": "visit every order of events of a small scenario",
    "swarm": "run many random scenarios inside a protocol's assumptions",
    "plan": "compute trees, priority lists and forests from a topology or groups",
    "protocols": "list the protocols, their guarantees, assumptions and options",
    "sweep": "simulate a grid of scenarios on Spark",
    "reproduce": "every table, figure and claim of the five papers, on Spark",
    "audit": "prove from delivery traces which guarantees held, on Spark",
}

EXAMPLES = """\
examples:
  tocsin keygen orders.key                          a key for the group of examples/orders.toml
  tocsin join orders.toml --as a                    be a member: lines in, deliveries out
  tocsin simulate examples/showcase.toml            five sites, loss, a crash, a partition
  tocsin simulate examples/showcase.toml --trace t  … and keep the trace
  tocsin check t                                    which guarantees held in it, and why not
  tocsin swarm ack_all --seeds 0..100               a hundred random scenarios
  tocsin protocols ack_all                          what a protocol promises, and its options
"""


def main(arguments: list[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    parser = OneLineParser(
        prog="tocsin",
        description="Reliable, ordered broadcast for a group of processes: run it, choose it, prove it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    asked = next((word for word in words if not word.startswith("-")), None)
    for verb, help_line in VERBS.items():
        sub = verbs.add_parser(
            verb,
            help=help_line,
            description=help_line[0].upper() + help_line[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if verb == asked:
            importlib.import_module(f"tocsin.cli.{verb}").configure(sub)
    parsed = parser.parse_args(words)
    if parsed.version:
        from tocsin import __version__

        print(__version__)
        return 0
    if parsed.verb is None:
        parser.print_help()
        return 2
    return _run(parsed)


def _run(parsed: argparse.Namespace) -> int:
    module = importlib.import_module(f"tocsin.cli.{parsed.verb}")
    try:
        code: int = module.run(parsed)
        sys.stdout.flush()
        return code
    except TocsinError as error:
        print(f"tocsin {parsed.verb}: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output has enough: not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"tocsin {parsed.verb}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
