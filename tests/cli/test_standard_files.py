"""The three standard files of a process: a reader that has enough, or none of them open."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOCSIN = [sys.executable, "-m", "tocsin.cli.main"]
LONG = ("plan", "strategy", "--sites", "2000", "--delay", "3", "--gap", "1")


@pytest.mark.parametrize("words", [("protocols", "--no-costs"), LONG])
def test_a_reader_that_has_enough_is_no_failure(words: tuple[str, ...]) -> None:
    with subprocess.Popen([*TOCSIN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        assert (process.wait(60), errors) == (0, b"")


def test_a_full_disk_is_told_in_one_line() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*TOCSIN, *LONG], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1), done.stderr


@pytest.mark.parametrize("closed", [0, 1])
def test_no_socket_takes_the_place_of_a_closed_standard_file(closed: int) -> None:
    """A daemon may be started with its standard files closed; a socket in their place would be read as stdin."""
    program = f"import os; os.close({closed}); os.execv({sys.executable!r}, {[*TOCSIN, '--version']!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
