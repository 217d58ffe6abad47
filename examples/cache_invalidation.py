"""Web workers that cache what a database has, and tell one another what has changed.

    tocsin init cache
    python examples/cache_invalidation.py cache/group.toml a 8001 pages.db     (b 8002, c 8003 in other terminals)
    curl -X PUT --data hello localhost:8001/front
    curl localhost:8002/front

A PUT writes the database, then broadcasts the name of the page, and is answered when that has its place in the order.
Every worker drops the page from its cache when it hears so. A worker that starts, or was cut off, has an empty cache:
it may have missed something. What is read from the database is kept only if no change was heard meanwhile.
"""

import signal
import sqlite3
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tocsin


class Cache:
    """Pages by name. A page that was read before something was heard is shown, and not kept."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._pages: dict[str, str | None] = {}
        self._heard = 0  # changes so far

    def drop(self, name: str | None) -> None:
        with self._lock:
            self._heard += 1
            if name is None:
                self._pages.clear()
            else:
                self._pages.pop(name, None)

    def get(self, name: str) -> tuple[str | None, bool]:
        """The page, and whether the cache had it."""
        with self._lock:
            if name in self._pages:
                return self._pages[name], True
            before = self._heard
        with closing(sqlite3.connect(self._path, timeout=30)) as database:
            row = database.execute("SELECT text FROM pages WHERE name = ?", (name,)).fetchone()
        page = None if row is None else row[0]
        with self._lock:
            if self._heard == before:
                self._pages[name] = page
        return page, False

    def put(self, name: str, text: str) -> None:
        with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
            database.execute("INSERT OR REPLACE INTO pages VALUES (?, ?)", (name, text))


class Handler(BaseHTTPRequestHandler):
    cache: Cache  # these two are set below
    member: "tocsin.sync.Member"

    def do_GET(self) -> None:
        page, was_cached = self.cache.get(self.path[1:])
        body = (page or "").encode()
        self.send_response(404 if page is None else 200)
        self.send_header("X-Cache", "hit" if was_cached else "miss")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        name, size = self.path[1:], int(self.headers.get("Content-Length", 0))
        self.cache.put(name, self.rfile.read(size).decode())
        try:
            self.member.broadcast(name.encode()).ordered(timeout=20)
            code = 204
        except tocsin.TocsinError:
            code = 503  # written, and perhaps not told: the client sends it again
        self.send_response(code)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def listen(member: "tocsin.sync.Member", cache: Cache) -> None:
    for event in member:
        cache.drop(event.payload.decode() if isinstance(event, tocsin.Delivery) else None)


def main() -> None:
    group, site, port, path = sys.argv[1:]
    with closing(sqlite3.connect(path, timeout=30)) as database:
        database.execute("CREATE TABLE IF NOT EXISTS pages (name TEXT PRIMARY KEY, text TEXT)")
    with tocsin.sync.join(group, site) as member:
        Handler.cache, Handler.member = Cache(path), member
        threading.Thread(target=listen, args=(member, Handler.cache), daemon=True).start()
        with ThreadingHTTPServer(("127.0.0.1", int(port)), Handler) as server:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
            print(f"{site}: http://127.0.0.1:{port}/", flush=True)
            server.serve_forever()


if __name__ == "__main__":
    main()
