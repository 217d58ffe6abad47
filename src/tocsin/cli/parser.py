"""The parser of every verb: a bad call is answered in one line, like every other bad input."""

import argparse
import sys
from typing import Any, NoReturn


class OneLineParser(argparse.ArgumentParser):
    """Says in one line what is wrong with a call and where its help is."""

    def _print_message(self, message: str, file: Any = None) -> None:
        """The standard one says nothing of what it could not write."""
        (file or sys.stdout).write(message)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)
