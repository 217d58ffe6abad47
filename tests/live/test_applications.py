"""The six example applications, as real processes, with a kill -9 in the middle."""

import ast
import contextlib
import http.client
import re
import signal
import sqlite3
import sys
from pathlib import Path

import pytest

import tocsin
from tests.live.harness import LiveGroup, wait_until
from tests.live.live_groups import free_ports

pytestmark = pytest.mark.xdist_group("live")

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = (
    "key_value_store",
    "chat",
    "job_queue",
    "fenced_writer",
    "cache_invalidation",
    "configuration",
)


@pytest.mark.parametrize("name", NAMES)
def test_they_are_short_and_use_public_names_only(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert text.count("\n") < 120
    imported = [
        alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names
    ]
    imported += [str(node.module) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    assert [each for each in imported if each.startswith("tocsin")] == ["tocsin"]
    for used in set(re.findall(r"tocsin\.(\w+)", text)):
        assert used in tocsin.__all__, used


def started(folder: Path, name: str) -> LiveGroup:
    group = LiveGroup(folder, "counter_token", tail='[journal]\ndurability = "process"\n')
    group.program = (sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"))
    return group


def start(group: LiveGroup, name: str, *words: object) -> None:
    group.start_program(name, str(group.path), name, *map(str, words))


def shown(group: LiveGroup, name: str) -> list[str]:
    return (group.folder / f"{name}.out").read_text().splitlines()


def say(group: LiveGroup, name: str, *lines: str) -> None:
    group.send(name, list(lines))


def stop_all(group: LiveGroup) -> None:
    group.wait_answering(group.sites)  # who has just been started knows by now what SIGTERM means
    for name in group.sites:
        group.signal(name, signal.SIGTERM)
    for name in group.sites:
        assert group.wait_gone(name) == 0, group.errors(name)


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes, str | None]:
    """Again and again until somebody is there; then one answer. A PUT or DELETE may be repeated."""
    found: list[tuple[int, bytes, str | None]] = []

    def answered() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request(method, path, body)
            response = connection.getresponse()
            found.append((response.status, response.read(), response.getheader("X-Cache")))
        connection.close()
        return bool(found) and found[-1][0] != 503

    wait_until(f"{method} {path} is answered", answered)
    return found[-1]


def test_a_key_value_store(tmp_path: Path) -> None:
    ports = dict(zip("abc", free_ports(3), strict=True))
    with started(tmp_path, "key_value_store") as group:
        for name in "abc":
            start(group, name, ports[name])
        for number in range(9):
            assert ask(ports["abc"[number % 3]], "PUT", f"/{number}", b"%d" % number)[0] == 204
        group.kill("b")
        for number in range(20, 26):
            assert ask(ports["a"], "PUT", f"/{number}", b"%d" % number)[0] == 204
        assert ask(ports["c"], "DELETE", "/3")[0] == 204
        start(group, "b", ports["b"])
        for name in "abc":
            assert ask(ports[name], "GET", "/3?sync")[0] == 404
            for number in (7, 25):
                assert ask(ports[name], "GET", f"/{number}?sync")[:2] == (200, b"%d" % number)
        stop_all(group)


def test_a_job_queue(tmp_path: Path) -> None:
    with started(tmp_path, "job_queue") as group:
        start(group, "a", "work")
        start(group, "b", "work")
        start(group, "c", "put")
        jobs = [f"job-{number}" for number in range(60)]
        say(group, "c", *jobs)
        wait_until("b works", lambda: len(shown(group, "b")) > 3)
        group.kill("b")
        start(group, "b", "work")

        def done() -> list[str]:
            lines = [line for name in "abc" for line in shown(group, name)]
            return [line.rpartition(" ")[2] for line in lines if " did job" in line]

        # one that b was done with may have ended unsaid by a kill -9 between the answer and the line
        wait_until("all jobs are done", lambda: len(set(done())) >= len(jobs) - 1)
        assert len(done()) == len(set(done())), "no job counts twice"
        stop_all(group)


@pytest.mark.long
def test_a_chat(tmp_path: Path) -> None:
    with started(tmp_path, "chat") as group:
        for name in "abc":
            start(group, name)
        for number in range(10):
            for name in "abc":
                say(group, name, f"{name} says {number}")
        wait_until("all are heard", lambda: all(len(said(group, name)) == 30 for name in "abc"))
        group.kill("c")
        say(group, "a", *(f"meanwhile {number}" for number in range(10)))
        wait_until("a hears itself", lambda: len(said(group, "a")) == 40)
        start(group, "c")
        wait_until("c hears what it missed", lambda: len(said(group, "c")) == 40)
        assert said(group, "a") == said(group, "b") == said(group, "c")
        stop_all(group)


def said(group: LiveGroup, name: str) -> dict[int, str]:
    """By position; what comes again after a kill is the same."""
    found: dict[int, str] = {}
    for line in shown(group, name):
        position, _, text = line.partition(" ")
        if position.isdigit():
            assert found.setdefault(int(position), text) == text
    return dict(sorted(found.items()))


@pytest.mark.long
def test_a_fenced_writer(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"

    def written() -> list[tuple[int, int, str]]:
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=30)) as database:
                return database.execute("SELECT number, token, site FROM written ORDER BY number").fetchall()
        except sqlite3.OperationalError:
            return []

    with started(tmp_path, "fenced_writer") as group:
        for name in "abc":
            start(group, name, path)
        wait_until("a leader writes", lambda: len(written()) > 10)
        for fault in (signal.SIGKILL, signal.SIGSTOP, signal.SIGKILL):
            leader = written()[-1][2]
            group.signal(leader, fault)
            wait_until("another leads", lambda leader=leader: written()[-1][2] != leader)  # type: ignore[misc]
            if fault == signal.SIGSTOP:
                group.signal(leader, signal.SIGCONT)  # it believes to lead, and tries
            else:
                group.wait_gone(leader)
                start(group, leader, path)
            count = len(written())
            wait_until("it goes on", lambda count=count: len(written()) > count + 20)  # type: ignore[misc]
        tokens = [token for _, token, _ in written()]
        assert tokens == sorted(tokens), "nobody writes with an earlier token than one that was seen"
        for token in set(tokens):
            assert len({site for _, each, site in written() if each == token}) == 1
        stop_all(group)


@pytest.mark.long
def test_cache_invalidation(tmp_path: Path) -> None:
    ports = dict(zip("abc", free_ports(3), strict=True))
    path = tmp_path / "pages.db"
    with started(tmp_path, "cache_invalidation") as group:
        for name in "abc":
            start(group, name, ports[name], path)
        for round_number in range(12):
            text = b"version %d" % round_number
            assert ask(ports["abc"[round_number % 3]], "PUT", "/front", text)[0] == 204
            for name in "abc":
                wait_until("it is new", lambda name=name, text=text: ask(ports[name], "GET", "/front")[1] == text)  # type: ignore[misc]
                assert ask(ports[name], "GET", "/front")[1] == text
            if round_number == 5:
                group.kill("b")
                start(group, "b", ports["b"], path)
        hits = [ask(ports[name], "GET", "/front")[2] for name in "abc" for _ in range(2)]
        assert hits.count("hit") >= 3
        stop_all(group)


@pytest.mark.long
def test_configuration_pushed_to_many(tmp_path: Path) -> None:
    def last(name: str) -> dict[str, str]:
        lines = [line.partition(" = ") for line in shown(group, name) if " = " in line]
        return {key: value for key, _, value in lines}

    with started(tmp_path, "configuration") as group:
        for name in "abc":
            start(group, name)
        for number in range(10):
            say(group, "abc"[number % 3], f"key-{number}=value-{number}")
        wait_until("all have all", lambda: all(len(last(name)) == 10 for name in "abc"))
        group.kill("b")
        say(group, "a", "key-1=", "key-2=other", "key-3:value-3=third", "key-4:wrong=no")
        wait_until("c has it", lambda: last("c").get("key-3") == "third")
        (tmp_path / "b.out").write_text("")
        start(group, "b")
        expected = {f"key-{n}": f"value-{n}" for n in (0, *range(4, 10))} | {"key-2": "other", "key-3": "third"}
        wait_until("b has it", lambda: last("b") == expected)
        wait_until("a was told", lambda: "--- it is b'value-4'" in shown(group, "a"))
        assert last("c") == expected | {"key-1": "(not set)"}
        stop_all(group)
