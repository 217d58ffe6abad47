"""`tocsin join --consumer`, `tocsin journal --follow, --consumers, --forget`: real processes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import tocsin
from tests.live.harness import LiveGroup, wait_until
from tests.live.live_groups import write_group

JOURNAL = (sys.executable, "-W", "error", "-m", "tocsin.cli.main", "journal")


def journal(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*JOURNAL, *words], capture_output=True, text=True, timeout=60)


def payloads(group: LiveGroup, name: str) -> list[str]:
    return [line["payload"] for line in group.lines(name) if "payload" in line]


def test_a_line_that_was_written_does_not_come_again(tmp_path: Path) -> None:
    with LiveGroup(tmp_path, "counter_token", "a") as group:
        home = str(group.data / "a")
        group.start("a", "--consumer", "printer")
        group.wait_answering("a")
        followed = tmp_path / "followed"
        with open(followed, "wb") as sink:
            following = subprocess.Popen([*JOURNAL, home, "--follow"], stdout=sink)
        group.send("a", [str(number) for number in range(100)])
        wait_until("all are written", lambda: len(payloads(group, "a")) == 100)
        wait_until("all are acknowledged", lambda: group.status("a")["consumers"]["printer"]["lag"] == {"all": 0})  # type: ignore[index]
        refused = journal(home, "--forget", "printer")
        assert refused.returncode == 2 and "stop it first" in refused.stderr
        group.kill("a")
        told = json.loads(journal(home, "--consumers", "--json").stdout)["consumers"]
        assert told == {"printer": {"state": "waiting", "positions": {"all": 100}, "lag": {"all": 0}}}
        group.start("a")  # without the consumer
        group.wait_answering("a")
        group.send("a", ["later"])
        wait_until("it is written", lambda: "later" in payloads(group, "a"))
        group.stop("a")
        assert "1 behind" in journal(home, "--consumers").stdout
        (tmp_path / "a.out").unlink()
        group.start("a", "--consumer", "printer")
        group.wait_answering("a")
        group.send("a", ["last"])
        wait_until("it goes on", lambda: "last" in payloads(group, "a"))
        assert payloads(group, "a") == ["later", "last"]
        group.stop("a")
        try:
            wait_until("followed", lambda: b'"last"' in followed.read_bytes())
        finally:
            following.send_signal(signal.SIGINT)
            following.wait(10)
        lines = [json.loads(line) for line in followed.read_text().splitlines()]
        whole = [json.loads(line) for line in journal(home).stdout.splitlines()]
        assert lines == whole[: len(lines)], "over a kill and restarts, each row once"
        assert journal(home, "--forget", "printer").returncode == 0
        assert "no consumer" in journal(home, "--consumers").stderr
        assert "there is none" in journal(home, "--forget", "printer").stderr


def test_without_async(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")
    with tocsin.sync.join(path, "a", consumer="c") as member:
        for text in (b"1", b"2", b"3"):
            member.broadcast(text).ordered()
        for event in member:
            if isinstance(event, tocsin.Delivery) and event.payload == b"2":
                member.ack(event)
                break
    with tocsin.sync.join(path, "a", consumer="c") as member:
        assert next(event for event in member if isinstance(event, tocsin.Delivery)).payload == b"3"
    with tocsin.sync.join(path, "a", after=0) as member:
        assert next(event for event in member if isinstance(event, tocsin.Delivery)).payload == b"2"
