"""`tocsin reproduce` where there is no source tree. (What it does in one: `papers/common/tests`.)"""

from pathlib import Path

import pytest

from tocsin.cli.main import main


def test_elsewhere_it_says_where_the_papers_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tocsin.cli.reproduce.__file__", str(tmp_path / "lib" / "tocsin" / "cli" / "reproduce.py"))
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "schneider", "--quick"]) == 3
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and "in its folder `papers`" in err
    assert not list(tmp_path.iterdir())
