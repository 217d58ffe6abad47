"""What NATS JetStream and Redis streams reach through their Python clients: publish until acknowledged, and read from a
position. Servers and clients are taken where they are found; one that is not there is named, and has no figure."""

import asyncio
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Any

AHEAD = 256  # publishes of NATS under way at a time
PIPELINE = 1000  # of Redis


def missing() -> dict[str, str]:
    """By peer: what of it is not there."""
    found: dict[str, str] = {}
    for peer, program, module in (("nats", "nats-server", "nats"), ("redis", "redis-server", "redis")):
        if shutil.which(program) is None:
            found[peer] = f"no {program}"
        else:
            try:
                __import__(module)
            except ImportError:
                found[peer] = f"no Python client ({module})"
    return found


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server does not start")


def redis(count: int, size: int) -> dict[str, float]:
    import redis as client_of_redis

    port, folder = free_port(), tempfile.mkdtemp()
    command = ["redis-server", "--port", str(port), "--dir", folder, "--appendonly", "yes", "--save", ""]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        client = client_of_redis.Redis(port=port)
        body = bytes(size)
        began = time.monotonic()
        for _ in range(0, count, PIPELINE):
            pipeline = client.pipeline(transaction=False)
            for _ in range(PIPELINE):
                pipeline.xadd("s", {"p": body})
            pipeline.execute()
        published = time.monotonic() - began
        began, last, rows = time.monotonic(), b"0", 0
        while rows < count:
            [[_, entries]] = client.xread({"s": last}, count=PIPELINE)
            rows, last = rows + len(entries), entries[-1][0]
        return {"publish": round(count / published), "read": round(count / (time.monotonic() - began))}
    finally:
        server.kill()
        server.wait()


def nats(count: int, size: int) -> dict[str, float]:
    port, folder = free_port(), tempfile.mkdtemp()
    server = subprocess.Popen(["nats-server", "-js", "-p", str(port), "-sd", folder], stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        return asyncio.run(_nats(port, count, size))
    finally:
        server.kill()
        server.wait()


async def _nats(port: int, count: int, size: int) -> dict[str, float]:
    import nats as client_of_nats
    import nats.js.api

    connection = await client_of_nats.connect(f"nats://127.0.0.1:{port}")
    stream: Any = connection.jetstream()
    await stream.add_stream(name="s", subjects=["s"])
    body = bytes(size)
    began = time.monotonic()
    for _ in range(0, count, AHEAD):
        await asyncio.gather(*[stream.publish("s", body) for _ in range(AHEAD)])
    published = time.monotonic() - began
    began, rows = time.monotonic(), 0
    config = client_of_nats.js.api.ConsumerConfig(ack_policy="none")  # as a read from a position is
    reading = await stream.pull_subscribe("s", "reader", config=config)
    while rows < count:
        messages = await reading.fetch(AHEAD, timeout=10)
        rows += len(messages)
    took = time.monotonic() - began
    await connection.close()
    return {"publish": round(count / published), "read": round(count / took)}
