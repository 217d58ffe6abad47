"""Tables for people, on a terminal of any width and through a pipe: nothing is cut, no line is broken inside a word.

In a pipe every row is one line, as long as it needs to be, so that `grep` and `less -S` work. On a terminal that is too
narrow for a table, a last column of prose goes below each row; if that is not enough, each row becomes a list of its
values.
"""

import sys
import textwrap
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

GAP = "  "
INDENT = "    "
UNBROKEN = "\N{NO-BREAK SPACE}"
WIDTH_IN_A_PIPE = 1_000_000  # more than any row has
WIDTH_MIN = 40  # below, lines are broken by the terminal


class Cell:
    """A text with a style of its own."""

    def __init__(self, text: str, style: str = "") -> None:
        self.text = text
        self.style = style


class _Output(Console):
    """A console that leaves it to `main` what to do when the reader of our output has enough."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def output(to_stderr: bool = False, markup: bool = False) -> Console:
    """Where people read: as wide as their terminal; in a pipe, as wide as the text is.

    `markup`: texts hold rich's tags, so what comes from data has to be escaped.
    """
    file = sys.stderr if to_stderr else sys.stdout
    width = None if file.isatty() else WIDTH_IN_A_PIPE
    return _Output(file=file, width=width, highlight=False, markup=markup, emoji=False)


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    *,
    right: Collection[str] = (),
    prose: bool = False,
) -> None:
    """Columns by their headings. `right`: those that hold numbers. `prose`: the last one holds sentences."""
    cells = [[each if isinstance(each, Cell) else Cell(each) for each in row] for row in rows]
    to_the_right = [heading in right for heading in headings]
    width = max(console.width, WIDTH_MIN)
    if _width(headings, cells) <= width:
        _print_rows(console, headings, cells, to_the_right)
    elif prose and _width(headings[:-1], [row[:-1] for row in cells]) <= width:
        _print_rows(console, headings[:-1], cells, to_the_right[:-1], width)
    else:
        _print_lists(console, headings, cells, width)


def _widths(headings: Sequence[str], cells: list[list[Cell]]) -> list[int]:
    return [max([len(heading), *(len(row[at].text) for row in cells)]) for at, heading in enumerate(headings)]


def _width(headings: Sequence[str], cells: list[list[Cell]]) -> int:
    return sum(_widths(headings, cells)) + len(GAP) * (len(headings) - 1)


def _print_rows(
    console: Console, headings: Sequence[str], cells: list[list[Cell]], to_the_right: list[bool], below: int = 0
) -> None:
    """A line a row. `below`: the width within which a row's last cell, which has no column, goes below it."""
    widths = _widths(headings, [row[: len(headings)] for row in cells])
    _print_row(console, [Cell(heading, "bold") for heading in headings], widths, to_the_right)
    for row in cells:
        _print_row(console, row[: len(headings)], widths, to_the_right)
        if below and row[-1].text:
            _print_wrapped(console, Text(row[-1].text, row[-1].style), below, INDENT)


def _print_row(console: Console, row: list[Cell], widths: list[int], to_the_right: list[bool]) -> None:
    line = Text()
    for cell, width, right in zip(row, widths, to_the_right, strict=True):
        text = cell.text.rjust(width) if right else cell.text.ljust(width)
        line.append(text, cell.style).append(GAP)
    line.rstrip()
    console.print(line, soft_wrap=True)


def _print_lists(console: Console, headings: Sequence[str], cells: list[list[Cell]], width: int) -> None:
    """A paragraph a row: each value after its column's name."""
    for row in cells:
        pairs = [f"{heading} {cell.text}" for heading, cell in zip(headings, row, strict=True) if cell.text]
        whole = GAP.join(pair.replace(" ", UNBROKEN) for pair in pairs)
        _print_wrapped(console, Text(whole), width, "", INDENT)


def _print_wrapped(console: Console, text: Text, width: int, first: str, further: str | None = None) -> None:
    lines = textwrap.wrap(
        text.plain,
        width,
        initial_indent=first,
        subsequent_indent=first if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(Text(line.replace(UNBROKEN, " "), text.style), soft_wrap=True)
