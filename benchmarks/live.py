"""Live throughput and latency against Corosync's CPG, in one run on one machine: ratios, never absolute times.

Three members in three network namespaces on one bridge with MTU 1500, all sending, every message delivered in total
order at all three. Ours: counter_token (safe delivery, stronger than the peer's agreed), multicast, sealed, journaled
(kill -9 safe). The peer: Corosync, knet, no encryption, nothing on disk; the better of a window of 256 own messages and
of none. All processes of both run with the same real-time priority, as Corosync's daemons do by default.

Run as root: python -m benchmarks.live [--seconds 5] [--json]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.live_peers import Corosync, corosync_missing, measure_members
from tests.live import namespaces
from tocsin.live.wire.keys import new_key, write_keys

BARS = {100: 5.0, 1024: 3.0, 8192: 2.0}  # messages a second, at least so many times the peer's
LATENCY_BAR = 3.0  # at most so many times the peer's median
RATE = 100.0  # messages a second of each member, for latency
WARM_SECONDS = 2.0
GROUP = """
name = "bench"
protocol = "counter_token"
key_file = "bench.key"
{extra}
[journal]
durability = "{durability}"
archive = false
"""


class Ours:
    """Our members, started anew for each measurement."""

    def __init__(self, folder: Path, spaces: namespaces.Namespaces, extra: str, durability: str) -> None:
        self._folder = folder
        self._spaces = spaces
        self._extra = extra
        self._durability = durability
        self._runs = 0

    def measure(self, size: int, rate: float, seconds: float, attacked: bool = False) -> dict[str, Any]:
        self._runs += 1
        folder = self._folder / f"run{self._runs}"
        folder.mkdir()
        write_keys(folder / "bench.key", [new_key()], replace=False)
        sites = "".join(
            f'{name} = "{address}:7400"\n' for name, address in zip("abc", self._spaces.addresses, strict=True)
        )
        path = folder / "bench.toml"
        text = GROUP.format(extra=self._extra, durability=self._durability)
        path.write_text(text + f"[sites]\n{sites}")
        member = ("chrt", "-r", "1", sys.executable, str(Path(__file__).parent / "live_member.py"), str(path))
        options = ("--size", str(size), "--rate", str(rate), "--seconds", str(seconds), "--warm", str(WARM_SECONDS))
        commands = [self._spaces.command(index, *member, name, *options) for index, name in enumerate("abc")]
        attacker = None
        if attacked:
            attack = ("chrt", "-r", "1", sys.executable, "-m", "benchmarks.live_attack", str(path))
            words = self._spaces.command(1, *attack, str(seconds + 2 * WARM_SECONDS))
            attacker = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        answer = measure_members(commands)
        if attacker is not None:
            answer["hostile_per_s"] = float(attacker.communicate()[0])
        marks = [member["marks"] for member in answer["members"]]
        common = min(map(len, marks))
        answer["bytes_per_s"] = min(member["bytes_per_s"] for member in answer["members"])
        answer["same_order"] = len({tuple(each[:common]) for each in marks}) == 1 and (rate > 0 or common > 0)
        return answer


def run(seconds: float, extra: str, durability: str) -> dict[str, Any]:
    results: dict[str, Any] = {"durability": durability, "sizes": {}}
    with namespaces.Namespaces(3) as spaces, tempfile.TemporaryDirectory() as name:
        ours = Ours(Path(name), spaces, extra, durability)
        with Corosync(Path(name), spaces) as corosync:
            for size in BARS:
                peer = max(
                    (corosync.measure(size, 0.0, window, WARM_SECONDS, seconds) for window in (256, 0)),
                    key=lambda answer: float(answer["messages_per_s"]),
                )
                results["sizes"][size] = {"peer": peer}
            results["latency"] = {"peer": corosync.measure(100, RATE, 0, WARM_SECONDS, seconds)}
        for size in BARS:
            found = results["sizes"][size]
            found["ours"] = ours.measure(size, 0.0, seconds)
            found["ratio"] = found["ours"]["messages_per_s"] / found["peer"]["messages_per_s"]
            found["bar"] = BARS[size]
        results["ceiling_bytes_per_s"] = ceiling(spaces, seconds)
        results["sealed_bytes_per_s"] = ceiling(spaces, seconds, "--sealed")
        for found in results["sizes"].values():
            found["of_ceiling"] = found["ours"]["bytes_per_s"] / results["ceiling_bytes_per_s"]
            found["of_sealed"] = found["ours"]["bytes_per_s"] / results["sealed_bytes_per_s"]
        latency = results["latency"]
        latency["ours"] = ours.measure(100, RATE, seconds)
        latency["ratio"] = latency["ours"]["p50_ms"] / latency["peer"]["p50_ms"]
        latency["bar"] = LATENCY_BAR
        results["attacked"] = ours.measure(100, 0.0, seconds, attacked=True)
    return results


def ceiling(spaces: namespaces.Namespaces, seconds: float, *more: str) -> float:
    """Bytes a second that each of three has from all three, by plain sockets."""
    raw = ("chrt", "-r", "1", sys.executable, str(Path(__file__).parent / "live_raw.py"))
    options = ("--seconds", str(seconds), "--warm", str(WARM_SECONDS), *more)
    commands = [
        spaces.command(index, *raw, str(index), *spaces.addresses, *options) for index in range(len(spaces.names))
    ]
    return float(measure_members(commands)["messages_per_s"])


def print_results(results: dict[str, Any]) -> None:
    print(f"{'':>16}{'ours':>14}{'Corosync':>14}{'ratio':>9}{'bar':>7}")
    for size, found in results["sizes"].items():
        ours, peer = found["ours"], found["peer"]
        label = f"{size} B, msg/s"
        bar = f">= {found['bar']:g}"
        rates = f"{ours['messages_per_s']:>14,.0f}{peer['messages_per_s']:>14,.0f}"
        print(
            f"{label:>16}{rates}{found['ratio']:>9.2f}{bar:>7}  same order: {ours['same_order']}, "
            f"{found['of_ceiling']:.0%} of plain UDP's bytes, {found['of_sealed']:.0%} of sealed UDP's"
        )
        cpu = f"{ours['cpu_s_per_million']:>14.2f}{peer['cpu_s_per_million']:>14.2f}"
        print(f"{'CPU-s/million':>16}{cpu}{ours['cpu_s_per_million'] / peer['cpu_s_per_million']:>9.2f}")
    found = results["latency"]
    bar = f"<= {found['bar']:g}"
    medians = f"{found['ours']['p50_ms']:>14.2f}{found['peer']['p50_ms']:>14.2f}"
    print(f"{'p50 ms, 100/s':>16}{medians}{found['ratio']:>9.2f}{bar:>7}")


def print_attack(results: dict[str, Any]) -> None:
    attacked, peace = results["attacked"], results["sizes"][100]["ours"]
    part = attacked["messages_per_s"] / peace["messages_per_s"]
    print(
        f"{'attacked, msg/s':>16}{attacked['messages_per_s']:>14,.0f}: {part:.0%} of peace, under "
        f"{attacked['hostile_per_s']:,.0f} hostile datagrams/s from one process; same order: {attacked['same_order']}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--durability", choices=("process", "disk"), default="process")
    parser.add_argument(
        "--extra", default='multicast = "239.192.7.1:7401"', help="more keys of the group's file (default: multicast)"
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    reason = corosync_missing() or ("" if namespaces.available() else namespaces.WHY_NOT)
    if reason:
        print(f"benchmarks/live: cannot run here: {reason}", file=sys.stderr)
        return 3
    results = run(arguments.seconds, arguments.extra, arguments.durability)
    if arguments.json:
        print(json.dumps(results))
    else:
        print_results(results)
        print_attack(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
