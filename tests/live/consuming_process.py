"""An application: it sends without end, and handles what its member hears, one event after the other.

    consuming_process GROUP.toml NAME db|ack

`db`: each message goes into SQLite with its position, in one transaction; the next life joins after that position.
`ack`: each message becomes a line of NAME.handled, then it is acknowledged, then that is a line, too (`ack POSITION`).
What was ordered of what it sent becomes a line of NAME.ordered. Each message has a producer and a number. A life begins
with the number after the last that was ordered, which an earlier life may have sent; besides, all processes send the
messages of the producer `clock`, at about the same time. It sends no more after a line on stdin, and leaves at SIGTERM.
"""

import asyncio
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import TextIO

import tocsin

CLOCK_PER_S = 20


async def send(member: tocsin.Member, ordered: TextIO, ending: asyncio.Event) -> None:
    await member.ready(60)
    number = 1 + max((int(line[1]) for line in whole_lines(Path(ordered.name)) if line[0] == member.name), default=-1)
    while not ending.is_set():
        for producer, its_number in ((member.name, number), ("clock", int(time.time() * CLOCK_PER_S))):
            text = f"{producer} {its_number}"
            while not ending.is_set():
                try:
                    await (await member.broadcast(text.encode(), producer=producer, number=its_number)).ordered()
                except tocsin.NotPrimary:
                    await asyncio.sleep(0.01)
                    continue
                except (tocsin.Closed, tocsin.Unknown):
                    return  # the member has left
                print(text, file=ordered, flush=True)
                break
        number += 1
        await asyncio.sleep(0.002)


def leave_at_sigterm(member: tocsin.Member, ending: asyncio.Event) -> None:
    tasks: list[asyncio.Task[None]] = []

    def on_sigterm() -> None:
        ending.set()
        tasks.append(asyncio.create_task(member.leave()))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, on_sigterm)


def whole_lines(path: Path) -> list[list[str]]:
    """The last line may have been cut off by a kill."""
    return [line.split() for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


async def keep(path: Path, name: str, folder: Path, ending: asyncio.Event) -> None:
    database = sqlite3.connect(folder / f"{name}.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = OFF")  # processes are killed here, not machines
    database.execute("CREATE TABLE IF NOT EXISTS handled (position INTEGER, payload TEXT)")
    last = database.execute("SELECT coalesce(max(position), -1) FROM handled").fetchone()[0]
    with open(folder / f"{name}.ordered", "a") as ordered:
        async with tocsin.join(path, name, after=last) as member:
            leave_at_sigterm(member, ending)
            sending = asyncio.create_task(send(member, ordered, ending))
            async for event in member:
                if isinstance(event, tocsin.Delivery):
                    database.execute("BEGIN")
                    database.execute("INSERT INTO handled VALUES (?, ?)", (event.position, event.payload.decode()))
                    database.execute("COMMIT")
            sending.cancel()


async def acknowledge(path: Path, name: str, folder: Path, ending: asyncio.Event) -> None:
    with open(folder / f"{name}.handled", "a") as handled, open(folder / f"{name}.ordered", "a") as ordered:
        async with tocsin.join(path, name, consumer="till") as member:
            leave_at_sigterm(member, ending)
            sending = asyncio.create_task(send(member, ordered, ending))
            async for event in member:
                if isinstance(event, tocsin.Delivery):
                    print(event.position, event.payload.decode(), file=handled, flush=True)
                await member.ack(event)
                if isinstance(event, tocsin.Delivery):
                    print("ack", event.position, file=handled, flush=True)
            sending.cancel()


async def main(path: str, name: str, kind: str) -> None:
    ending = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ending.set)
    await {"db": keep, "ack": acknowledge}[kind](Path(path), name, Path(path).parent, ending)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
