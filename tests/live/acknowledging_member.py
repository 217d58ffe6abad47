"""A member for the chaos test: broadcasts the lines of stdin, and writes down those that were acknowledged as durable.

Run as a process: python -m tests.live.acknowledging_member GROUP.toml NAME ACKS_FILE
"""

import asyncio
import os
import signal
import sys
import threading

import tocsin


def _read_lines(loop: asyncio.AbstractEventLoop, queue: "asyncio.Queue[bytes]") -> None:
    for line in sys.stdin.buffer:
        loop.call_soon_threadsafe(queue.put_nowait, line.rstrip(b"\n"))


async def _broadcast(member: tocsin.Member, line: bytes, acks: int) -> None:
    while True:
        try:
            receipt = await member.broadcast(line)
            await receipt.durable()
            break
        except tocsin.NotPrimary:
            await asyncio.sleep(0.05)
    os.write(acks, line + b"\n")


async def run(group: str, name: str, acks_file: str) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    acks = os.open(acks_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    tasks: set[asyncio.Task[None]] = set()
    member = await tocsin.join(group, name, listen=False)
    threading.Thread(target=_read_lines, args=(loop, queue), daemon=True).start()
    stopping = asyncio.create_task(stop.wait())
    while not stop.is_set():
        getting = asyncio.create_task(queue.get())
        await asyncio.wait([getting, stopping], return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            task = asyncio.create_task(_broadcast(member, getting.result(), acks))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
    await member.leave()


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
