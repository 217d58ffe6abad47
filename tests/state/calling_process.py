"""A process with one replica that calls without end. Every answer that it gets is a line `COMMAND ANSWER` on stdout.
After a line on stdin it calls no more, syncs, and writes its whole state as a line of JSON; when stdin ends, it
stops."""

import asyncio
import json
import sys

import tocsin
from tests.state.test_core import Ledger

OUTSTANDING = 8


async def call(replica: "tocsin.Replica[Ledger]", word: str, ending: asyncio.Event) -> None:
    number = 0
    while not ending.is_set():
        number += 1
        command = f"{word}.{number}"
        answer = await replica.call(command.encode())
        print(command, answer.decode(), flush=True)
        await asyncio.sleep(0.002)


async def main(path: str, name: str) -> None:
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), ending.set)
    replica = tocsin.replicate(path, name, Ledger(), snapshot_every=50)
    async with replica:
        session = f"{name}.{replica._core._session:x}"
        await asyncio.gather(*(call(replica, f"{session}.{task}", ending) for task in range(OUTSTANDING)))
        loop.remove_reader(sys.stdin.fileno())
        await replica.sync()
        print(json.dumps(replica.state.commands), flush=True)
        await loop.run_in_executor(None, sys.stdin.buffer.read)  # until all have said theirs
        await replica.member.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
