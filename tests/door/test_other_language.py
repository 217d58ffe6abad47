"""A client that is not Python: C++, built with the headers and libraries that the pyarrow package brings."""

import json
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin
from tests.door.door_groups import READER, WRITER, door_tables, wait_open
from tests.live.harness import LiveGroup

SOURCE = Path(__file__).parent / "client.cc"
COMPILER = shutil.which("g++")


def build(folder: Path) -> Path:
    program, libraries = folder / "client", Path(pa.get_library_dirs()[0])
    names = [next(libraries.glob(f"{name}.so.*")) for name in ("libarrow_flight", "libarrow")]
    command = [str(COMPILER), "-std=c++20", "-O0", str(SOURCE), "-I", pa.get_include(), "-o", str(program)]
    command += [*map(str, names), f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler (g++)")
def test_a_client_in_another_language_publishes_and_reads(tmp_path: Path) -> None:
    program = build(tmp_path)
    tables, [url] = door_tables(tmp_path, "a")
    with LiveGroup(tmp_path, "counter_token", "a", tail=tables) as group:
        group.start_all()
        wait_open([url])
        for _ in range(2):  # the second time nothing is new
            done = subprocess.run(
                [program, url, WRITER, "c++"], capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 0, done.stderr
            rows = [line.split("\t") for line in done.stdout.splitlines()]
            assert rows[0] == ["0", "c++", "7", "first from C++"] and rows[1] == ["1", "c++", "8", "second from C++"]
            assert json.loads(rows[2][0])[0]["next"] == 2
        refused = subprocess.run([program, url, READER, "c++"], capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 1 and "may read, not write" in refused.stderr
        with tocsin.connect(url, token=READER) as client:
            assert client.last_number("c++") == 8
