"""Reading a journal: its Arrow files, and behind them what the write-ahead log holds that is not yet in one."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.runtime.archive import feed_segment, journal_files, journal_path, prime
from tocsin.runtime.journal_format import RowMaker
from tocsin.runtime.wal_format import segment_path, segments_in


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the member of a data folder is: `identity.json` beside its journal."""

    group: str
    protocol: str
    site: str
    sites: tuple[str, ...]
    groups: dict[str, list[str]]


def write_identity(site_dir: Path, identity: Identity) -> None:
    """Say once who lives here; another member's folder is refused."""
    path = site_dir / "identity.json"
    if path.exists():
        found = read_identity(site_dir)
        if (found.group, found.protocol, found.site, found.sites) != (
            identity.group,
            identity.protocol,
            identity.site,
            identity.sites,
        ):
            raise InputError(
                f"{path}: expected group `{identity.group}` ({identity.protocol}), site `{identity.site}`, found "
                f"group `{found.group}` ({found.protocol}), site `{found.site}` or other sites; use another data_dir"
            )
    from tocsin.files import write_whole

    write_whole(path, msgspec.json.format(msgspec.json.encode(identity)) + b"\n")


def read_identity(site_dir: Path) -> Identity:
    path = site_dir / "identity.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Identity)
    except OSError as error:
        raise InputError(f"{path}: expected a member's data folder: {(error.strerror or str(error)).lower()}") from None
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: {error}") from None


def site_folders(path: Path) -> list[Path]:
    """A member's folder is itself; a folder of members is all of them, by name."""
    if (path / "identity.json").exists():
        return [path]
    found = sorted(each.parent for each in path.glob("*/identity.json"))
    if not found:
        raise InputError(f"{path}: expected a member's data folder or a folder of them, found no identity.json")
    return found


def journal_batches(site_dir: Path) -> Iterator[Any]:
    """All of a journal as record batches, oldest first."""
    identity = read_identity(site_dir)
    folder = site_dir / "journal"
    archived = -1
    for number in journal_files(folder):
        archived = number
        with pa.memory_map(str(journal_path(folder, number))) as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)
    wal = site_dir / "wal"
    rest = [segment for segment in segments_in(wal) if segment > archived]
    maker = RowMaker(identity.sites, tuple(identity.groups), identity.sites.index(identity.site))
    if rest:
        prime(maker, wal, rest[0])
    for segment in rest:
        yield from feed_segment(maker, segment_path(wal, segment), segment)


def journal_is_whole(site_dir: Path) -> bool:
    """Whether the journal goes back to the member's first start: retention has dropped nothing."""
    files = journal_files(site_dir / "journal")
    return files[0] == 0 if files else segments_in(site_dir / "wal")[:1] == [0]


def is_running(site_dir: Path) -> bool:
    """Whether a member lives in this folder now."""
    try:
        descriptor = os.open(site_dir / "lock", os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)
