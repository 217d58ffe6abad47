"""Ctrl-C in compiled code.

Python looks for signals between the instructions that it interprets; compiled code has none. A loop that may run for
long calls `look_for_signals` now and then: it does nothing, but it is interpreted, and so a `KeyboardInterrupt` comes
out of it. This file is not compiled.
"""


def look_for_signals() -> None:
    """Let the handlers of signals that have come run, and raise."""
