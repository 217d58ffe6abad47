"""The third member of the group in orders.toml: says hello, and prints what the group delivers until it has heard it.

What to type is in the README, "Ten lines of Python".
"""

import asyncio

import tocsin


async def main() -> None:
    async with tocsin.join("examples/orders.toml", "a") as member:
        receipt = await member.broadcast(b"hello")  # waits only for room
        print("ordered at", await receipt.ordered())
        async for event in member:  # deliveries and views, in one order at every member
            print(event)
            if isinstance(event, tocsin.Delivery) and event.payload == b"hello":
                break


asyncio.run(main())
