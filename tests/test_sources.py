"""Whether the package runs compiled: right in a checkout, where sources are edited, and where a wheel was installed."""

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tocsin._sources import why_interpreted


def package_in(folder: Path, compiled: bool = True, ending: str = EXTENSION_SUFFIXES[0]) -> Path:
    """A package of one module, whose source is a minute older than what was compiled from it."""
    package = folder / "tocsin"
    (package / "core").mkdir(parents=True)
    source = package / "core" / "rng.py"
    source.write_text("")
    if compiled:
        built = package / "core" / f"rng{ending}"
        built.write_bytes(b"")
        os.utime(source, (built.stat().st_mtime - 60,) * 2)
    return package


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "setup.py").write_text("")
    return tmp_path / "src"


def age(package: Path, name: str, seconds: float) -> None:
    path = package / "core" / name
    os.utime(path, (path.stat().st_mtime + seconds,) * 2)


def test_a_checkout_runs_what_was_compiled_last(checkout: Path) -> None:
    package = package_in(checkout)
    assert why_interpreted(package, "") is None and why_interpreted(package, "0") is None
    assert why_interpreted(package, "1") == "TOCSIN_PURE is set"


def test_an_edited_source_of_a_checkout_switches_the_unit_off(checkout: Path) -> None:
    package = package_in(checkout)
    age(package, "rng.py", 120)
    assert "newer" in str(why_interpreted(package, ""))


def test_a_checkout_that_was_not_compiled(checkout: Path) -> None:
    assert "make setup" in str(why_interpreted(package_in(checkout, compiled=False), ""))


def test_an_installed_wheel_does_not_look_at_times(tmp_path: Path) -> None:
    package = package_in(tmp_path / "site-packages")
    age(package, "rng.py", 1_000_000)
    assert why_interpreted(package, "") is None


def test_a_pure_wheel_says_so(tmp_path: Path) -> None:
    package = package_in(tmp_path / "site-packages", compiled=False)
    assert why_interpreted(package, "") == "nothing was compiled when it was built"


def test_modules_of_another_python_do_not_count(checkout: Path) -> None:
    assert "make setup" in str(why_interpreted(package_in(checkout, ending=".cpython-39-m68k.so"), ""))
