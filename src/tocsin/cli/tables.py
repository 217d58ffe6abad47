"""Tables for people, on a terminal of any width and through a pipe: nothing is cut, no line is broken inside a word.

In a pipe every row is one line, as long as it needs to be, so that `grep` and `less -S` work. On a terminal that is too
narrow for a table, the last columns, if they hold prose, go below each row; if that is not enough, each row becomes a
list of its values.
"""

import sys
import textwrap
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

GAP = "  "
INDENT = "    "
LABEL = 12  # columns that a label takes
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
    prose: int = 0,
) -> None:
    """Columns by their headings. `right`: those that hold numbers. `prose`: how many of the last hold sentences."""
    cells = [[each if isinstance(each, Cell) else Cell(each) for each in row] for row in rows]
    to_the_right = [heading in right for heading in headings]
    width = max(console.width, WIDTH_MIN)
    if _width(headings, cells) <= width:
        _print_rows(console, headings, cells, to_the_right)
    elif prose and _width(headings[:-prose], [row[:-prose] for row in cells]) <= width:
        _print_rows(console, headings, cells, to_the_right, width, prose)
    else:
        _print_lists(console, headings, cells, width)


def _widths(headings: Sequence[str], cells: list[list[Cell]]) -> list[int]:
    return [max([len(heading), *(len(row[at].text) for row in cells)]) for at, heading in enumerate(headings)]


def _width(headings: Sequence[str], cells: list[list[Cell]]) -> int:
    return sum(_widths(headings, cells)) + len(GAP) * (len(headings) - 1)


def _print_rows(
    console: Console,
    headings: Sequence[str],
    cells: list[list[Cell]],
    to_the_right: list[bool],
    width: int = 0,
    below: int = 0,
) -> None:
    """A line a row. `below`: so many of a row's last cells have no column, and go below it within the width; where
    there are several, each after its heading."""
    columns = len(headings) - below
    widths = _widths(headings[:columns], [row[:columns] for row in cells])
    _print_row(console, [Cell(heading, "bold") for heading in headings[:columns]], widths, to_the_right[:columns])
    for row in cells:
        _print_row(console, row[:columns], widths, to_the_right[:columns])
        for heading, cell in zip(headings[columns:], row[columns:], strict=True):
            said = cell.text if below == 1 else f"{heading} {cell.text}"
            if cell.text:
                _print_wrapped(console, Text(said, cell.style), width, INDENT, INDENT * min(below, 2))


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
        short = width - len(INDENT)  # a pair that fits on a line stays on one
        whole = GAP.join(pair.replace(" ", UNBROKEN) if len(pair) <= short else pair for pair in pairs)
        _print_wrapped(console, Text(whole), width, "", INDENT)


def print_line(console: Console, line: str) -> None:
    """A line of prose; on a terminal, what does not fit goes on below it. In a pipe, one line."""
    if console.is_terminal:
        _print_wrapped(console, Text(line), max(console.width, WIDTH_MIN), "", INDENT)
    else:
        console.print(Text(line), soft_wrap=True)


def print_labelled(console: Console, label: str, text: str) -> None:
    """`label  text`; what does not fit on the line goes on below the text. In a pipe, one line."""
    first = label.ljust(LABEL)
    if console.is_terminal:
        _print_wrapped(console, Text(text), max(console.width, WIDTH_MIN), first, " " * LABEL)
    else:
        console.print(Text(first + text), soft_wrap=True)


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
