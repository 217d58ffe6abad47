"""The process of a door: `python -m tocsin.door.process DESCRIPTOR`; its member starts it, and it ends with that."""

import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Final

from tocsin.core.errors import InputError
from tocsin.door.limits import CLOSE_SECONDS, MEMORY_BYTES_MAX, WINDOW_BYTES_MAX
from tocsin.door.link import Link

WATCH_SECONDS: Final = 0.25


class ToMember(logging.Handler):
    """The door's log is the member's."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        self._link.say(record.levelno, record.getMessage())


def serve(sock: socket.socket) -> None:
    """Be the door of the member at the other end, until that says so, or is gone."""
    from tocsin.door.access import Entrance
    from tocsin.door.history import History
    from tocsin.door.reading import Reading
    from tocsin.door.server import Door
    from tocsin.door.tail import Tail
    from tocsin.door.tokens import Tokens
    from tocsin.door.window import Window

    link = Link(sock)
    settings = link.settings
    log = logging.getLogger("tocsin.door")
    log.addHandler(ToMember(link))
    log.setLevel(logging.INFO)
    log.propagate = False
    link.start()
    folder = Path(settings.folder)
    try:
        entrance = Entrance(Tokens(Path(settings.token_file)))
        certificates = _certificates(settings.tls_cert, settings.tls_key)
        window = Window(WINDOW_BYTES_MAX)
        tail = Tail(folder, link, window)
        door = Door(link, Reading(link, History(folder, settings.groups), window, tail), entrance, certificates)
    except (InputError, OSError) as error:
        log.error("the door cannot be opened: %s", error)
        return
    tail.start()
    log.info("open at %s", settings.url)
    gc.collect()
    gc.freeze()
    while not link.is_closing.wait(WATCH_SECONDS):
        link.watch()
    door.close_calls()
    deadline = time.monotonic() + CLOSE_SECONDS
    while entrance.calls() and time.monotonic() < deadline and not link.has_ended:
        time.sleep(0.02)
    stopping = threading.Thread(target=door.shutdown, daemon=True)
    stopping.start()
    stopping.join(0.25)  # what was written goes out; it waits for calls that may never end


def _certificates(cert: str, key: str) -> list[tuple[bytes, bytes]]:
    if not cert:
        return []
    from tocsin.door.certificates import check_pair

    pair = (Path(cert).read_bytes(), Path(key).read_bytes())
    check_pair(*pair, cert)
    return [pair]


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the member gets them, too, and says when it is over
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)


if __name__ == "__main__":
    main()
