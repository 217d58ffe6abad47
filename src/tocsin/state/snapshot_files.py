"""A replica's snapshots in its member's folder, `snapshots/POSITION.image`: written beside and renamed, checked when
read. The two newest are kept: if one cannot be read, the other and a longer tail do."""

import logging
from pathlib import Path
from typing import Final

import xxhash

from tocsin.live.errors import StorageFailed
from tocsin.live.storage.disk import Disk, disk_error
from tocsin.state.images import Image

_log = logging.getLogger("tocsin.state")

KEPT: Final = 2
_MAGIC: Final = b"tocsinim"
_HEAD_BYTES: Final = 8 + 8 + 8  # magic, position, checksum of the rest
_ENDING: Final = ".image"


class SnapshotFiles:
    def __init__(self, site_dir: Path, disk: Disk | None = None) -> None:
        self._folder = site_dir / "snapshots"
        self._disk = Disk() if disk is None else disk

    def positions(self) -> list[int]:
        """Of those that are there, oldest first."""
        names = [name.removesuffix(_ENDING) for name in self._disk.names(self._folder) if name.endswith(_ENDING)]
        return sorted(int(name) for name in names if name.isdigit())

    def write(self, image: Image) -> None:
        """Make it durable, then drop those that are older than the two newest. StorageFailed if the disk refuses."""
        check = xxhash.xxh3_64_digest(image.data)
        data = b"".join((_MAGIC, image.position.to_bytes(8, "big"), check, image.data))
        try:
            self._disk.make_folder(self._folder)
            self._disk.write_whole(self._path(image.position), data)
            for position in self.positions()[:-KEPT]:
                self._disk.remove(self._path(position))
        except OSError as error:
            raise StorageFailed(disk_error(self._path(image.position), error)) from None

    def newest(self, last: int = 1 << 62) -> Image | None:
        """The newest that is as it was written, and of no later position than `last`; others are left where they are,
        and named."""
        for position in reversed([each for each in self.positions() if each <= last]):
            try:
                data = self._disk.read_whole(self._path(position))
            except OSError as error:
                _log.warning("%s; an older snapshot is used", disk_error(self._path(position), error))
                continue
            image = _image_of(data)
            if image is not None and image.position == position:
                return image
            _log.warning("%s: damaged; an older snapshot is used", self._path(position))
        return None

    def _path(self, position: int) -> Path:
        return self._folder / f"{position:016d}{_ENDING}"


def _image_of(data: bytes) -> Image | None:
    content = data[_HEAD_BYTES:]
    if data[:8] != _MAGIC or xxhash.xxh3_64_digest(content) != data[16:_HEAD_BYTES]:
        return None
    return Image(int.from_bytes(data[8:16], "big"), content)
