"""`tocsin check` and `tocsin.check` on the data folders of real members: what a level needs, what is not owed yet, and
whether the group has settled."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import tocsin
from tests.live.harness import LiveGroup, wait_until
from tests.live.live_groups import run, until, write_group
from tocsin.cli.main import main
from tocsin.judging import judged_by

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

SOON = '[journal]\ndurability = "process"\n'
NOTED = SOON + "receives = true\n"
UNNOTED = SOON + "receives = false\n"


def verdicts(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, str]:
    capsys.readouterr()
    assert main(["check", "--json", *map(str, words)]) == 0
    found = json.loads(capsys.readouterr().out)["properties"]
    return {name: each["verdict"] for name, each in found.items()}


def stopped_group(folder: Path, tail: str) -> Path:
    """The data of a group of three that has ordered a few messages and was closed."""
    path = write_group(folder, "counter_token", tail=tail)

    async def body() -> None:
        members = [await tocsin.join(path, name) for name in "abc"]
        for member in members:
            await member.ready()
        for member in members:
            await (await member.broadcast(b"x")).ordered()
        await until(lambda: all(member.status()["journal"]["positions"].get("all", 0) >= 3 for member in members))
        for member in members:
            await member.close()

    run(body)
    return folder / "data"


def test_a_level_without_its_evidence_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = stopped_group(tmp_path, UNNOTED)
    capsys.readouterr()
    assert main(["check", str(data), "--expect", "agreed"]) == 0
    assert main(["check", str(data), "--expect", "safe"]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == (
        "tocsin check: level safe is not shown: safe is not checkable "
        "(run test: no receive events of kind data that name their message)"
    )
    assert main(["check", str(data), "--expect", "safe", "--allow-unchecked", "safe"]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "tocsin check: level safe holds (not checkable: safe; nobody is asked: uniform_agreement)"
    report = tocsin.check(data)
    assert report.holds("agreed") and not report.holds("safe") and report.holds("safe", allow_unchecked=["safe"])


def test_receptions_show_the_level(tmp_path: Path) -> None:
    data = stopped_group(tmp_path, NOTED)
    assert main(["check", str(data), "--expect", "safe"]) == 0
    assert tocsin.check(data).holds("safe")


def test_what_is_under_way_is_not_owed_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """c is stopped for a moment: a and b deliver what it lacks. It is up and a member, and it will have it."""
    with LiveGroup(tmp_path, "ack_all", tail=SOON) as group:
        group.start_all()
        group.send("a", ["before"])
        group.wait_delivered(1)
        group.signal("c", 19)  # SIGSTOP
        began = time.monotonic()
        group.send("a", ["meanwhile"])
        group.wait_delivered(2, "ab")
        assert verdicts(capsys, group.data, "--patience", "60")["agreement"] == "pass"
        assert verdicts(capsys, group.data, "--patience", "0")["agreement"] == "fail"
        default = judged_by([str(group.data)]).patience
        assert default is not None and default.us == 5_000_000
        assert default.end_us == pytest.approx(time.time_ns() // 1000, abs=10**6)
        wait_until("it is older than the patience", lambda: time.monotonic() - began > 2)
        assert verdicts(capsys, group.data, "--patience", "1")["agreement"] == "fail"
        group.signal("c", 18)  # SIGCONT
        group.wait_delivered(2, "c")
        assert verdicts(capsys, group.data, "--patience", "0")["agreement"] == "pass"


def test_a_group_settles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LiveGroup(tmp_path, "counter_token", tail=SOON) as group:
        group.start_all()
        group.wait_together()
        group.send("a", ["one"])
        group.wait_delivered(1)
        since = datetime.now(UTC)
        assert verdicts(capsys, group.data)["settled"] == "not checkable"
        early = tocsin.check(group.data, calm_since=since)["settled"]  # it has the 20 s that its protocol states
        assert early.verdict == "not checkable" and "to settle in" in (early.why or "")
        wait_until("the bound is over", lambda: (datetime.now(UTC) - since).total_seconds() > 0.2)
        words = ("--calm-since", since.isoformat(), "--patience", "0.1")
        assert verdicts(capsys, group.data, *words)["settled"] == "pass"
        group.signal("c", 19)  # SIGSTOP: a and b go on without it
        wait_until("c is left out", lambda: len((group.status("a") or {})["view"]["members"]) == 2)
        assert verdicts(capsys, group.data, *words)["settled"] == "fail"
        now = datetime.now(UTC).isoformat()
        wait_until("time goes by", lambda: datetime.now(UTC).isoformat() > now)
        assert verdicts(capsys, group.data, "--calm-since", now, "--patience", "0", "--down", "c")["settled"] == "pass"
        group.signal("c", 18)  # SIGCONT
        group.wait_together()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--calm-since", "soon"], "--calm-since: expected microseconds or a time as 2026-03-01T12:00, found `soon`"),
        (["--patience", "-1"], "patience: expected at least 0 seconds, found -1"),
        (["--allow-unchecked", "saf"], "properties: unknown property `saf` (did you mean `safe`?)"),
    ],
)
def test_bad_words(tmp_path: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path), *words]) == 2
    assert capsys.readouterr().err == f"tocsin check: {told}\n"
