"""Three members of a live group say hello, and all hear it in one order.

Usually each member is a process of its own; here they share one, so that the example is a single file.
Run: python examples/hello.py
"""

import asyncio
import tempfile
from pathlib import Path

import tocsin

GROUP = """
name = "hello"
protocol = "counter_token"
plaintext = true  # one process that talks to itself; a group on a network has a key_file, made by tocsin keygen
[sites]
a = "127.0.0.1:7411"
b = "127.0.0.1:7412"
c = "127.0.0.1:7413"
"""


async def greet(group: Path, name: str, everybody_done: asyncio.Barrier) -> list[str]:
    heard: list[str] = []
    async with tocsin.join(group, name) as member:
        receipt = await member.broadcast(f"hello from {name}".encode())
        await receipt.ordered()
        async for event in member:
            if isinstance(event, tocsin.Delivery):
                heard.append(event.payload.decode())
                if len(heard) == 3:
                    break
        await everybody_done.wait()
    return heard


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        group = Path(folder) / "hello.toml"
        group.write_text(GROUP)
        everybody_done = asyncio.Barrier(3)
        heard = await asyncio.gather(*(greet(group, name, everybody_done) for name in "abc"))
    print(f"all three heard the same, in the same order: {heard[0] == heard[1] == heard[2]}")


if __name__ == "__main__":
    asyncio.run(main())
