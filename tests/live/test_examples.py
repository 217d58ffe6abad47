"""The examples and the showcase run as they are."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.live_groups import free_ports
from tocsin.live.group_config import read_group

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
README = (ROOT / "README.md").read_text()
TEN_LINES, PROOF = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


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


def test_choosing_and_proving() -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / "choose_and_prove.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert [line.partition("held: ")[2] for line in done.stdout.splitlines()] == [
        "agreement",
        "agreement, fifo, multiple_source, safe",
    ]


def test_the_readme_has_the_example() -> None:
    assert (EXAMPLES / "orders.py").read_text().partition('"""\n\n')[2] == TEN_LINES


def test_the_readme_works_as_typed(tmp_path: Path) -> None:
    """Its commands, but for the ports, which other tests may use, and the processes in the background."""
    (typed,) = re.findall(r"```\n(export PATH.*?)```", README, re.DOTALL)
    commands = [line.partition("#")[0].strip() for line in typed.splitlines()][1:]
    (tmp_path / "examples").mkdir()
    text = (EXAMPLES / "orders.toml").read_text()
    for usual, port in zip(("7401", "7402", "7403"), free_ports(3), strict=True):
        text = text.replace(usual, str(port))
    (tmp_path / "examples" / "orders.toml").write_text(text)
    (tmp_path / "examples" / "orders.py").write_text(TEN_LINES)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            words = command.removesuffix("< /dev/null &").split()
            program = [sys.executable, *([] if words[0] == "python" else ["-m", "tocsin"]), *words[1:]]
            if command.endswith("&"):
                running.append(
                    subprocess.Popen(program, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                )
            else:
                done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
                assert done.returncode == 0, done.stderr
        assert len(running) == 2
        assert done.stdout.startswith("ordered at 0\n") and "payload=b'hello'" in done.stdout
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_the_proof_of_the_readme() -> None:
    done = subprocess.run([sys.executable, "-c", PROOF], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "agreement pass" in done.stdout, done.stderr


def test_the_group_file_is_good() -> None:
    assert read_group(EXAMPLES / "orders.toml").sites == ("a", "b", "c")


def test_a_short_showcase(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "tocsin.cli.main", "showcase", "--json", "--engine", "check"]
    command += ["--messages", "1000", "--seconds", "6", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["held"], done.stderr
    assert answer["properties"]["integrity"]["checked"] == 6000
    assert answer["properties"]["settled"]["verdict"] == "pass"
    page = Path(answer["page"]).read_text()
    assert "kill -9 c" in page and page.count("<polyline") >= 6
