"""`tocsin send URL`: publish lines of stdin through a door; each line is a message."""

import argparse
import sys
from collections.abc import Iterator
from typing import BinaryIO

from tocsin.cli.door_options import add_options, client_of
from tocsin.core.errors import InputError

EXAMPLES = """\
examples:
  seq 1000 | tocsin send grpc://127.0.0.1:7501     lines of stdin; prints the position of the last at the end
  tocsin send URL --producer till-3 --number 17    line i has number 17 + i: sent again, it is delivered once
  tocsin send grpc+tls://h1:7501,grpc+tls://h2:7501   goes on at the second door when the first fails
"""
LINES_MAX = 8192  # that are published together


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_options(parser)
    parser.add_argument("--producer", metavar="NAME", help="who numbers these messages; needs --number")
    parser.add_argument("--number", type=int, metavar="N", help="of the first line; the others count on")
    parser.add_argument("--until", choices=("ordered", "durable"), default="ordered", help="when a line counts as sent")
    parser.add_argument("--positions", action="store_true", help="print the position of every line, one a line")


def run(arguments: argparse.Namespace) -> int:
    if (arguments.producer is None) != (arguments.number is None):
        raise InputError("expected --producer and --number, both or neither")
    number, sent, last = arguments.number, 0, -1
    with client_of(arguments) as client:
        for lines in _lines(sys.stdin.buffer):
            positions = client.publish(lines, arguments.group, arguments.producer, number, arguments.until)
            number = None if number is None else number + len(lines)
            sent, last = sent + len(lines), positions[-1]
            if arguments.positions:
                print("\n".join(map(str, positions)), flush=True)
    if not arguments.positions and sent:
        print(last)
    print(f"tocsin send: {sent} sent", file=sys.stderr)
    return 0


def _lines(stdin: BinaryIO) -> Iterator[list[bytes]]:
    """Lines, as many together as are there at once."""
    rest = b""
    while chunk := stdin.read1(1 << 20):  # type: ignore[attr-defined]
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        for first in range(0, len(lines), LINES_MAX):
            yield lines[first : first + LINES_MAX]
    if rest:
        yield [rest]
