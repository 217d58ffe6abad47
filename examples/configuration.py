"""Configuration pushed to many: set once, and every process has it, in the same order, within milliseconds.

    tocsin init settings
    python examples/configuration.py settings/group.toml a       (b and c in other terminals)
    limit=100                                                    typed into any of them: all print it

A process that starts prints what is set, then every change. A value is set where it is typed, and counts when it has
its place in the order; `limit=` deletes it. `limit:100=200` sets it to 200 only if it still is 100.
"""

import asyncio
import signal
import sys

import tocsin


def show(key: bytes, value: bytes | None) -> None:
    print(f"{key.decode()} = {'(not set)' if value is None else value.decode()}", flush=True)


async def follow(settings: tocsin.recipes.Map, is_ready: asyncio.Event) -> None:
    await settings.get_synced(b"")  # as new as the group's
    changes = settings.watch()  # nothing falls between this and the next line: nobody else has a turn
    for key, value in settings.items():
        show(key, value)
    is_ready.set()
    print("--- ready", flush=True)
    async for key, value in changes:
        show(key, value)


async def change(settings: tocsin.recipes.Map, is_ready: asyncio.Event) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    await is_ready.wait()
    while line := await lines.readline():
        key, equals, value = line.rstrip(b"\n").partition(b"=")
        name, colon, old = key.partition(b":")
        if not equals:
            print("--- expected KEY=VALUE", flush=True)
        elif colon:
            was = await settings.compare_and_set(name, old or None, value or None)
            print("--- set" if was else f"--- it is {settings.get(name)!r}", flush=True)
        elif value:
            await settings.set(name, value)
        else:
            await settings.delete(name)


async def main() -> None:
    group, site = sys.argv[1:]
    stop, is_ready = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with tocsin.recipes.open(group, site) as shared:
        settings = shared.map("settings")
        works = (follow(settings, is_ready), change(settings, is_ready), stop.wait())
        tasks = [asyncio.create_task(each) for each in works]
        await asyncio.wait([tasks[0], tasks[2]], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
