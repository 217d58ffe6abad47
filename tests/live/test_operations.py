"""Status, metrics, doctor and the command line around a running member."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.live.live_groups import free_ports, run, write_group
from tocsin.cli.main import main
from tocsin.core.errors import EnvironmentMissing, InputError, TocsinError
from tocsin.live.group_config import read_group
from tocsin.live.operations.doctor import examine, here
from tocsin.live.operations.status import peak_memory_bytes
from tocsin.live.operations.status_server import ask
from tocsin.live.wire.keys import read_keys

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

PROCESS = '[journal]\ndurability = "process"'


async def _ask(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    return await asyncio.get_running_loop().run_in_executor(None, ask, folder, request)


def test_the_status_socket_answers_and_changes_faults(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="ab", tail=PROCESS)
    folder = tmp_path / "data" / "a"

    async def body() -> None:
        member = await tocsin.join(path, "a")
        status = await _ask(folder, {"ask": "status"})
        assert (status["group"], status["site"], status["failed"]) == ("test", "a", None)
        assert status == json.loads(json.dumps(status))
        await _ask(folder, {"ask": "inject", "faults": "loss=0.5"})
        assert (await _ask(folder, {"ask": "status"}))["injected"]["faults"] == "loss=0.5"
        with pytest.raises(TocsinError, match="did you mean `loss`"):
            await _ask(folder, {"ask": "inject", "faults": "los=1"})
        with pytest.raises(TocsinError, match="unknown request"):
            await _ask(folder, {"ask": "dance"})
        assert os.stat(folder / "status.sock").st_mode & 0o077 == 0
        await member.close()
        with pytest.raises(EnvironmentMissing, match="no running member answers"):
            await _ask(folder, {"ask": "status"})

    run(body)


def test_a_deep_folder_has_a_status_socket_too(tmp_path: Path) -> None:
    """A Unix socket's path is at most 108 bytes."""
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    path = write_group(deep, sites="a", tail=PROCESS)

    async def body() -> None:
        member = await tocsin.join(path, "a")
        assert (await _ask(deep / "data" / "a", {"ask": "status"}))["site"] == "a"
        await member.close()

    run(body)


def test_prometheus(tmp_path: Path) -> None:
    [port] = free_ports(1)
    path = write_group(tmp_path, sites="a", head=f'metrics = "127.0.0.1:{port}"', tail=PROCESS)

    async def get(target: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        text = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        return text

    async def body() -> None:
        member = await tocsin.join(path, "a")
        await (await member.broadcast(b"x")).ordered()
        text = await get("/metrics")
        assert text.startswith("HTTP/1.1 200 OK")
        assert 'tocsin_messages_delivered_total{group="test",site="a"} 1' in text
        assert (await get("/other")).startswith("HTTP/1.1 404")
        await member.close()

    run(body)


def test_the_doctor_names_the_failing_hop_and_the_cure(tmp_path: Path) -> None:
    path = write_group(tmp_path, tail=PROCESS)
    group = read_group(path)

    async def body() -> None:
        member = await tocsin.join(path, "b")
        findings = await asyncio.get_running_loop().run_in_executor(None, examine, group, 0)
        await member.close()
        by_check = {finding.check: finding for finding in findings}
        for check in ("file", "key", "disk", "port", "buffers", "offload", "clock"):
            assert by_check[check].found
        assert by_check["peer b"].ok and "1500 bytes both ways" in by_check["peer b"].found
        assert not by_check["peer c"].ok and "--as c" in by_check["peer c"].cure
        assert member.status()["drops"] == {}

    run(body)
    os.chmod(tmp_path / "group.key", 0o644)
    key = next(finding for finding in examine(group, 0) if finding.check == "key")
    assert not key.ok and "chmod 600" in key.found


def test_keygen_changes_keys_in_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k"
    assert main(["keygen", str(path)]) == 0
    [first] = read_keys(path)
    assert main(["keygen", str(path)]) == 2
    assert main(["keygen", str(path), "--promote"]) == 2
    assert main(["keygen", str(path), "--add"]) == 0
    assert read_keys(path)[0] == first
    second = read_keys(path)[1]
    assert main(["keygen", str(path), "--promote"]) == 0
    assert read_keys(path) == [second, first]
    assert main(["keygen", str(path), "--drop"]) == 0
    assert read_keys(path) == [second]
    assert capsys.readouterr().out == ""


def test_a_trace_of_a_journal_makes_no_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_group(tmp_path, sites="a", tail=PROCESS)

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        await (await member.broadcast(b"x")).ordered()
        await member.leave()

    run(body)
    data, target = tmp_path / "data", tmp_path / "new" / "t.parquet"
    assert main(["journal", str(data), "--trace", str(target)]) == 2
    assert f"no such folder; make it first: mkdir -p {target.parent}" in capsys.readouterr().err
    assert not target.parent.exists()
    target.parent.mkdir()
    assert main(["journal", str(data), "--trace", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"trace": str(target), "rows": 3}
    assert main(["journal", str(data)]) == 0
    assert [json.loads(line)["payload"] for line in capsys.readouterr().out.splitlines()] == ["x"]
    assert main(["check", str(data), "--json", "--expect", "agreed", "--allow-unchecked", "view_synchrony"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rows"], answer["properties"]["validity"]["verdict"]) == (3, "pass")


def test_errors_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_group(tmp_path)
    assert main(["join", str(path), "--as", "z"]) == 2
    assert main(["status", str(path), "--as", "a"]) == 3
    assert main(["journal", str(tmp_path / "none")]) == 2
    os.chmod(tmp_path / "group.key", 0o644)
    assert main(["join", str(path), "--as", "a"]) == 3
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 4
    assert main(["doctor", str(path), "--as", "a", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False


def test_exported_names_exist_and_importing_is_light() -> None:
    for name in tocsin.__all__:
        assert getattr(tocsin, name).__name__.removeprefix("tocsin.") == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tocsin.nothing


def test_the_doctor_finds_the_site_that_lives_here(tmp_path: Path) -> None:
    path = write_group(tmp_path)
    assert here(read_group(path)) == 0
    path.write_text(path.read_text().replace("127.0.0.1", "198.51.100.7", 1))  # an address nobody has
    assert here(read_group(path)) == 1
    path.write_text(path.read_text().replace("127.0.0.1", "198.51.100.7"))
    with pytest.raises(InputError, match="--as NAME"):
        here(read_group(path))


def test_the_peak_of_memory_is_that_of_this_process_alone() -> None:
    """`getrusage` begins with the peak of the process that started this one: a small member of a large parent would
    seem to be large."""
    ballast = bytes(range(256)) * (1 << 20)  # 256 MiB, touched
    words = "from tocsin.live.operations.status import peak_memory_bytes; print(peak_memory_bytes())"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert 1 << 20 < int(done.stdout) < len(ballast) < peak_memory_bytes()
