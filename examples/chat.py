"""A chat in the terminal: what anybody types, everybody reads, in one order.

    tocsin init chat
    python examples/chat.py chat/group.toml a        (b and c in other terminals)

What was said while this member was away comes first: it goes on where it stopped reading, also after a kill -9. A line
that was shown may be shown again after one; none is left out.
"""

import asyncio
import signal
import sys

import tocsin


async def read(member: tocsin.Member) -> None:
    async for event in member:
        if isinstance(event, tocsin.Delivery):
            print(f"{event.position} <{event.origin}> {event.payload.decode(errors='replace')}", flush=True)
        elif isinstance(event, tocsin.View) and event.primary:
            print(f"--- here: {', '.join(event.members)}", flush=True)
        elif isinstance(event, tocsin.Missed):
            print(f"--- {event.count} lines from {event.first} on are lost here", flush=True)
        await member.ack(event)


async def write(member: tocsin.Member) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        said = False
        while not said:
            try:
                await member.broadcast(line.rstrip(b"\n"))
                said = True
            except tocsin.NotPrimary as error:
                print(f"--- {error}", flush=True)
                await asyncio.sleep(1)


async def main() -> None:
    group, site = sys.argv[1:]
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with tocsin.join(group, site, consumer="chat") as member:
        tasks = [asyncio.create_task(each) for each in (read(member), write(member), stop.wait())]
        # the end of what is typed ends nothing: it goes on reading
        await asyncio.wait([tasks[0], tasks[2]], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
