"""What a member serves beside its group: questions of the command line, metrics, and a door."""

from typing import Any

from tocsin.live.broadcasting import Broadcasting
from tocsin.live.doorway.doorway import Doorway
from tocsin.live.group_config import Group
from tocsin.live.incoming import Incoming
from tocsin.live.operations.status_server import Asked, StatusServer
from tocsin.live.storage.producer_tables import ProducerTables


class Services:
    """One member's, whom they ask."""

    def __init__(self, asked: Asked, group: Group, site: str) -> None:
        self._group = group
        self._status = StatusServer(asked, group.site_dir(group.site(site)))
        self._doorway = Doorway(group, site, asked.status)

    async def start(self) -> None:
        """What needs no life; the rest is checked."""
        self._doorway.check()
        await self._status.start(self._group.metrics)

    def begin(self, broadcasting: Broadcasting, incoming: Incoming, tables: ProducerTables) -> None:
        """The member's life has begun."""
        self._doorway.begin(broadcasting, incoming, tables)

    def door(self) -> dict[str, Any] | None:
        """What `tocsin status` shows of the door; None: there is none."""
        return self._doorway.status()

    async def close_door(self) -> None:
        """In order: clients are told, and what they sent is ordered first."""
        await self._doorway.close(in_order=True)

    async def stop(self) -> None:
        await self._doorway.close(in_order=False)
        await self._status.stop()
