"""Journals to a trace (docs/formats.md), for `tocsin check` and `tocsin audit`.

A life that ended without a word is a crash; so is one that was closed without leaving. A member that left in order, or
that still runs, is up at the end. Receptions are noted by frames; the trace names the messages in them, which the
deliveries of any of the journals tell.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from tocsin.core.errors import InputError
from tocsin.live.storage.identity import is_running, read_identity, site_folders
from tocsin.live.storage.journal import journal_batches, journal_is_whole
from tocsin.traces.parquet import TraceWriter

_Frame = tuple[str, int, int]  # group, number of the first message, count


def write_trace(paths: list[Path], target: Path) -> int:
    """Write the trace of these members' journals; the number of its rows."""
    folders = [folder for path in paths for folder in site_folders(path)]
    identities = [read_identity(folder) for folder in folders]
    if len({(identity.group, identity.protocol, identity.sites) for identity in identities}) != 1:
        raise InputError(f"{paths[0]}: expected journals of one group, found several")
    _require_whole(folders)
    frames = _frames(folders)
    with TraceWriter(target, identities[0].group, [each.site for each in identities], one_clock=False) as writer:
        for site, folder in enumerate(folders):
            _write_site(writer, site, folder, frames)
        _require_whole(folders)  # still: members may be running
    return writer.close()


def _require_whole(folders: list[Path]) -> None:
    for folder in folders:
        if not journal_is_whole(folder):
            raise InputError(
                f"{folder}: expected a journal from its first start on, found that retention dropped its oldest part; "
                "a trace of the rest would look whole"
            )


def _rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    """Rows of a journal, with sizes in place of payloads."""
    names = ("event", "time_us", "group", "origin", "seqno", "position", "view", "members", "primary", "frame")
    for batch in journal_batches(folder):
        sizes = pc.binary_length(batch.column("payload")).to_pylist()
        yield from zip(*(batch.column(name).to_pylist() for name in names), sizes, strict=True)


def _frames(folders: list[Path]) -> dict[tuple[str, int], _Frame]:
    """What each frame carries: (origin, frame) -> group, first message, count. Empty where no reception was noted."""
    if not any("receive" in pc.unique(b.column("event")).to_pylist() for f in folders for b in journal_batches(f)):
        return {}
    frames: dict[tuple[str, int], _Frame] = {}
    for folder in folders:
        for event, _, group, origin, seqno, _, _, _, _, frame, _ in _rows(folder):
            if event in ("deliver", "broadcast"):
                known = frames.get((origin, frame))
                if known is None:
                    frames[(origin, frame)] = (group, seqno, 1)
                elif seqno >= known[1] + known[2]:
                    frames[(origin, frame)] = (group, known[1], seqno - known[1] + 1)
    return frames


def _write_site(writer: TraceWriter, site: int, folder: Path, frames: dict[tuple[str, int], _Frame]) -> None:
    is_up = False
    last_us = 0
    for event, time_us, group, origin, seqno, position, view, members, primary, frame, size in _rows(folder):
        if event == "deliver":
            writer.append(
                site, time_us, event, group, origin, seqno, None, None, size, position, None if view is None else view
            )
        elif event in ("broadcast", "rollback"):
            writer.append(site, time_us, event, group, origin, seqno, position=position)
        elif event == "view" and primary:  # a minority that stops ordering installs no view (docs/guarantees.md)
            writer.append(site, time_us, event, view=view, members=members)
        elif event == "receive":
            name, first, count = frames.get((origin, frame), (group, 0, 0))
            for number in range(first, first + count):
                writer.append(site, time_us, event, name, origin, number, kind="data")
        elif event == "start":
            if frame > 0:
                if is_up:
                    writer.append(site, last_us, "crash")
                writer.append(site, time_us, "recover")
            is_up = True
        elif event in ("stop", "leave"):
            if event == "stop":
                writer.append(site, time_us, "crash")
            is_up = False
        last_us = time_us
    if is_up and not is_running(folder):
        writer.append(site, last_us, "crash")
