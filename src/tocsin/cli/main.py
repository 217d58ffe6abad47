"""The command's first and last instructions: files and Ctrl-C in order, then the call (`call.py`).

Until Ctrl-C is handled, pressing it shows Python's traceback: so this file, and what it imports, imports next to
nothing.
"""

import os
import signal
import sys

from tocsin.cli.interrupts import INTERRUPTED, Interrupts

COMPUTING = {"plan", "explore", "check"}  # for minutes perhaps, in compiled code, with nothing to put in order


def main(arguments: list[str] | None = None) -> int:
    """The command of this process; with arguments, a call from inside of one."""
    words = sys.argv[1:] if arguments is None else arguments
    verb = next((word for word in words if not word.startswith("-")), None)
    said = "tocsin" if verb is None else f"tocsin {verb}"
    with Interrupts(said, is_process=arguments is None) as interrupts:
        _open_standard_files()
        try:
            if interrupts.at_once and verb in COMPUTING:
                return interrupts.in_child(lambda: _call(words, verb, interrupts))
            return _call(words, verb, interrupts)
        except BaseException as error:
            if not interrupts.pressed and not isinstance(error, KeyboardInterrupt):
                raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what ends now is not torn by another Ctrl-C
    from tocsin.cli.call import discard_output

    interrupts.say()
    discard_output()
    return INTERRUPTED


def _call(words: list[str], verb: str | None, interrupts: Interrupts) -> int:
    from tocsin.cli.call import answer

    return answer(words, verb, interrupts)


def _open_standard_files() -> None:
    """Where one of the first three files is closed, the next socket would take its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
