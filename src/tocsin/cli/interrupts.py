"""Ctrl-C, told from every other failure.

Python raises `KeyboardInterrupt` wherever it happens to be. In the middle of importing an extension module it may come
out as some other error; so it is also noted that Ctrl-C was pressed.
"""

import logging
import signal
import threading
from types import FrameType
from typing import Self


class Interrupts:
    """As a context: notes whether Ctrl-C was pressed inside."""

    def __init__(self) -> None:
        self.pressed = False
        self._is_ours = False

    def __enter__(self) -> Self:
        in_main_thread = threading.current_thread() is threading.main_thread()  # only there signals can be handled
        if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._on_signal)
            self._is_ours = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours and signal.getsignal(signal.SIGINT) == self._on_signal:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.pressed = True
        logging.disable()  # libraries log what the interrupt tore as errors of theirs
        raise KeyboardInterrupt
