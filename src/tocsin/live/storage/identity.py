"""Who lives in a data folder, and whether they are at home."""

import asyncio
import fcntl
import os
from pathlib import Path

import msgspec

from tocsin.core.errors import InputError
from tocsin.live.errors import UNDECODABLE, AlreadyRunning
from tocsin.live.storage.disk import Disk


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the member of a data folder is: `identity.json` beside its journal."""

    group: str
    protocol: str
    site: str
    sites: tuple[str, ...]
    groups: dict[str, list[str]]
    incarnation: int = 0  # of the log and the journal beside it; 0: not known yet
    number: int = -1  # the site's place in `sites`, where a name may come twice; -1: the only one

    def own_number(self) -> int:
        return self.sites.index(self.site) if self.number < 0 else self.number


def write_identity(site_dir: Path, identity: Identity, disk: Disk | None = None) -> None:
    """Say who lives here; another member's folder is refused. Without an incarnation, that of before stays."""
    path = site_dir / "identity.json"
    disk = Disk() if disk is None else disk
    if path.name in disk.names(site_dir):
        found = read_identity(site_dir, disk)
        same = (found.group, found.protocol, found.site) == (identity.group, identity.protocol, identity.site)
        common = min(len(found.sites), len(identity.sites))  # sites may be added behind those that were
        if found.incarnation == 0 and found.number >= 0:
            common = 0  # nothing lives here: it was as the file said
        if not same or found.sites[:common] != identity.sites[:common]:
            raise InputError(
                f"{path}: expected group `{identity.group}` ({identity.protocol}), site `{identity.site}`, found "
                f"group `{found.group}` ({found.protocol}), site `{found.site}` or other sites; use another data_dir"
            )
        if identity.incarnation == 0:
            identity = msgspec.structs.replace(identity, incarnation=found.incarnation)
    disk.write_whole(path, msgspec.json.format(msgspec.json.encode(identity)) + b"\n")


def read_identity(site_dir: Path, disk: Disk | None = None) -> Identity:
    path = site_dir / "identity.json"
    try:
        identity = msgspec.json.decode((Disk() if disk is None else disk).read_whole(path), type=Identity)
    except OSError as error:
        raise InputError(f"{path}: expected a member's data folder: {(error.strerror or str(error)).lower()}") from None
    except UNDECODABLE as error:
        raise InputError(f"{path}: {error}") from None
    if identity.site not in identity.sites:
        raise InputError(f"{path}: `site`: expected one of `sites`, found `{identity.site}`")
    return identity


def is_running(site_dir: Path) -> bool:
    """Whether a member lives in this folder now; InputError if that cannot be told. Who may read the lock can tell."""
    path = site_dir / "lock"
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False  # a member makes its lock before anything else
    except OSError as error:
        raise _not_known(path, error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        raise _not_known(path, error) from None
    finally:
        os.close(descriptor)


def _not_known(lock: Path, error: OSError) -> InputError:
    why = (error.strerror or str(error)).lower()
    return InputError(f"{lock}: cannot be read ({why}), and only it tells whether the member runs; ask as its user")


def require_folder(path: Path) -> None:
    """Make a member's folder, or say why not in one line."""
    try:
        Disk().make_folder(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be made: {(error.strerror or str(error)).lower()}") from None


async def take_lock(site_dir: Path) -> int:
    """The folder's lock, held until closed. A reader that looks whether we run holds it for an instant."""
    descriptor = os.open(site_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(20):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError:
            await asyncio.sleep(0.01)
    os.close(descriptor)
    raise AlreadyRunning(f"{site_dir}: another process runs this member; stop it first")
