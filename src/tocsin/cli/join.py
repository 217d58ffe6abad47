"""`tocsin join GROUP.toml --as NAME`: be a member: lines in, JSON lines out."""

import argparse
import asyncio
import gc
import json
import logging
import math
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tocsin.cli.event_lines import event_lines
from tocsin.cli.stdout_thread import StdoutThread
from tocsin.core.errors import InputError
from tocsin.live.errors import NotPrimary
from tocsin.live.frame_format import MESSAGE_BYTES_MAX
from tocsin.live.group_config import Group
from tocsin.live.joining import join
from tocsin.live.member import LEAVE_SECONDS_MAX, Member
from tocsin.live.receipts import Receipt

EXAMPLES = """\
examples:
  tocsin join orders.toml --as a                       lines of stdin are broadcast, deliveries come out as JSON lines
  seq 1000 | tocsin join orders.toml --as b --exit-when-done
  tocsin join orders.toml --as c --inject loss=0.05    with faults, to see what happens
  tocsin join orders.toml --as c --consumer billing    begins after the last line that was written for `billing`
  kill -TERM …                                         leaves the group in order; so does Ctrl-C, a second one at once
"""
STDIN = 0
READ_BYTES = 1 << 20
TOLD_AFTER_SECONDS = 0.5  # of leaving: most members have left by then
ACKS_MAX = 64  # acknowledgements on their way to the disk, which share its syncs
READS_AHEAD = 4  # of stdin, before the group has taken what was read


class JsonLines(logging.Formatter):
    """Logs that programs can read, too."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self._site = site

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": self.formatTime(record), "level": record.levelname.lower(), "site": self._site}
        line["message"] = record.getMessage()
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("group", type=Path, metavar="GROUP.toml")
    parser.add_argument("--as", dest="site", required=True, metavar="NAME", help="which site of the group this is")
    parser.add_argument(
        "--binary", action="store_true", help="stdin holds messages: 4 bytes length (big-endian), then the content"
    )
    parser.add_argument("--to", metavar="GROUP", help="the group to broadcast to (default: the first)")
    parser.add_argument(
        "--reach",
        type=float,
        metavar="P",
        help="broadcast with this probability of reaching everybody (reliability_tree); refused if it costs too much",
    )
    parser.add_argument("--exit-when-done", action="store_true", help="leave when everything sent is delivered")
    parser.add_argument(
        "--inject",
        default="",
        metavar="FAULTS",
        help="loss=0.05,delay_us=0-2000,duplicate=0.01,cut=b+c",
    )
    parser.add_argument(
        "--consumer",
        metavar="NAME",
        help="begin after the last line that was written for this consumer; what is written counts as acknowledged",
    )
    parser.add_argument(
        "--slow", choices=("block", "spill", "leave"), default="block", help="what to do when stdout's reader is slow"
    )
    parser.add_argument(
        "--log", default="warning", choices=("debug", "info", "warning", "error"), help="what goes to stderr"
    )


def run(arguments: argparse.Namespace) -> int:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(arguments.site))
    logging.basicConfig(handlers=[handler], level=arguments.log.upper())
    make: Callable[[], asyncio.AbstractEventLoop]
    try:
        import uvloop

        make = uvloop.new_event_loop
    except ImportError:
        make = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=make) as runner:
        return runner.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    stops = _Stops(asyncio.get_running_loop())
    member = join(
        arguments.group, arguments.site, consumer=arguments.consumer, inject=arguments.inject, slow=arguments.slow
    )
    to, reach = arguments.to, arguments.reach
    if to is not None:
        member.group.group_id(to)
    if reach is not None:
        _check_reach(member.group, reach)
    await member
    gc.collect()
    gc.freeze()  # modules and the group are here to stay: collections that pass over them again cost milliseconds each
    writing = asyncio.create_task(_write(member, arguments.consumer is not None))
    reading = asyncio.create_task(_read(member, to, reach, arguments.binary, arguments.exit_when_done))
    stopping = asyncio.create_task(stops.first.wait())
    try:
        await asyncio.wait([writing, reading, stopping], return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and not reading.exception() and not arguments.exit_when_done:
            await asyncio.wait([writing, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        reading.cancel()
        stopping.cancel()
        in_order = await _leave(member, writing, stops)
        await asyncio.wait([reading])
    if not in_order:
        writing.cancel()
        return 130
    if not reading.cancelled():
        reading.result()
    writing.result()
    return 0


class _Stops:
    """SIGTERM and Ctrl-C: the first asks to leave in order, the second not to wait for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        (self.second if self.first.is_set() else self.first).set()


async def _leave(member: Member, writing: "asyncio.Task[None]", stops: _Stops) -> bool:
    """Leave in order, unless a second signal comes; whether it was in order. Who sent the first is told of a wait."""
    leaving = asyncio.create_task(_leave_in_order(member, writing))
    hurry = asyncio.create_task(stops.second.wait())
    await asyncio.wait([leaving, hurry], timeout=TOLD_AFTER_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    if stops.first.is_set() and not leaving.done() and not hurry.done():
        print(
            f"tocsin join: leaving: what was sent is ordered first, at most {LEAVE_SECONDS_MAX:g} s; "
            "Ctrl-C again stops at once",
            file=sys.stderr,
        )
    await asyncio.wait([leaving, hurry], return_when=asyncio.FIRST_COMPLETED)
    hurry.cancel()
    if leaving.done():
        leaving.result()
        if not writing.done():
            print(
                f"tocsin join: nobody took what was delivered from stdout within {LEAVE_SECONDS_MAX:g} s; the journal "
                "has it",
                file=sys.stderr,
            )
        return writing.done()
    await member.close()
    leaving.cancel()
    print("tocsin join: stopped at once; what was not yet ordered may be lost", file=sys.stderr)
    return False


async def _leave_in_order(member: Member, writing: "asyncio.Task[None]") -> None:
    await member.leave()
    await asyncio.wait([writing], timeout=LEAVE_SECONDS_MAX)  # everything that was delivered is written


def _check_reach(group: Group, reach: float) -> None:
    if not group.protocol.plans_reach:
        raise InputError(f"--reach: {group.protocol.name} does not plan it; see reliability_tree")
    if not 0.0 < reach < 1.0:
        raise InputError(f"--reach: expected a probability in (0, 1), found {reach:g}")


async def _write(member: Member, acknowledges: bool) -> None:
    """Deliveries to stdout, in order; a batch is one write. Acknowledgements do not hold up what follows."""
    stdout = StdoutThread(asyncio.get_running_loop())
    acks: set[asyncio.Task[None]] = set()
    async for event in member.batches():
        lines = event_lines(event)
        if lines:
            await stdout.write("\n".join(lines) + "\n")
        if acknowledges:
            if len(acks) >= ACKS_MAX:
                done, acks = await asyncio.wait(acks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            acks.add(asyncio.create_task(member.ack(event)))
    if acks:
        await asyncio.gather(*acks)


async def _read(member: Member, to: str | None, reach: float | None, binary: bool, until_ordered: bool) -> None:
    """Stdin to broadcasts; many lines that are there at once are broadcast together, those with a reach one by one. Cut
    off, it waits."""
    last: Receipt | None = None
    async for messages in _messages(binary):
        if reach is not None:
            for message in messages:
                last = await member.broadcast(message, to, reach=reach)
            continue
        while True:
            try:
                last = await member.broadcast_many(messages, to)
                break
            except NotPrimary:
                await member.ready(math.inf)
    if until_ordered and last is not None:
        await last.ordered()


async def _messages(binary: bool) -> AsyncIterator[list[bytes]]:
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    permits = threading.Semaphore(READS_AHEAD)
    loop = asyncio.get_running_loop()
    threading.Thread(target=_pump, args=(loop, queue, permits), daemon=True, name="stdin").start()
    rest = b""
    while data := await queue.get():
        permits.release()
        messages, rest = _split_binary(rest + data) if binary else _split_lines(rest + data)
        if messages:
            yield messages
    if rest and binary:
        raise InputError(f"stdin: expected whole messages, found {len(rest)} bytes of one that is cut off")
    if rest:
        yield [rest]


def _pump(loop: asyncio.AbstractEventLoop, queue: "asyncio.Queue[bytes]", permits: threading.Semaphore) -> None:
    """Reads stdin in a thread that nobody waits for: a terminal, a pipe and a file all work, and none can hold us
    up."""
    while True:
        permits.acquire()
        try:
            data = os.read(STDIN, READ_BYTES)
        except OSError:
            data = b""
        try:
            loop.call_soon_threadsafe(queue.put_nowait, data)
        except RuntimeError:
            return  # the loop is closed: the member has left
        if not data:
            return


def _split_lines(data: bytes) -> tuple[list[bytes], bytes]:
    *lines, rest = data.split(b"\n")
    return lines, rest


def _split_binary(data: bytes) -> tuple[list[bytes], bytes]:
    messages: list[bytes] = []
    at = 0
    while at + 4 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if length > MESSAGE_BYTES_MAX:
            raise InputError(f"stdin: expected a length of at most {MESSAGE_BYTES_MAX}, found {length}")
        if at + 4 + length > len(data):
            break
        messages.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return messages, data[at:]
