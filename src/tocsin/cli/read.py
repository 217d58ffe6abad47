"""`tocsin read URL`: what a group delivers, from a position on, as JSON lines."""

import argparse
import json
import sys
from typing import Any, Literal

from tocsin.cli.door_options import add_options, client_of
from tocsin.cli.event_lines import payload_text
from tocsin.core.errors import InputError

EXAMPLES = """\
examples:
  tocsin read grpc://127.0.0.1:7501         everything that is kept
  tocsin read URL --after 41 --follow       what is behind position 41, and what is still to come
  tocsin read URL --consumer billing --follow   from where this consumer stopped, at whichever door; a line counts as
                                            acknowledged when it was written
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_options(parser)
    parser.add_argument("--after", default=None, metavar="N", help="a position, start (default) or now")
    parser.add_argument("--limit", type=int, metavar="ROWS", help="stop after so many")
    parser.add_argument("--follow", action="store_true", help="go on with what is still to come")
    parser.add_argument("--consumer", metavar="NAME", help="begin after what this consumer has acknowledged")


def run(arguments: argparse.Namespace) -> int:
    if arguments.consumer is not None and arguments.after is not None:
        raise InputError("expected --consumer or --after, found both")
    if arguments.limit is not None and arguments.limit < 0:
        raise InputError(f"--limit: expected a number of rows, found {arguments.limit}")
    with client_of(arguments) as client:
        batches = client.read(
            arguments.group, _after(arguments.after), arguments.limit, arguments.follow, arguments.consumer
        )
        for batch in batches:
            rows = batch.to_pylist()
            sys.stdout.write("".join(_line(row) for row in rows))
            sys.stdout.flush()
            if arguments.consumer is not None:
                client.ack(arguments.consumer, rows[-1]["position"], arguments.group)
    return 0


def _after(text: str | None) -> int | Literal["start", "now"]:
    if text is None or text == "start":
        return "start"
    if text == "now":
        return "now"
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--after: expected a position, start or now, found `{text}`") from None


def _line(row: dict[str, Any]) -> str:
    """A streamed row; its payload as `tocsin join` writes it."""
    return json.dumps(row | {"payload": payload_text(row["payload"])}, ensure_ascii=False) + "\n"
