"""One member of the live benchmark: broadcasts as fast as the group takes it, or at a rate, and counts what is
delivered.

Prints READY, reads the starting time (CLOCK_MONOTONIC seconds) from stdin, sends during warm-up and measurement, prints
one JSON line. Run by benchmarks/live.py."""

import argparse
import asyncio
import gc
import json
import resource
import sys
import time
import zlib
from typing import Any

import tocsin

CHUNK_BYTES = 60_000  # of one call of broadcast_many: about a frame
GRACE_SECONDS = 1.0


class Count:
    """What was delivered, and a hash of the order that members can compare."""

    def __init__(self) -> None:
        self.begin = 0.0
        self.end = 0.0
        self.messages = 0
        self.window_messages = 0
        self.window_bytes = 0
        self.order = 0
        self.marks: list[int] = []  # the hash of the order after each 256th frame
        self.frames = 0

    async def listen(self, member: tocsin.Member) -> None:
        async for event in member.batches():
            if isinstance(event, tocsin.Batch):
                self.take(event)

    def take(self, batch: tocsin.Batch) -> None:
        payloads = batch.payloads
        count = 0
        size = 0
        for payload in payloads:  # an application looks at each message
            count += 1
            size += len(payload)
        self.messages += count
        if self.begin <= time.monotonic() < self.end:
            self.window_messages += count
            self.window_bytes += size
        self.order = zlib.crc32(f"{batch.origin} {batch.seqno} {count}".encode(), self.order)
        self.frames += 1
        if self.frames % 256 == 0:
            self.marks.append(self.order)


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def send_at_rate(
    member: tocsin.Member, size: int, rate: float, begin: float, window: float, end: float
) -> list[float]:
    """Broadcast single messages at a steady rate; the times to their own ordered delivery."""
    times: list[float] = []
    tasks: set[asyncio.Task[None]] = set()

    async def one() -> None:
        sent = time.monotonic()
        await (await member.broadcast(bytes(size))).ordered()
        if sent >= window:
            times.append(time.monotonic() - sent)

    number = 0
    while (due := begin + number / rate) < end:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        task = asyncio.create_task(one())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE_SECONDS)
    return times


async def send_all(member: tocsin.Member, size: int, end: float) -> None:
    chunk = [bytes(size)] * max(1, CHUNK_BYTES // (size + 5))
    while time.monotonic() < end:
        await member.broadcast_many(chunk)
        await asyncio.sleep(0)


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    member = await tocsin.join(arguments.group, arguments.site)
    await member.ready(30)
    count = Count()
    listening = asyncio.create_task(count.listen(member))
    gc.collect()
    gc.freeze()  # as `tocsin join` does: what is there now stays, and need not be looked at again and again
    print("READY", flush=True)
    loop = asyncio.get_running_loop()
    start = float(await loop.run_in_executor(None, sys.stdin.readline))
    count.begin = start + arguments.warm
    count.end = count.begin + arguments.seconds
    cpu = [0.0, 0.0]
    loop.call_later(max(0.0, count.begin - time.monotonic()), lambda: cpu.__setitem__(0, cpu_seconds()))
    loop.call_later(max(0.0, count.end - time.monotonic()), lambda: cpu.__setitem__(1, cpu_seconds()))
    await asyncio.sleep(max(0.0, start - time.monotonic()))
    times: list[float] = []
    if arguments.rate > 0:
        times = await send_at_rate(member, arguments.size, arguments.rate, start, count.begin, count.end)
    elif arguments.sends:
        await send_all(member, arguments.size, count.end)
    await asyncio.sleep(max(0.0, count.end + GRACE_SECONDS - time.monotonic()))
    status = member.status()
    if arguments.profile:
        print(json.dumps(status), file=sys.stderr)
    await member.close()
    await listening
    times.sort()
    return {
        "messages_per_s": count.window_messages / arguments.seconds,
        "bytes_per_s": count.window_bytes / arguments.seconds,
        "messages": count.window_messages,
        "cpu_s": cpu[1] - cpu[0],
        "marks": count.marks,
        "p50_ms": times[len(times) // 2] * 1e3 if times else None,
        "p99_ms": times[int(len(times) * 0.99)] * 1e3 if times else None,
        "memory_bytes_max": status["process"]["memory_bytes_max"],
        "drops": status["drops"],
        "totals": status["totals"],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("group")
    parser.add_argument("site")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--warm", type=float, default=1.0)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--sends", type=int, default=1)
    parser.add_argument("--profile", default="")
    arguments = parser.parse_args()
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if arguments.profile:
            import cProfile

            profile = cProfile.Profile()
            profile.enable()
            answer = runner.run(run(arguments))
            profile.disable()
            profile.dump_stats(arguments.profile)
        else:
            answer = runner.run(run(arguments))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
