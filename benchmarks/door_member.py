"""A member for `benchmarks/door`: `python -m benchmarks.door_member GROUP.toml NAME [inside]`. Lines of stdin are
questions, lines of stdout answers in JSON. `inside`: the door is a thread of this process, to see what that costs."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import tocsin

PROBES_PER_SECOND = 100
CHUNK = 4096


def put_the_door_inside() -> None:
    from tocsin.door import process
    from tocsin.live.doorway import doorway

    class Inside:
        """As much of a Popen as a doorway uses."""

        pid = 0

        def __init__(self, descriptor: int) -> None:
            import os
            import socket

            sock = socket.socket(fileno=os.dup(descriptor))
            threading.Thread(target=process.serve, args=(sock,), daemon=True).start()

        def poll(self) -> None:
            return None

        def kill(self) -> None:
            return None

        def wait(self) -> int:
            return 0

    doorway._start = Inside  # type: ignore[assignment]


async def probe(member: tocsin.Member, seconds: float) -> dict[str, float]:
    """Small messages of the member's own, at a steady rate: until they are ordered; and how late a timer of 1 ms is."""
    until_ordered: list[float] = []
    late: list[float] = []
    end = time.monotonic() + seconds

    async def timers() -> None:
        while time.monotonic() < end:
            began = time.monotonic()
            await asyncio.sleep(0.001)
            late.append(time.monotonic() - began - 0.001)

    timing = asyncio.create_task(timers())
    while time.monotonic() < end:
        began = time.monotonic()
        receipt = await patiently(lambda: member.broadcast(b"probe"))
        await receipt.ordered()
        until_ordered.append(time.monotonic() - began)
        await asyncio.sleep(max(0.0, 1 / PROBES_PER_SECOND - (time.monotonic() - began)))
    await timing
    return {
        "ordered_p50_ms": at(until_ordered, 0.5),
        "ordered_p99_ms": at(until_ordered, 0.99),
        "timer_p99_ms": at(late, 0.99),
    }


async def patiently(call: Callable[[], Awaitable[tocsin.Receipt]]) -> tocsin.Receipt:
    """On a machine that is too busy a member may be cut off for a moment."""
    while True:
        try:
            return await call()
        except tocsin.NotPrimary:
            await asyncio.sleep(0.01)


def at(values: list[float], part: float) -> float:
    return round(1000 * sorted(values)[min(int(len(values) * part), len(values) - 1)], 3)


async def own(member: tocsin.Member, count: int, size: int) -> dict[str, float]:
    """As many messages as fast as they go, until all are ordered."""
    began = time.monotonic()
    receipt = None
    for _ in range(0, count, CHUNK):
        receipt = await patiently(lambda: member.broadcast_many([bytes(size)] * CHUNK))
    assert receipt is not None
    await receipt.ordered()
    return {"per_second": round(count / (time.monotonic() - began))}


async def main() -> None:
    if "inside" in sys.argv:
        put_the_door_inside()
    async with tocsin.join(sys.argv[1], sys.argv[2], listen=False) as member:
        await member.ready(30)
        print(json.dumps("ready"), flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            words = line.split()
            answer: Any
            if words[0] == "probe":
                answer = await probe(member, float(words[1]))
            else:
                answer = await own(member, int(words[1]), int(words[2]))
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
