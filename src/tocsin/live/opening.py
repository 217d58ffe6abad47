"""What a member has on disk and on the network, opened in order; if one part fails, those before it are closed."""

import asyncio
import logging
import os
from pathlib import Path

from tocsin.live.group_config import Group
from tocsin.live.storage.identity import Identity, require_folder, take_lock, write_identity
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.log import Log
from tocsin.live.storage.scrub import Scrubber
from tocsin.live.wire.keys import read_keys
from tocsin.live.wire.meeting import About, settings_of
from tocsin.live.wire.seal import Keyring
from tocsin.live.wire.wire import Wire

_log = logging.getLogger("tocsin.live")


class Opened:
    """The open parts of one member. The driver closes log and wire; the lock is the member's, to be closed last."""

    def __init__(
        self,
        folder: Path,
        lock: int,
        log: Log,
        journal: JournalFolder | None,
        keyring: Keyring,
        wire: Wire,
        scrubber: Scrubber,
    ) -> None:
        self.folder = folder
        self.log = log
        self.journal = journal
        self.wire = wire
        self.scrubber = scrubber
        self._keyring = keyring
        self._lock = lock

    def replace_keys(self, keys: list[bytes]) -> None:
        """The first key seals from now on, all open."""
        self._keyring.replace(keys)
        self.wire.sender.sealer.rekey()

    def unlock(self) -> None:
        self.scrubber.stop()
        os.close(self._lock)


async def open_member(group: Group, site: int, inject: str) -> Opened:
    loop = asyncio.get_running_loop()
    keys = [] if group.key_file is None else read_keys(group.key_file)
    folder = group.site_dir(site)
    await loop.run_in_executor(None, require_folder, folder)
    lock = await take_lock(folder)
    log: Log | None = None
    try:
        await loop.run_in_executor(None, write_identity, folder, _identity(group, site))
        syncs = group.journal.durability == "disk"
        file_bytes = group.journal.segment_bytes
        log = await loop.run_in_executor(None, Log, folder / "wal", len(group.groups), file_bytes, syncs)
        if log.in_doubt:
            _log.warning("%s: in doubt: %s", folder, log.in_doubt)
        journal = await loop.run_in_executor(None, _journal, group, folder)
        keyring = Keyring(group.name.encode(), keys)
        wire = Wire(
            group,
            site,
            loop,
            keyring,
            About(group.sites[site], log.life + 1, log.incarnation.hex(), settings_of(group.settings())),
        )
        wire.injector.configure(inject)
    except BaseException:
        if log is not None:
            await loop.run_in_executor(None, log.close)
        os.close(lock)
        raise
    scrubber = Scrubber(folder, group.journal.scrub_bytes_per_s)
    return Opened(folder, lock, log, journal, keyring, wire, scrubber)


def _identity(group: Group, site: int) -> Identity:
    groups = {
        name: [group.sites[member] for member in members]
        for name, members in zip(group.group_names, group.groups, strict=True)
    }
    return Identity(
        group=group.name, protocol=group.protocol.name, site=group.sites[site], sites=group.sites, groups=groups
    )


def _journal(group: Group, folder: Path) -> JournalFolder | None:
    """The journal's folder, unless the group's file says that no Arrow files are made."""
    if not group.journal.archive:
        return None
    return JournalFolder(folder, group.journal.keep_bytes, group.journal.keep_seconds)
