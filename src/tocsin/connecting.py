"""Come in from outside: a client of a group's doors, without being a member (docs/door.md).

client = tocsin.connect("grpc://127.0.0.1:7501,grpc://127.0.0.1:7502", token="…")
client.publish([b"sold 3"])
for batch in client.read(after=41, follow=True):
    ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tocsin.door.async_client import AsyncClient
    from tocsin.door.client import Client

TIMEOUT_SECONDS = 30.0


def connect(
    urls: str | list[str], token: str | None = None, fingerprint: str | None = None, timeout: float = TIMEOUT_SECONDS
) -> Client:
    """A client of these doors (with commas between, or a list), which goes on at another when one fails. `fingerprint`:
    of the door's self-signed certificate. `timeout`: how long a call looks for a door that can do it."""
    from tocsin.door.client import Client

    return Client(urls, token, fingerprint, timeout)


def aconnect(
    urls: str | list[str], token: str | None = None, fingerprint: str | None = None, timeout: float = TIMEOUT_SECONDS
) -> AsyncClient:
    """As `connect`, for asyncio: to be used by `async with`, or awaited, or as it is."""
    from tocsin.door.async_client import AsyncClient

    return AsyncClient(urls, token, fingerprint, timeout)
