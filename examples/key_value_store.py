"""A replicated key-value store with an HTTP face: ask any member, every member has everything.

    tocsin init store
    python examples/key_value_store.py store/group.toml a 8001     (b 8002, c 8003 in other terminals)
    curl -X PUT --data 3 localhost:8001/apple
    curl localhost:8002/apple?sync                                 3
    curl -X DELETE localhost:8003/apple

A plain GET reads this member's own state: fast, and perhaps a moment old. With `?sync` it sees every write that was
answered before, at any member. A write is answered when it has its place in the order; kill -9 of a member loses none.
"""

import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tocsin

SECONDS = 20.0  # a request waits so long for a majority, then it is 503
VALUE_BYTES_MAX = 1 << 20


class Handler(BaseHTTPRequestHandler):
    store: "tocsin.sync.Map"  # set below

    def do_GET(self) -> None:
        key, _, wish = self.path[1:].partition("?")
        try:
            if wish == "sync":
                value = self.store.get_synced(key.encode(), timeout=SECONDS)
            else:
                value = self.store.get(key.encode())
        except tocsin.TocsinError as error:
            self.answer(503, str(error).encode())
        else:
            self.answer(404 if value is None else 200, value or b"")

    def do_PUT(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        if size > VALUE_BYTES_MAX:
            self.answer(413)
            return
        value = self.rfile.read(size)
        try:
            self.store.set(self.path[1:].encode(), value, timeout=SECONDS)
        except tocsin.TocsinError as error:
            self.answer(503, str(error).encode())  # it may still come to count: a PUT may be repeated
        else:
            self.answer(204)

    def do_DELETE(self) -> None:
        try:
            was_there = self.store.delete(self.path[1:].encode(), timeout=SECONDS)
        except tocsin.TocsinError as error:
            self.answer(503, str(error).encode())
        else:
            self.answer(204 if was_there else 404)

    def answer(self, code: int, body: bytes = b"") -> None:
        self.send_response(code)
        if code != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if code != 204:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    group, site, port = sys.argv[1:]
    with tocsin.sync.recipes.open(group, site) as shared:
        Handler.store = shared.map("store")
        with ThreadingHTTPServer(("127.0.0.1", int(port)), Handler) as server:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
            print(f"{site}: http://127.0.0.1:{port}/", flush=True)
            server.serve_forever()


if __name__ == "__main__":
    main()
