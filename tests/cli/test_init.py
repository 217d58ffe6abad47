"""`tocsin init`: a group that can be joined as it says."""

import stat
from pathlib import Path

import pytest

from tocsin.cli.main import main
from tocsin.live.group_config import read_group
from tocsin.live.wire.keys import read_keys


def test_a_group_is_made_and_the_next_words_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my orders"
    assert main(["init", str(folder)]) == 0
    group = read_group(folder / "group.toml")
    assert (group.name, group.sites, group.protocol.name) == ("my orders", ("a", "b", "c"), "counter_token")
    assert group.addresses == tuple(("127.0.0.1", 7401 + number) for number in range(3))
    assert group.key_file is not None and len(read_keys(group.key_file)) == 1
    assert stat.S_IMODE(group.key_file.stat().st_mode) == 0o600
    said = capsys.readouterr().out
    assert [line.split("--as ")[1] for line in said.splitlines() if "--as" in line] == ["a", "b", "c"]
    assert f"  tocsin join '{folder}/group.toml' --as a" in said and "in 3 terminals" in said


def test_what_is_there_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "group.key").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "nothing was touched" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["group.key"]


def test_machines_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "g"), "--sites", "x=10.0.0.1:7401,y=10.0.0.2:7402"]) == 0
    assert read_group(tmp_path / "g" / "group.toml").addresses == (("10.0.0.1", 7401), ("10.0.0.2", 7402))
    assert "on their machines" in capsys.readouterr().out


@pytest.mark.parametrize("sites", ["", "a,,b", "a,a", "a=nowhere", "a/b", "a=127.0.0.1:1,b=127.0.0.1:1"])
def test_bad_sites_leave_nothing_behind(tmp_path: Path, sites: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path), "--sites", sites]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())
