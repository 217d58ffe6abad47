"""One client of the broker benchmark: publishes to a stream as fast as its broker acknowledges, and reads all of it.

Speaks as benchmarks/live_member.py does: READY, the starting time on stdin, one JSON line. Run by
benchmarks/live_brokers.py."""

import argparse
import asyncio
import json
import resource
import sys
import time
from typing import Any

OUTSTANDING = 256  # own messages on their way, as the peer of benchmarks/live.py has them
READ_COUNT = 4096
STREAM = "bench"


class Count:
    """Messages read inside of the window, and the CPU that the window took."""

    def __init__(self) -> None:
        self.begin = 0.0
        self.end = 0.0
        self.messages = 0
        self.cpu = [0.0, 0.0]

    def take(self, messages: int) -> None:
        if self.begin <= time.monotonic() < self.end:
            self.messages += messages

    def note_cpu(self, place: int) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self.cpu[place] = usage.ru_utime + usage.ru_stime


class Redis:
    """Redis streams: XADD in pipelines, XREAD of many at a time."""

    def __init__(self, host: str) -> None:
        import redis.asyncio

        self._writer = redis.asyncio.Redis(host=host, port=6390)
        self._reader = redis.asyncio.Redis(host=host, port=6390)

    async def start(self) -> None:
        await self._writer.ping()

    async def read(self, count: Count) -> None:
        last: Any = "$"
        while True:
            found: Any = await self._reader.xread({STREAM: last}, count=READ_COUNT, block=1000)
            for messages in found.values() if isinstance(found, dict) else [each[1] for each in found or ()]:
                entries = messages[0] if isinstance(messages[0], list) else messages
                for identity, fields in entries:
                    assert fields
                    last = identity
                count.take(len(entries))

    async def publish(self, payload: bytes) -> None:
        pipeline = self._writer.pipeline(transaction=False)
        for _ in range(OUTSTANDING):
            pipeline.xadd(STREAM, {"m": payload}, maxlen=200_000, approximate=True)
        await pipeline.execute()


class Nats:
    """NATS JetStream: asynchronous publishing, an ordered push consumer."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._count: Count | None = None

    async def start(self) -> None:
        import nats
        from nats.js.errors import BadRequestError

        self._client = await nats.connect(f"nats://{self._host}:4390", pending_size=64 << 20)
        self._stream: Any = self._client.jetstream(publish_async_max_pending=OUTSTANDING)
        try:
            await self._stream.add_stream(name=STREAM, subjects=[STREAM], max_msgs=200_000)
        except BadRequestError:
            await self._stream.stream_info(STREAM)  # another client has made it

    async def read(self, count: Count) -> None:
        async def take(message: Any) -> None:
            assert message.data
            count.take(1)

        await self._stream.subscribe(STREAM, cb=take, ordered_consumer=True)
        await asyncio.Event().wait()

    async def publish(self, payload: bytes) -> None:
        for _ in range(OUTSTANDING):
            await self._stream.publish_async(STREAM, payload)
        await asyncio.sleep(0)


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    client = (Redis if arguments.broker == "redis" else Nats)(arguments.host)
    await client.start()
    count = Count()
    reading = asyncio.create_task(client.read(count))
    await asyncio.sleep(0.2)
    print("READY", flush=True)
    loop = asyncio.get_running_loop()
    start = float(await loop.run_in_executor(None, sys.stdin.readline))
    count.begin = start + arguments.warm
    count.end = count.begin + arguments.seconds
    loop.call_later(max(0.0, count.begin - time.monotonic()), count.note_cpu, 0)
    loop.call_later(max(0.0, count.end - time.monotonic()), count.note_cpu, 1)
    await asyncio.sleep(max(0.0, start - time.monotonic()))
    payload = bytes(arguments.size)
    while time.monotonic() < count.end:
        await client.publish(payload)
    await asyncio.sleep(0.2)
    reading.cancel()
    return {
        "messages_per_s": count.messages / arguments.seconds,
        "messages": count.messages,
        "cpu_s": count.cpu[1] - count.cpu[0],
        "p50_ms": None,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("broker", choices=("redis", "nats"))
    parser.add_argument("host")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--warm", type=float, default=1.0)
    arguments = parser.parse_args()
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answer = runner.run(run(arguments))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
