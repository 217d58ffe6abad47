"""How much a task may hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """In rows; a row that is opened takes about 150 bytes."""

    run_rows: int = 1_000_000  # a run of up to so many is solved at once, without looking at its logs first
    task_rows: int = 2_000_000  # of small runs, or of pieces that are scanned
    open_rows: int = 8_000_000  # of a run, or of a window of it, that is opened
    line_rows: int = 32_000_000  # of the logs that are laid into one line
    core_slices: int = 4  # of a window; it has one more on each side
