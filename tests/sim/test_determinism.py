"""The same scenario and seed give the same bytes, whatever PYTHONHASHSEED, compiled or interpreted."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin._sources import COMPILED

SHOWCASE = Path(__file__).parents[2] / "examples" / "showcase.toml"


def run(folder: Path, **environment: str) -> tuple[bytes, str]:
    """The answer and the trace's digest of a run in a process of its own."""
    command = [sys.executable, "-m", "tocsin.cli.main", "simulate", str(SHOWCASE), "--seed", "3", "--json"]
    done = subprocess.run(
        [*command, "--trace", str(folder)], capture_output=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout, hashlib.sha256((folder / "trace.parquet").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    return run(tmp_path_factory.mktemp("reference"), PYTHONHASHSEED="0", TOCSIN_PURE="1")


def test_hash_seed_does_not_matter(reference: tuple[bytes, str], tmp_path: Path) -> None:
    assert run(tmp_path, PYTHONHASHSEED="12345", TOCSIN_PURE="1") == reference


def test_compiled_and_interpreted_agree(reference: tuple[bytes, str], tmp_path: Path) -> None:
    again = run(tmp_path, PYTHONHASHSEED="7", TOCSIN_PURE="0")
    assert again == reference
    assert COMPILED or os.environ.get("TOCSIN_PURE") == "1" or not _compiler(), "the unit should be compiled here"


def _compiler() -> bool:
    """Whether make setup would have compiled."""
    return subprocess.run(["sh", "-c", "command -v ${CC:-cc}"], capture_output=True, check=False).returncode == 0
