"""An application: it sends without end, and handles what its member hears, one event after the other.

    consuming_process GROUP.toml NAME db|ack

`db`: each message goes into SQLite with its position, in one transaction; the next life joins after that position.
`ack`: each message becomes a line of NAME.handled, then it is acknowledged, then that is a line, too (`ack POSITION`).
What was ordered of what it sent becomes a line of NAME.ordered. It sends no more after a line on stdin.
"""

import asyncio
import os
import sqlite3
import sys
from pathlib import Path
from typing import TextIO

import tocsin


async def send(member: tocsin.Member, ordered: TextIO, ending: asyncio.Event) -> None:
    await member.ready(60)
    life = os.urandom(4).hex()
    number = 0
    while not ending.is_set():
        text = f"{member.name}.{life}.{number}"
        try:
            receipt = await member.broadcast(text.encode())
            await receipt.ordered()
        except (tocsin.NotPrimary, tocsin.Unknown):
            await asyncio.sleep(0.01)
            continue
        print(text, file=ordered, flush=True)
        number += 1
        await asyncio.sleep(0.002)


async def keep(path: Path, name: str, folder: Path, ending: asyncio.Event) -> None:
    database = sqlite3.connect(folder / f"{name}.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = OFF")  # processes are killed here, not machines
    database.execute("CREATE TABLE IF NOT EXISTS handled (position INTEGER, payload TEXT)")
    last = database.execute("SELECT coalesce(max(position), -1) FROM handled").fetchone()[0]
    with open(folder / f"{name}.ordered", "a") as ordered:
        async with tocsin.join(path, name, after=last) as member:
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
