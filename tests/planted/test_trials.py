"""Planted bugs are tried: a few that are caught quickly in every run of the tests, the others in the long one."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.planted.trials import Died, apart
from tocsin.protocols.registry import REGISTRY

ROOT = Path(__file__).parents[2]
QUICK: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "quick.toml").read_text())
WHOLE = ("counter_token",)  # of the others a drawn sample
SAMPLE = "10"


def tried(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("protocol", sorted(QUICK))
def test_bugs_that_are_caught_quickly(protocol: str) -> None:
    ended = tried("tests.planted.quick", protocol, *QUICK[protocol])
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_without_a_bug_nothing_is_caught() -> None:
    """Forced to what it always is, a guard changes nothing: a group that does not exist is never named."""
    ended = tried("tests.planted.quick", "ack_all", "machine.py:AckAll._on_data:false:1")
    assert ended.returncode == 1 and "NOT CAUGHT" in ended.stdout, ended.stdout + ended.stderr


def test_a_bug_that_ends_its_process_ends_nothing_else() -> None:
    with pytest.raises(Died, match="ended with"):
        apart(lambda: os._exit(3), int)


def test_a_command_that_was_stopped_goes_on() -> None:
    effort = "0.02"  # a folder of its own
    once = ("tests.planted", "ack_all", "--only", "_on_data", "--effort", effort)
    for folder in (ROOT / "out" / "planted").glob(f"ack_all-*-{effort}"):
        shutil.rmtree(folder)
    first, again = tried(*once), tried(*once)
    assert "ack_all: 4 planted of" in first.stdout, first.stdout + first.stderr
    assert first.stdout == again.stdout
    assert len(first.stderr.splitlines()) == 4 and again.stderr == ""


@pytest.mark.long
@pytest.mark.parametrize("protocol", sorted(REGISTRY))
def test_planted_bugs(protocol: str) -> None:
    """Each is caught, or known not to be (`not_caught.toml`)."""
    ended = tried("tests.planted", protocol, *([] if protocol in WHOLE else ["--sample", SAMPLE]))
    assert ended.returncode == 0, ended.stdout + ended.stderr
