"""A member's door: a process of its own beside the member (`tocsin.door`), started with it and ended with it.

It has an interpreter of its own, so that what its clients do costs the member's loop nothing (docs/door.md has the
figures), and whatever ends it, memory that runs out included, the member goes on and starts it again.
"""

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

from tocsin.core.errors import InputError
from tocsin.live.broadcasting import Broadcasting
from tocsin.live.doorway.hatch import Hatch
from tocsin.live.doorway.words import Settings
from tocsin.live.errors import PortTaken
from tocsin.live.frame_format import MESSAGE_BYTES_MAX
from tocsin.live.group_config import Group
from tocsin.live.incoming import Incoming
from tocsin.live.storage.producer_tables import ProducerTables

_log = logging.getLogger("tocsin.live.door")

PROGRAM: Final = "tocsin.door.process"
CLOSE_SECONDS_MAX: Final = 5.0  # for clients to hear that the door closes, and for what they sent to be ordered
AGAIN_SECONDS_MIN: Final = 0.2  # after which a door that has ended is started again; doubled up to …
AGAIN_SECONDS_MAX: Final = 10.0


class Doorway:
    """One member's; does nothing where the group's file gives it no door."""

    def __init__(self, group: Group, site: str, status: Callable[[], dict[str, Any]]) -> None:
        self.stat_started = 0  # how often the process was
        self._group = group
        self._site = site
        self._status = status
        self._keeping: asyncio.Task[None] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._hatch: Hatch | None = None
        self._closing: bool = False

    def check(self) -> None:
        """Before the member starts: what can be known to be wrong."""
        doors = self._group.doors
        if doors is None or self._site not in doors.addresses:
            return
        if not self._group.journal.archive:
            raise InputError(f"{self._group.source}: `door`: expected `archive = true` under [journal], found false")
        for key, path in (("token_file", doors.token_file), ("tls_cert", doors.tls_cert), ("tls_key", doors.tls_key)):
            try:
                if path is not None:
                    path.read_bytes()
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise InputError(f"{self._group.source}: `door_access.{key}`: {path}: {why}") from None
        host, port = doors.addresses[self._site]
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((host, port))
                sock.listen(1)
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise PortTaken(f"`door.{self._site}`: {host}:{port}: {why}; choose another port") from None

    def begin(self, broadcasting: Broadcasting, incoming: Incoming, tables: ProducerTables) -> None:
        """The member's life has begun."""
        doors = self._group.doors
        if doors is None or self._site not in doors.addresses or self._closing:
            return
        me = self._group.site(self._site)
        settings = Settings(
            site=self._site,
            url=doors.url(self._site),
            folder=str(self._group.site_dir(me).resolve()),
            groups=self._group.group_names,
            here=tuple(number for number, members in enumerate(self._group.groups) if me in members),
            token_file=str(doors.token_file.resolve()),
            tls_cert="" if doors.tls_cert is None else str(doors.tls_cert.resolve()),
            tls_key="" if doors.tls_key is None else str(doors.tls_key.resolve()),
            others=tuple(doors.url(site) for site in doors.addresses if site != self._site),
            message_bytes_max=MESSAGE_BYTES_MAX,
        )
        hatch = Hatch(settings, broadcasting, incoming, tables, self._status)
        self._hatch = hatch
        self._keeping = asyncio.create_task(self._keep(hatch))

    def status(self) -> dict[str, Any] | None:
        """What `tocsin status` shows of it."""
        doors = self._group.doors
        if doors is None or self._site not in doors.addresses:
            return None
        process = self._process
        return {
            "url": doors.url(self._site),
            "process": None if process is None or process.poll() is not None else process.pid,
            "started": self.stat_started,
            "published": 0 if self._hatch is None else self._hatch.stat_published,
        }

    async def _keep(self, hatch: Hatch) -> None:
        """Start the process whenever there is none."""
        loop = asyncio.get_running_loop()
        pause = AGAIN_SECONDS_MIN
        while True:
            began = loop.time()
            await self._run(hatch)
            if self._closing:
                return
            pause = AGAIN_SECONDS_MIN if loop.time() - began > AGAIN_SECONDS_MAX else min(2 * pause, AGAIN_SECONDS_MAX)
            _log.warning("%s: the process of the door has ended; again in %g s", self._site, pause)
            await asyncio.sleep(pause)

    async def _run(self, hatch: Hatch) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await asyncio.get_running_loop().run_in_executor(None, _start, theirs.fileno())
        except OSError as error:
            _log.error("%s: the process of the door cannot be started: %s", self._site, error)
            ours.close()
            return
        finally:
            theirs.close()
        self._process = process
        self.stat_started += 1
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
            await hatch.serve(reader, writer)
        finally:
            process.kill()
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, process.wait))

    async def close(self, in_order: bool) -> None:
        """Let clients know where to go on, and what they sent be ordered; or end the process at once."""
        self._closing = True
        keeping = self._keeping
        if keeping is None:
            return
        if in_order and self._hatch is not None:
            self._hatch.close()
            await asyncio.wait([keeping], timeout=CLOSE_SECONDS_MAX)
        if self._process is not None:
            self._process.kill()
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping


def _start(descriptor: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", PROGRAM, str(descriptor)], stdin=subprocess.DEVNULL, stdout=2, pass_fds=[descriptor]
    )
