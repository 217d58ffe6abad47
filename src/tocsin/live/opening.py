"""What a member has on disk and on the network, opened in order; if one part fails, those before it are closed.

First the folder, as it is, and the wire: with them the member asks (`asking.py`). Then the log with which it lives: the
one that was found, or, if it begins anew, an empty one; what was there is set aside.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Sequence

import msgspec

from tocsin.core.machine import FIRST_INCARNATION
from tocsin.live import forks
from tocsin.live.asking import Asking, Beginning
from tocsin.live.errors import Damaged
from tocsin.live.group_config import Address, Group
from tocsin.live.register import Register
from tocsin.live.seating import NO_VIEW, Seating, seating_of, take_seats
from tocsin.live.storage.aside import set_aside
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.holding import places_of_cursors
from tocsin.live.storage.identity import Identity, require_folder, take_lock, write_identity
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.knowledge import WORD_BYTES, incarnation_bytes
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import Start
from tocsin.live.storage.marks import NOBODY
from tocsin.live.storage.restored import read_restored, restored_setting, stage_beginning
from tocsin.live.storage.scrub import Scrubber
from tocsin.live.storage.seats_file import read_seating, write_seating
from tocsin.live.wire.keys import read_keys
from tocsin.live.wire.seal import Keyring
from tocsin.live.wire.seats_desk import sites_of
from tocsin.live.wire.wire import Wire

_log = logging.getLogger("tocsin.live")


class Opened:
    """The open parts of one member. The driver closes log and wire, once there is one; the lock comes last."""

    def __init__(self, group: Group, site: int, lock: int, keys: list[bytes]) -> None:
        self.folder = group.site_dir(site)
        self.register = Register(site, len(group.sites))
        self.register.removed = group.removed
        self.damaged: Damaged | None = None  # why the log could not be read
        self.renewed = ""  # why the member began anew at this start
        self.log: Log | None = None
        self.journal: JournalFolder | None = None
        self.wire: Wire
        self.asking: Asking
        self.on_reseated: Callable[[], None] = _nothing  # the member has another number, or another wire
        self.site = site
        self._file_addresses: Sequence[Address] = ()
        self._loop: asyncio.AbstractEventLoop
        self._inject = ""
        self.scrubber = Scrubber(self.folder, group.journal.scrub_bytes_per_s)
        self._group = group
        self._keys = keys
        self._keyring = Keyring(group.name.encode(), keys)
        self._lock = lock

    # As it is found

    def open_log(self) -> None:
        """Safe to run in a thread, as `begin`."""
        try:
            log = self._open_log(FIRST_INCARNATION)
        except Damaged as error:
            if len(self._group.sites) == 1:
                raise
            self.damaged = error
            return
        self.log = log
        self.register.open(log)
        self.register.group_id = b"" if log.group_id == NOBODY else log.group_id

    def _open_log(self, incarnation: int) -> Log:
        journal = self._group.journal
        syncs = journal.durability == "disk"
        group_id = self.register.group_id or NOBODY
        groups = len(self._group.groups)
        return Log(self.folder / "wal", groups, journal.segment_bytes, syncs, None, group_id, incarnation)

    def open_wire(self, loop: asyncio.AbstractEventLoop, inject: str, file_addresses: Sequence[Address]) -> None:
        self._loop, self._inject, self._file_addresses = loop, inject, file_addresses
        kept = read_seating(self.folder) if self._group.has_seats() else None
        if kept is not None:
            self.register.epoch = kept.present_epoch()
        self._open_wire(NO_VIEW if kept is None else kept.view)

    def _open_wire(self, view: int) -> None:
        group, loop, register = self._group, self._loop, self.register
        self.wire = Wire(group, self.site, loop, self._keyring, register, also=restored_setting(self.folder))
        self.wire.seats.view = view
        self.wire.injector.configure(self._inject)
        self.asking = Asking(group, loop, register, self.wire, self.damaged is not None, self._file_addresses)
        forks.register(self.wire.forbid)

    async def ask(self) -> Beginning:
        """Ask the others; as somebody else, if they say that this member is."""
        while True:
            answer = await self.asking.run()
            if isinstance(answer, Beginning):
                if self.register.founding:
                    self._note_founders()
                return answer
            await self._reseat(answer)

    def _note_founders(self) -> None:
        founders = self._group.founders
        assert isinstance(founders, list)
        if self.wire.seats.view == NO_VIEW:
            founders[:] = [site for site in sites_of(self.register.founding) if site < len(self._group.sites)]

    async def _reseat(self, seating: Seating) -> None:
        """Open the wire again, as who this member is in the group."""
        forks.forget(self.wire.forbid)
        name = self._group.sites[self.site]
        group_id = self.wire.seats.heard_of
        self.wire.close()
        if self.log is None or self.log.knowledge.life < 0:
            self.site = seating.number(name)
        self._group = msgspec.structs.replace(self._group, numbers_max=seating.numbers_max)
        take_seats(self._group, seating)
        known, epoch = self.register.others(), self.register.epoch
        self.register = Register(self.site, len(self._group.sites))
        self.register.removed = self._group.removed
        self.register.group_id = group_id
        self.register.epoch = epoch
        if self.log is not None:
            self.register.open(self.log)
        for each in known:
            self.register.learn(each)
        _log.warning("%s: the group knows it as number %d, at %s", name, self.site, seating.seats[self.site].address)
        identity = identity_of(self._group, self.site, 0)
        kept = msgspec.structs.replace(seating, site=self.site, epoch=epoch)
        await self._loop.run_in_executor(None, write_identity, self.folder, identity)
        await self._loop.run_in_executor(None, write_seating, self.folder, kept)
        self._open_wire(seating.view)
        self.on_reseated()

    @property
    def group(self) -> Group:
        return self._group

    # The life that follows

    def begin(self, beginning: Beginning) -> Log:
        """Open the log with which this member lives, and note the start: synced, before anybody hears of it."""
        if not self.register.group_id:
            self.register.group_id = _group_id(self._group.name, self._keys)
        log = self._log_to_live_with(beginning)
        self.log = log
        log.become(self.register.group_id, beginning.incarnation)
        self.register.open(log)
        if log.in_doubt:
            _log.warning("%s: in doubt: %s", self.folder, log.in_doubt)
        for known in self.register.others():
            log.stage(known)
        restored = read_restored(self.folder) if log.file < 0 else None
        if restored is not None:
            stage_beginning(log, restored, self._group.group_names)
        word = int.from_bytes(os.urandom(WORD_BYTES), "big")
        log.stage(Start(log.life + 1, word, beginning.first_frame, beginning.first_number))
        laid = log.layout()
        log.write(laid)
        log.sync()
        log.apply(laid)
        self.register.begin()
        journal = self._group.journal
        if journal.archive:
            incarnation = incarnation_bytes(log.incarnation, log.made)
            self.journal = JournalFolder(
                self.folder,
                journal.keep_bytes,
                journal.keep_seconds,
                None,
                journal.consumer_keep_bytes,
                incarnation,
            )
            tables, names = log.producers, self._group.group_names
            self.journal.others_places = lambda: places_of_cursors(tables.all_cursors(), names)
        write_identity(self.folder, identity_of(self._group, self.site, log.incarnation))
        if self._group.has_seats():
            view = self.wire.seats.view
            write_seating(self.folder, seating_of(self._group, self.site, view, self.register.epoch))
        return log

    def _log_to_live_with(self, beginning: Beginning) -> Log:
        log, disk = self.log, Disk()
        if log is not None and log.life < 0 and log.file < 0:
            aside = set_aside(self.folder, disk, ("journal",))  # of a log that is lost
        elif log is not None and not beginning.why:
            return log
        else:
            if log is not None:
                log.close()
                self.log = None
            aside = set_aside(self.folder, disk)
            log = self._open_log(beginning.incarnation)
        if beginning.why:
            what = f"{self.damaged}: " if self.damaged is not None else ""
            kept = "" if aside is None else f"; what was there is kept in {aside}"
            self.renewed = f"{what}{beginning.why}; it begins anew, as incarnation {beginning.incarnation}{kept}"
            _log.warning("%s: Regressed: %s", self._group.sites[self.site], self.renewed)
        return log

    def replace_keys(self, keys: list[bytes]) -> None:
        """The first key seals from now on, all open."""
        self._keyring.replace(keys)
        self.wire.sender.sealer.rekey()

    def close_all(self) -> None:
        """Where no driver has taken over."""
        self.wire.close()
        if self.log is not None:
            self.log.close()

    def unlock(self) -> None:
        forks.forget(self.wire.forbid)
        self.scrubber.stop()
        os.close(self._lock)


async def open_member(group: Group, site: int, inject: str, file_addresses: Sequence[Address] = ()) -> Opened:
    loop = asyncio.get_running_loop()
    keys = [] if group.key_file is None else read_keys(group.key_file)
    folder = group.site_dir(site)
    await loop.run_in_executor(None, require_folder, folder)
    lock = await take_lock(folder)
    opened = Opened(group, site, lock, keys)
    try:
        await loop.run_in_executor(None, write_identity, folder, identity_of(group, site, 0))
        await loop.run_in_executor(None, opened.open_log)
        opened.open_wire(loop, inject, file_addresses)
    except BaseException:
        if opened.log is not None:
            await loop.run_in_executor(None, opened.log.close)
        opened.scrubber.stop()
        os.close(lock)
        raise
    return opened


def _nothing() -> None:
    pass


def _group_id(name: str, keys: list[bytes]) -> bytes:
    """Of a group whose protocol has no voters: it needs no founding."""
    return hashlib.blake2b(name.encode(), key=keys[0] if keys else b"", digest_size=len(NOBODY)).digest()


def identity_of(group: Group, site: int, incarnation: int) -> Identity:
    groups = {
        name: [group.sites[member] for member in members]
        for name, members in zip(group.group_names, group.groups, strict=True)
    }
    return Identity(
        group=group.name,
        protocol=group.protocol.name,
        site=group.sites[site],
        sites=tuple(group.sites),
        groups=groups,
        incarnation=incarnation,
        number=site if group.has_seats() else -1,
    )
