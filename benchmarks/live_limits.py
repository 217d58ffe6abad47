"""What a live member costs: memory while millions of messages go through it, and CPU while nothing happens.

Three members on loopback relay the messages, all sending, each delivering all, with the journal's Arrow files being
made; then five members idle.

Run: python -m benchmarks.live_limits [--messages 10000000] [--seconds 10] [--json]
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tocsin
from tests.live.harness import LiveGroup, wait_until
from tocsin.live.operations.status import peak_memory_bytes

MEMORY_BAR_BYTES = 300_000_000
IDLE_BAR = 0.01  # of a core
CHUNK = 500  # messages of one call of broadcast_many
MESSAGE_BYTES = 100
SITES = "abcde"


async def relay(path: str, site: str, messages: int) -> None:
    """One member: sends its third, hears everything, says so, and serves until it is killed; a process of its own."""
    member = await tocsin.join(path, site)
    await member.ready(60)

    async def send() -> None:
        chunk = [bytes(MESSAGE_BYTES)] * CHUNK
        left = messages // 3 // CHUNK
        while left > 0:
            try:
                await member.broadcast_many(chunk)
                left -= 1
                await asyncio.sleep(0)
            except tocsin.NotPrimary:  # a busy machine can look like a dead member
                await asyncio.sleep(0.05)

    sending = asyncio.create_task(send())
    began = time.monotonic()
    count = 0
    async for batch in member.batches():
        if isinstance(batch, tocsin.Batch):
            count += len(batch.payloads)
            if count == messages // 3 // CHUNK * CHUNK * 3:
                peak = peak_memory_bytes()
                seconds = time.monotonic() - began
                print(json.dumps({"delivered": count, "seconds": seconds, "memory_bytes_max": peak}), flush=True)
    await sending


def memory(messages: int, seconds_max: float = 3600.0) -> list[dict[str, Any]]:
    """Each member's peak, after so many messages went through it."""
    tail = '[journal]\ndurability = "process"'
    with tempfile.TemporaryDirectory() as name, LiveGroup(Path(name), "counter_token", tail=tail) as group:
        group.program = (sys.executable, "-m", "benchmarks.live_limits", "--relay")
        for site in group.sites:
            group.start_program(site, str(group.path), site, str(messages))
        wait_until("all have relayed", lambda: all(group.lines(site) for site in group.sites), seconds_max)
        return [group.lines(site)[-1] for site in group.sites]


def idle(seconds: float) -> float:
    """The part of a core that the busiest of five idle members takes."""
    with tempfile.TemporaryDirectory() as name, LiveGroup(Path(name), "counter_token", SITES) as group:
        group.start_all()
        group.wait_together()
        time.sleep(2.0)  # the token comes to rest
        before = {site: _cpu(group, site) for site in SITES}
        time.sleep(seconds)
        return max(_cpu(group, site) - before[site] for site in SITES) / seconds


def _cpu(group: LiveGroup, site: str) -> float:
    status = group.status(site)
    assert status is not None
    return float(status["process"]["cpu_seconds"])


def main() -> int:
    if sys.argv[1:2] == ["--relay"]:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(relay(sys.argv[2], sys.argv[3], int(sys.argv[4])))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of idleness")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    members = memory(arguments.messages)
    peak = max(member["memory_bytes_max"] for member in members)
    resting = idle(arguments.seconds)
    if arguments.json:
        print(json.dumps({"members": members, "memory_bytes_max": peak, "idle": resting}))
        return 0
    count = members[0]["delivered"]
    print(f"memory after {count:,} messages: {peak / 1e6:.0f} MB (bar: below {MEMORY_BAR_BYTES / 1e6:.0f} MB)")
    print(f"an idle member of five: {resting:.2%} of a core (bar: below {IDLE_BAR:.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
