"""What Ctrl-C does to a command: one line, and an end within two seconds, whatever it is doing.

A verb that has something to put in order (a trace to close, processes to end) gets a `KeyboardInterrupt`. Python raises
that wherever it happens to be; in the middle of an import it may come out as some other error, and where an object is
taken away it is lost. So every other verb, and every one that has not begun, ends at once: there is nothing to put in
order. A verb that computes does so in a child process, as there may be compiled code for minutes in which Python does
not look for signals; the child dies of Ctrl-C without being asked. A verb on Spark puts in order what it can in a
second: PySpark waits for its jobs, and they for what a task is doing. The JVM sees that this process is gone, and ends
with its workers and temporary files.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # typing's own is not worth its import here (`main.py`)
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Self

INTERRUPTED = 130
TIDYING_SECONDS = 1.0  # that a verb on Spark has for putting things in order
ENVIRONMENT = 3  # the exit code of `EnvironmentMissing`


class Interrupts:
    """As a context: handles Ctrl-C inside it. `said` is how the command is called, for the line."""

    def __init__(self, said: str, is_process: bool) -> None:
        self.said = said
        self.pressed = False
        self.at_once = is_process  # ends the process; only where that is ours
        self.is_on_spark = False  # of the verb
        self._is_process = is_process
        self._is_ours = False
        self._child: int | None = None

    def __enter__(self) -> Self:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            try:
                signal.signal(signal.SIGINT, self._on_signal)
                self._is_ours = True
            except ValueError:  # not the main thread: only there signals can be handled
                pass
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours and signal.getsignal(signal.SIGINT) == self._on_signal:
            # of a process that has said everything, the rest may be cut short
            signal.signal(signal.SIGINT, signal.SIG_DFL if self._is_process else signal.default_int_handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.pressed = True
        if self.at_once:
            if self._child is not None:
                os.kill(self._child, signal.SIGKILL)
            self._end()
        if self.is_on_spark and self._is_process:
            self._end_soon()
        if "logging" in sys.modules:
            sys.modules["logging"].disable()  # libraries log what the interrupt tore as errors of theirs
        raise KeyboardInterrupt

    def _end_soon(self) -> None:
        from threading import Timer

        end = Timer(TIDYING_SECONDS, self._end)
        end.daemon = True
        end.start()

    def _end(self) -> None:
        self.say()
        os._exit(INTERRUPTED)

    def say(self) -> None:
        """The line. A progress bar that was cut short is wiped off, and the cursor that it hid is shown again."""
        wiped = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""
        os.write(2, f"{wiped}{self.said}: interrupted\n".encode(errors="backslashreplace"))

    def in_child(self, work: Callable[[], int]) -> int:
        """Do it in a child process, and return what it returns."""
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            _serve(parent, work)
        self._child = child
        _, status = os.waitpid(child, 0)
        self._child = None
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGINT:
            raise KeyboardInterrupt
        if code < 0:
            print(f"{self.said}: ended by {signal.Signals(-code).name}; is there enough memory?", file=sys.stderr)
            return ENVIRONMENT
        return code


def _serve(parent: int, work: Callable[[], int]) -> None:
    """The child's work, up to its end."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        from tocsin._processes import die_with

        die_with(parent)
        code = work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
