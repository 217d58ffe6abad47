"""Arrow files of a journal, held for a reader while the member goes on: retention may drop them at any moment."""

import os
from pathlib import Path

import pyarrow as pa

from tocsin.core.errors import EnvironmentMissing
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.journal_checks import require_as_written
from tocsin.live.storage.journal_writer import arrow_file
from tocsin.traces.columns import first_line

HELD = "journal"  # below the scratch folder: the held files, named as the member names them


class FileHolder:
    """Holds files in a scratch folder, as hard links: they cost nothing, and the bytes stay though the name goes.

    Where links cannot be made (another file system, another owner), a file of a running member is copied, without
    payloads, which no check reads and which are most of its bytes; one of a stopped member stays where it is."""

    def __init__(self, scratch: Path, is_running: bool) -> None:
        self._folder = scratch / HELD
        self._is_running = is_running
        self._disk = Disk()
        self._folder.mkdir()

    def hold(self, path: Path) -> Path:
        """Where the file can be read from now on; FileNotFoundError if it is gone, Damaged if it is not as it was
        written."""
        held = self._folder / path.name
        try:
            os.link(path, held)
        except FileNotFoundError:
            raise
        except OSError:
            require_as_written(self._disk, path)
            if not self._is_running:
                return path.absolute()
            _copy_without_payloads(path, held)
            return held
        require_as_written(self._disk, path, held)
        return held


def _copy_without_payloads(path: Path, target: Path) -> None:
    with arrow_file(path) as reader:
        names = [name for name in reader.schema.names if name != "payload"]
        schema = pa.schema([reader.schema.field(name) for name in names], reader.schema.metadata)
        batches = [reader.get_batch(number).select(names) for number in range(reader.num_record_batches)]
        for batch in batches:
            batch.validate(full=True)  # before anything relies on what it says
        try:
            with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        except OSError as error:
            raise EnvironmentMissing(
                f"{target.parent}: journals of running members are copied here without payloads, and that failed: "
                f"{first_line(error)}; make room, or name another folder by TMPDIR"
            ) from None
