"""Who is in the group, as a member's folder keeps it (`seats.json`)."""

from pathlib import Path
from typing import Final

import msgspec

from tocsin.live.errors import UNDECODABLE
from tocsin.live.seating import Seating
from tocsin.live.storage.disk import Disk

SEATS_FILE: Final = "seats.json"


def read_seating(folder: Path) -> Seating | None:
    """As it is kept in a member's folder; None if nothing is, or nothing that can be read: the log has it again."""
    try:
        return msgspec.json.decode(Disk().read_whole(folder / SEATS_FILE), type=Seating)
    except (OSError, *UNDECODABLE):
        return None


def write_seating(folder: Path, seating: Seating) -> None:
    Disk().write_whole(folder / SEATS_FILE, msgspec.json.format(msgspec.json.encode(seating)) + b"\n")
