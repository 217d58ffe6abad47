"""The parser of every verb: a bad call is answered in one line, like every other bad input; help fits its terminal."""

import argparse
import re
import sys
import textwrap
from typing import Any, NoReturn


class OneLineParser(argparse.ArgumentParser):
    """Says in one line what is wrong with a call and where its help is."""

    def _print_message(self, message: str, file: Any = None) -> None:
        """The standard one says nothing of what it could not write."""
        (file or sys.stdout).write(message)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


class HelpLines(argparse.HelpFormatter):
    """Texts keep their lines. One that is too long for the terminal goes on below: a command's remark under the
    command, which itself is never broken; prose between two words."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(part for line in text.splitlines() for part in _fitted(indent + line, width))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(" ".join(text.split()), width, "")


def _fitted(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    margin = line[: len(line) - len(line.lstrip())]
    command = re.match(r"(\s+\S.*?)\s{2,}(?=\S)", line)
    if command is not None:
        return [command[1], *_wrapped(line[command.end() :], width, margin + "    ")]
    if line.strip().startswith("tocsin "):
        return [line]
    return _wrapped(line.strip(), width, margin)


def _wrapped(text: str, width: int, margin: str) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
