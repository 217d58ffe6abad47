"""What a watch knows, beside the checkpoint of its query: one file, replaced whole after every batch.

Spark runs a batch again whose end it had not noted; the file says which batch it has, so that none counts twice. It is
written before Spark notes the batch as done: after a kill -9 at any moment the two are together again."""

import os
import pickle
from pathlib import Path
from typing import Final

from tocsin.core.errors import InputError
from tocsin.properties.watch.watch import Watch
from tocsin.traces.whole_file import WholeFile, remove_leftovers

NAME: Final = "watch.state"
_VERSION: Final = 1


class StateFile:
    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self._path)

    def load(self, held_max: int) -> tuple[Watch, int]:
        """The watch, and the last batch that is in it."""
        if not self._path.exists():
            return Watch(held_max), -1
        try:
            version, batch, watch = pickle.loads(self._path.read_bytes())
        except Exception as error:
            raise InputError(f"{self._path}: cannot be read ({error}); begin anew with another --checkpoint") from None
        if version != _VERSION:
            raise InputError(f"{self._path}: of another version; begin anew with another --checkpoint")
        return watch, batch

    def save(self, watch: Watch, batch: int) -> None:
        with WholeFile(self._path) as file:
            pickle.dump((_VERSION, batch, watch), file, protocol=pickle.HIGHEST_PROTOCOL)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
