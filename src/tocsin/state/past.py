"""What a member has delivered before, out of its journal and log: for a replica that starts again."""

from collections.abc import Iterator
from pathlib import Path

from tocsin.live.storage.journal import journal_batches

Past = list[tuple[int, str, bytes]]  # position, origin, payload


def read_past(site_dir: Path, group: str, after: int) -> Iterator[Past]:
    """The group's messages from a position on, in order, many at a time. The member may be running: the last ones may
    then be among what it tells live, too; positions say which."""
    for batch in journal_batches(site_dir):
        rows = batch.select(["event", "group", "position", "origin", "payload"]).to_pydict()
        columns = zip(rows["event"], rows["group"], rows["position"], rows["origin"], rows["payload"], strict=True)
        found = [
            (position, origin, payload)
            for event, name, position, origin, payload in columns
            if event == "deliver" and name == group and position >= after
        ]
        if found:
            yield found
