"""A class archive: Spark's 20,000 classes parsed once, mapped into memory at every later start.

It halves the start of a local session (measured, Java 17, 2 cores: 12 s to first result without, 7 s with) and costs
about 180 MB in the user's cache. `make setup` has it made; everything works without it. Java 17 to 24 call it a dynamic
CDS archive, Java 25 an AOT cache; an archive fits one Java, one Spark and one set of flags, so its name holds them all.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tocsin.core.errors import EnvironmentMissing
from tocsin.spark.java import Java, cache_folder, find_java

AOT_JAVA_VERSION_MIN = 25  # -XX:AOTCacheOutput came with 25; older ones write a dynamic CDS archive
TRAINING_SECONDS_MAX = 300.0  # a training run takes 20 to 40 s on 2 shared cores
TRAINING_VARIABLE = "TOCSIN_SPARK_ARCHIVE_OUT"  # names the file that a training session is to write


def archive_path(java: Java, flags: str) -> Path:
    """Where the archive for this Java, this Spark and these JVM flags lies, made or not."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    stamp = f"{java.executable.resolve()} {java.version} {pyspark.__version__} {jars} {jars.stat().st_mtime_ns} {flags}"
    ending = "aot" if java.version >= AOT_JAVA_VERSION_MIN else "jsa"
    return cache_folder("spark") / f"classes-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.{ending}"


def archive_flags(java: Java, flags: str) -> str:
    """The JVM flags that use the archive if it is there, or that make it in a training session."""
    aot = java.version >= AOT_JAVA_VERSION_MIN
    training = os.environ.get(TRAINING_VARIABLE)
    if training:
        return f"-XX:AOTCacheOutput={training}" if aot else f"-XX:ArchiveClassesAtExit={training} -Xlog:disable"
    path = archive_path(java, flags)
    if not path.is_file():
        return ""
    # An archive that no longer fits (a jar changed) is ignored by the JVM, silently with these.
    quiet = "-Xshare:auto -Xlog:disable -Xlog:all=off"
    return f"-XX:AOTCache={path} {quiet}" if aot else f"-XX:SharedArchiveFile={path} {quiet}"


def make_archive() -> Path | None:
    """Make the archive for this machine's Java unless it is there; None if this Java cannot write one.

    A separate process trains: a JVM writes its archive when it exits. It is written beside its place and renamed, so a
    training that is killed leaves nothing that a later session would map.
    """
    from tocsin.spark.session import JVM_FLAGS

    path = archive_path(find_java(), JVM_FLAGS)
    if path.is_file():
        return path
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    environment = {**os.environ, TRAINING_VARIABLE: str(temporary)}
    try:
        subprocess.run(
            [sys.executable, "-m", "tocsin.spark.class_archive", "train"],
            env=environment,
            check=True,
            timeout=TRAINING_SECONDS_MAX,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.replace(temporary, path)
    except (OSError, subprocess.SubprocessError):
        return None
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _train() -> None:
    """What a session does before its first answer: a shuffle, a Python task, Arrow both ways, a Parquet scan."""
    import tempfile

    import pyarrow as pa
    import pyarrow.parquet as pq

    from tocsin.spark.session import SessionOptions, open_session, wait_for_jvm

    with open_session(SessionOptions(master="local[2]")) as spark:
        table = spark.createDataFrame(pa.table({"key": [0, 1, 2, 3], "value": ["a", "b", "c", "d"]}))
        mapped = table.repartition(2, "key").sortWithinPartitions("value").mapInArrow(_same, "key long, value string")
        mapped.groupBy("key").count().toArrow()
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(pa.table({"key": [0, 1], "members": [["a"], ["b"]]}), f"{folder}/part.parquet")
            spark.read.parquet(folder).toArrow()
    wait_for_jvm()


def main(words: list[str]) -> int:
    """`python -m tocsin.spark.class_archive`: make the archive, for set-up; says what it did."""
    if words == ["train"]:
        _train()
        return 0
    try:
        path = make_archive()
    except EnvironmentMissing as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"Spark class archive: {path}" if path else "Spark class archive: not made, sessions start without it")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
