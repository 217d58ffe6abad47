"""One leader writes to a database; whoever was leader before can not, however late it wakes up.

    tocsin init boss
    python examples/fenced_writer.py boss/group.toml a shared.db     (b and c in other terminals)

There are no leases and no clocks in this: a leader that is paused, or cut off, does not know that it is one no more. So
every write carries the leader's token, which only grows, and the database refuses a token that is smaller than one it
has seen. That is the fence; the election alone is none.
"""

import asyncio
import signal
import sqlite3
import sys
from contextlib import closing

import tocsin

PAUSE_SECONDS = 0.02

TABLES = """
CREATE TABLE IF NOT EXISTS fence (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), token INTEGER NOT NULL);
INSERT OR IGNORE INTO fence VALUES (1, 0);
CREATE TABLE IF NOT EXISTS written (number INTEGER PRIMARY KEY, token INTEGER NOT NULL, site TEXT NOT NULL);
"""


class Fenced(Exception):
    """A later leader has written."""


def write(path: str, token: int, site: str) -> int:
    """One row, in one transaction with the look at the fence; its number."""
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        moved = database.execute("UPDATE fence SET token = ? WHERE token <= ?", (token, token)).rowcount
        if moved == 0:
            database.execute("ROLLBACK")
            raise Fenced(f"token {token} is of an earlier leader")
        row = database.execute("INSERT INTO written (token, site) VALUES (?, ?)", (token, site))
        database.execute("COMMIT")
        assert row.lastrowid is not None
        return row.lastrowid


async def lead(shared: tocsin.recipes.Shared, site: str, path: str) -> None:
    leader = shared.leader("boss")
    while True:
        async with leader as token:
            print(f"{site} leads with token {token}", flush=True)
            try:
                while leader.is_held:
                    await asyncio.to_thread(write, path, token, site)
                    await asyncio.sleep(PAUSE_SECONDS)
            except Fenced as error:
                print(f"{site} was fenced: {error}", flush=True)


async def main() -> None:
    group, site, path = sys.argv[1:]
    with closing(sqlite3.connect(path, timeout=30)) as database:
        database.executescript(TABLES)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with tocsin.recipes.open(group, site) as shared:
        leading = asyncio.create_task(lead(shared, site, path))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([leading, stopping], return_when=asyncio.FIRST_COMPLETED)
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
