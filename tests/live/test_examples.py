"""The examples and the showcase run as they are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.live.group_config import read_group

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_hello() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "hello.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "all three heard the same, in the same order: True\n"


def test_the_group_file_is_good() -> None:
    assert read_group(EXAMPLES / "orders.toml").sites == ("a", "b", "c")


def test_a_short_showcase(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "tocsin.cli.main", "showcase", "--json", "--engine", "check"]
    command += ["--messages", "1000", "--seconds", "6", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["held"], done.stderr
    assert answer["properties"]["integrity"]["checked"] == 6000
    page = Path(answer["page"]).read_text()
    assert "kill -9 c" in page and page.count("<polyline") >= 6
