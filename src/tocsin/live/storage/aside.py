"""A folder's content that its member must not use any more is set aside: renamed, and kept."""

from pathlib import Path
from typing import Final

from tocsin.live.storage.disk import Disk

PARTS: Final = ("journal", "wal")
_PREFIX: Final = "aside-"


def set_aside(site_dir: Path, disk: Disk, parts: tuple[str, ...] = PARTS) -> Path | None:
    """The folder that log and journal are in from now on; None if there was nothing. After a crash in between, the next
    start sets aside what is left."""
    present = [name for name in parts if disk.names(site_dir / name)]
    if not present:
        return None
    number = 1 + max([int(name.removeprefix(_PREFIX)) for name in _names(site_dir, disk)], default=0)
    target = site_dir / f"{_PREFIX}{number}"
    disk.make_folder(target)
    if "identity.json" in disk.names(site_dir):
        disk.write_whole(target / "identity.json", disk.read_whole(site_dir / "identity.json"))
    for name in present:
        disk.rename(site_dir / name, target / name)
    disk.sync_folder(target)
    disk.sync_folder(site_dir)
    return target


def folders_aside(site_dir: Path, disk: Disk) -> list[Path]:
    """Oldest first."""
    return [site_dir / name for name in sorted(_names(site_dir, disk), key=lambda name: int(name[len(_PREFIX) :]))]


def _names(site_dir: Path, disk: Disk) -> list[str]:
    names = disk.names(site_dir)
    return [name for name in names if name.startswith(_PREFIX) and name.removeprefix(_PREFIX).isdigit()]
