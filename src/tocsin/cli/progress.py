"""A progress bar on stderr, for people: only on a terminal, and only once the work has taken two seconds."""

import sys
import time
from typing import Any

SHOWN_AFTER_S = 2.0
REDRAWN_EVERY_S = 0.1


class Bar:
    """Shows how far something is; silent in scripts."""

    def __init__(self, what: str, total: float) -> None:
        self._what = what
        self._total = total
        self._began = time.monotonic()
        self._drawn = self._began
        self._progress: Any = None  # rich's, made when first drawn
        self._task: Any = None
        self._person_watches = sys.stderr.isatty()

    def show(self, done: float, note: str = "") -> None:
        """Draw the state of the work, if it is time to."""
        now = time.monotonic()
        if not self._person_watches or now - self._began < SHOWN_AFTER_S or now - self._drawn < REDRAWN_EVERY_S:
            return
        self._drawn = now
        if self._progress is None:
            self._start()
        self._progress.update(self._task, completed=min(done, self._total), note=note)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task(self._what, total=self._total, note="")

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
