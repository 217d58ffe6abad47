"""The wheel is the product: installed outside the tree, it runs a group, simulates, checks and audits, as fast as here.

The fresh environment borrows the dependencies of this one by a path file; tocsin itself comes from the wheel alone.
"""

import json
import os
import site
import subprocess
import sys
import sysconfig
import venv
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tests.live.live_groups import free_ports
from tocsin._sources import COMPILED

ROOT = Path(__file__).parent.parent
SPEED_MIN = 0.8  # of the checkout's; the same code, on a machine that may be doing something else
ROUNDS = 3
KERNEL = "import benchmarks.kernel as kernel; print(max(kernel.ours() for _ in range(3)))"

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("live")]


def call(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def outside(**more: str) -> dict[str, str]:
    """An environment in which nothing leads back to the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TOCSIN_PURE")} | more


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel and a source archive of this tree; of earlier builds there is something left whose source is gone."""
    folder = tmp_path_factory.mktemp("dist")
    platform = f"{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    for gone in ("tocsin/core/gone", "0123456789__mypyc"):
        left = ROOT / "build" / f"lib.{platform}" / f"{gone}{EXTENSION_SUFFIXES[0]}"
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(b"of a module that was renamed since")
    call(["tools/wheel.sh", str(folder)], ROOT, {**os.environ, "PYTHON": sys.executable})
    return folder


@pytest.fixture(scope="module")
def binaries(archives: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    (wheel,) = archives.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)]
    call(pip, folder, outside())
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    where = call([str(python), "-c", "import tocsin; print(tocsin.__file__)"], folder, outside())
    assert Path(where.strip()).is_relative_to(packages)
    return folder / "bin"


def test_what_is_in_the_archives(archives: Path) -> None:
    (wheel,), (source,) = archives.glob("*.whl"), archives.glob("*.tar.gz")
    inside = call([sys.executable, "-m", "zipfile", "-l", str(wheel)], archives)
    assert "licenses/LICENSE" in inside and "tocsin/py.typed" in inside
    assert not any(line.startswith(("tests/", "papers/", "benchmarks/", "docs/")) for line in inside.splitlines())
    assert (".so" in inside) == COMPILED
    objects = [line.split()[0] for line in inside.splitlines() if ".so " in line]
    units = [name for name in objects if "__mypyc" in name]
    assert len(units) == COMPILED, units
    assert [name for name in objects if name not in units and f"{name.partition('.')[0]}.py" not in inside] == []
    listed = {name.partition("/")[2] for name in call(["tar", "tzf", str(source)], archives).splitlines()}
    assert {"LICENSE", "CHANGELOG.md", "docs/guarantees.md", "examples/hello.py", "tests/test_wheel.py"} <= listed
    assert not [name for name in listed if name.endswith((".so", ".key", ".pyc"))]


def test_it_says_how_it_was_built(binaries: Path, tmp_path: Path) -> None:
    said = call([str(binaries / "tocsin"), "--version"], tmp_path, outside())
    assert said.endswith("(compiled)\n" if COMPILED else "(interpreted: nothing was compiled when it was built)\n")
    (tmp_path / "group.toml").write_text(group_file("a"))
    call([str(binaries / "tocsin"), "keygen", "group.key"], tmp_path, outside())
    found = json.loads(call([str(binaries / "tocsin"), "doctor", "group.toml", "--json"], tmp_path, outside()))
    assert found["findings"][0]["check"] == "build"


def group_file(sites: str) -> str:
    lines = [f'{name} = "127.0.0.1:{port}"' for name, port in zip(sites, free_ports(len(sites)), strict=True)]
    head = ['name = "wheel"', 'protocol = "counter_token"', 'key_file = "group.key"', "[sites]"]
    return "\n".join([*head, *lines]) + "\n"


def test_a_group_runs(binaries: Path, tmp_path: Path) -> None:
    (tmp_path / "group.toml").write_text(group_file("abc"))
    call([str(binaries / "tocsin"), "keygen", "group.key"], tmp_path, outside())
    members = [
        subprocess.Popen(
            [str(binaries / "tocsin"), "join", "group.toml", "--as", name],
            cwd=tmp_path,
            env=outside(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abc"
    ]
    try:
        for member, name in zip(members, "abc", strict=True):
            assert member.stdin is not None
            member.stdin.write(f"hello from {name}\n")
            member.stdin.flush()
        heard = [hear(member, 3) for member in members]
        assert heard[0] == heard[1] == heard[2] and len(set(heard[0])) == 3
    finally:
        for member in members:
            member.kill()
            member.communicate()


def hear(member: "subprocess.Popen[str]", count: int) -> list[str]:
    """The payloads of the next deliveries."""
    heard: list[str] = []
    assert member.stdout is not None
    while len(heard) < count:
        line = json.loads(member.stdout.readline())
        if "payload" in line:
            heard.append(line["payload"])
    return heard


def test_it_simulates_checks_and_audits(binaries: Path, tmp_path: Path) -> None:
    tocsin = str(binaries / "tocsin")
    scenario = str(ROOT / "examples" / "showcase.toml")
    simulated = json.loads(call([tocsin, "simulate", scenario, "--trace", "out", "--json"], tmp_path, outside()))
    checked = json.loads(call([tocsin, "check", "out", "--json"], tmp_path, outside()))
    audited = json.loads(call([tocsin, "audit", "out", "--json"], tmp_path, outside()))
    for answer in (checked, audited):
        assert {name: found["verdict"] for name, found in answer["properties"].items()} == simulated["verdicts"]


@pytest.mark.skipif(not COMPILED, reason="there is no compiled unit to compare with")
def test_it_is_as_fast_as_the_checkout(binaries: Path, tmp_path: Path) -> None:
    """Interleaved, the best of each: what else the machine does meets both."""
    installed = [str(binaries / "python"), "-c", KERNEL]
    checkout = [sys.executable, "-c", KERNEL]
    here = outside(PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT}")
    rates: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        there_rate = float(call(installed, tmp_path, outside(PYTHONPATH=str(ROOT))))
        rates.append((there_rate, float(call(checkout, tmp_path, here))))
    ratio = max(there for there, _ in rates) / max(ours for _, ours in rates)
    print(f"the installed kernel has {ratio:.2f} of the checkout's speed")
    assert ratio >= SPEED_MIN
