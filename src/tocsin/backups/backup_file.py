"""A backup: one file with a group's order and state, as one member's folder has them.

It is a zip archive without compression, so that anybody can look into it:

    backup.json     what it is of, by group where the order begins and ends, and a checksum of each of the others
    order.arrow     the messages: the streamed rows of docs/formats.md, and when this member delivered each
    GROUP.table     of each group: which numbers of producers were accepted
    state.image     the newest snapshot of the replicated state, if there is one: everything before its position

Nothing in it is believed: whoever reads a backup checks every part before it uses one.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import pyarrow as pa
from msgspec import Meta

from tocsin.core.errors import DecodeError, InputError
from tocsin.core.producers import producers_from_bytes
from tocsin.live.errors import UNDECODABLE
from tocsin.state.images import Image, read_image
from tocsin.traces.columns import first_line

FORMAT: Final = 1
ROWS: Final = pa.schema(
    [
        pa.field("group", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("seqno", pa.int64(), nullable=False),
        pa.field("producer", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("sent_us", pa.int64()),
        pa.field("time_us", pa.int64(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
ABOUT: Final = "backup.json"
ORDER: Final = "order.arrow"
STATE: Final = "state.image"
ABOUT_BYTES_MAX: Final = 64 << 20
TABLE_BYTES_MAX: Final = 4 << 30
_READ_BYTES: Final = 1 << 20

_Count = Annotated[int, Meta(ge=0, lt=1 << 60)]
# that zipfile raises for what is no zip file
_ZIP_ERRORS: Final = (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError)


class Span(msgspec.Struct, frozen=True):
    """Of one group's order."""

    first: _Count  # of the oldest message that the backup has
    end: _Count  # of the next message of the group


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """backup.json."""

    format: int
    group: str  # the name of the group
    protocol: str
    site: str  # whose folder it was
    made_us: int
    groups: dict[str, Span]
    state: _Count | None  # the position of the snapshot
    checks: dict[str, str]  # of the other parts: BLAKE2b, 16 bytes, in hexadecimal


def table_name(group: str) -> str:
    return f"{group.encode().hex()}.table"


class Backup:
    """A backup file that was opened: InputError if it is none, or not as it was written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
        except _ZIP_ERRORS as error:
            raise self._bad(str(error)) from None
        try:
            self.about = self._read_about()
            for name in self._parts():
                if self._check(name) != self.about.checks.get(name):
                    raise self._bad(f"`{name}` is not as it was written")
            self.tables = {group: self._table(group) for group in self.about.groups}
            self._check_order()
            self.state = self._read_state()
        except BaseException:
            self.close()
            raise

    def digest(self) -> str:
        """What the backup holds, in short: of every part."""
        return hashlib.blake2b(msgspec.json.encode(self.about), digest_size=8).hexdigest()

    def close(self) -> None:
        self._zip.close()

    def batches(self) -> Iterator[Any]:
        """The rows, group by group, by position."""
        try:
            with self._zip.open(ORDER) as file, pa.ipc.open_stream(file) as reader:
                if not reader.schema.equals(ROWS):
                    raise self._bad(f"`{ORDER}` has other columns")
                for batch in reader:
                    batch.validate(full=True)
                    yield batch
        except (pa.ArrowException, OSError, *_ZIP_ERRORS) as error:
            raise self._bad(f"`{ORDER}`: {first_line(error)}") from None

    def _bad(self, why: str) -> InputError:
        return InputError(f"{self.path}: expected a backup of a group: {why}")

    def _parts(self) -> list[str]:
        names = [ORDER, *map(table_name, self.about.groups)]
        return names if self.about.state is None else [*names, STATE]

    def _read_about(self) -> About:
        data = self._read(ABOUT, ABOUT_BYTES_MAX)
        try:
            about = msgspec.json.decode(data, type=About)
        except UNDECODABLE as error:
            raise self._bad(f"`{ABOUT}`: {error}") from None
        if about.format != FORMAT:
            raise self._bad(f"format {about.format}; this version reads {FORMAT}")
        if not about.groups or any(span.first > span.end for span in about.groups.values()):
            raise self._bad(f"`{ABOUT}`: no group, or one that ends before it begins")
        return about

    def _read(self, name: str, limit: int) -> bytes:
        try:
            part = self._zip.getinfo(name)
            if part.compress_type != zipfile.ZIP_STORED or part.file_size > limit:
                raise self._bad(f"`{name}` is packed, or too large")
            return self._zip.read(part)
        except KeyError:
            raise self._bad(f"no `{name}` in it") from None
        except (OSError, *_ZIP_ERRORS) as error:
            raise self._bad(f"`{name}`: {first_line(error)}") from None

    def _check(self, name: str) -> str:
        digest = hashlib.blake2b(digest_size=16)
        try:
            part = self._zip.getinfo(name)
            if part.compress_type != zipfile.ZIP_STORED:
                raise self._bad(f"`{name}` is packed")
            with self._zip.open(part) as file:
                while data := file.read(_READ_BYTES):
                    digest.update(data)
        except KeyError:
            raise self._bad(f"no `{name}` in it") from None
        except (OSError, *_ZIP_ERRORS) as error:
            raise self._bad(f"`{name}`: {first_line(error)}") from None
        return digest.hexdigest()

    def _table(self, group: str) -> bytes:
        data = self._read(table_name(group), TABLE_BYTES_MAX)
        try:
            table = producers_from_bytes(data)
        except DecodeError as error:
            raise self._bad(f"`{table_name(group)}`: {error}") from None
        if table.newest() >= self.about.groups[group].end:
            raise self._bad(f"`{table_name(group)}`: a number that was accepted behind the end")
        return data

    def _check_order(self) -> None:
        """Every group's positions from its first to its end, none missing, none twice."""
        following = {group: span.first for group, span in self.about.groups.items()}
        for batch in self.batches():
            for group, position in zip(
                batch.column("group").to_pylist(), batch.column("position").to_pylist(), strict=True
            ):
                if following.get(group) != position:
                    raise self._bad(f"`{ORDER}`: position {position} of `{group}` is not the next one")
                following[group] = position + 1
        if following != {group: span.end for group, span in self.about.groups.items()}:
            raise self._bad(f"`{ORDER}`: messages are missing at the end")

    def _read_state(self) -> Image | None:
        if self.about.state is None:
            return None
        data = self._read(STATE, TABLE_BYTES_MAX)
        try:
            position = read_image(data)[0]
        except DecodeError as error:
            raise self._bad(f"`{STATE}`: {error}") from None
        first = next(iter(self.about.groups.values()))
        if position != self.about.state or not first.first <= position <= first.end:
            raise self._bad(f"`{STATE}`: of another position")
        return Image(position, data)


class BackupWriter:
    """Writes the parts one after the other; `finish` makes it a backup."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._checks: dict[str, str] = {}

    def add(self, name: str, data: bytes) -> None:
        with self._zip.open(name, "w", force_zip64=True) as part:
            part.write(data)
        self._checks[name] = hashlib.blake2b(data, digest_size=16).hexdigest()

    def add_order(self, batches: Iterator[Any]) -> None:
        with self._zip.open(ORDER, "w", force_zip64=True) as part:
            sink = _Checked(part)
            with pa.ipc.new_stream(pa.PythonFile(sink, "w"), ROWS) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        self._checks[ORDER] = sink.digest.hexdigest()

    def finish(self, about: About) -> None:
        about = msgspec.structs.replace(about, checks=self._checks)
        with self._zip.open(ABOUT, "w") as part:
            part.write(msgspec.json.format(msgspec.json.encode(about)))
        self._zip.close()


class _Checked:
    """A file that is written through."""

    def __init__(self, file: Any) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self.closed = False
        self._file = file

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.digest.update(view)
        self._file.write(view)
        return view.nbytes

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
