"""Named objects that the members of a group share: maps, locks, leaders, queues, counters.

async with tocsin.recipes.open("orders.toml", "a") as shared:
    prices = shared.map("prices")
    await prices.set(b"apple", b"3")
"""

from tocsin.state.recipes.counter import Counter
from tocsin.state.recipes.lock import Leader, Lock
from tocsin.state.recipes.map import Map, Watch
from tocsin.state.recipes.queue import Item, Queue
from tocsin.state.recipes.shared import Shared
from tocsin.state.recipes.shared import open_shared as open  # noqa: A004  (`tocsin.recipes.open`)

__all__ = ["Counter", "Item", "Leader", "Lock", "Map", "Queue", "Shared", "Watch", "open"]
