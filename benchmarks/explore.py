"""Five explorations: states, states a second of processor time, with and without symmetry and liveness.

python benchmarks/explore.py             compiled, where `make setup` compiled it
"""

import time
from pathlib import Path
from typing import Any

import msgspec

from tocsin._sources import COMPILED
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.scenario import scenario_from_document

HELD = {  # the token is held, and sent to the next owner only: tests/protocols/counter_token/test_explored.py
    "token_to": "next",
    "pass_at_once": False,
    "request_wait_us": 75,
    "token_hold_us": 1_000,
    "idle_hold_us": 1_000_000,
    "reissue_us": 300,
    "reissues": 3,
    "request_us": 300,
    "change_us": 500,
    "join_us": 500,
    "window_bytes": 0,
}
BUSH = {"detector": "perfect", "announce_us": 0, "tree": [[1, 2], [1, 3], [1, 4]]}
OVERLAPPING = {"x": ["a", "b"], "y": ["b", "c"], "z": ["c", "a"]}

WORLDS: dict[str, tuple[dict[str, Any], Limits]] = {
    "ack_all: 4 sites, a message, 2 losses, a crash": (
        {"protocol": "ack_all", "sites": 4, "duration_us": 100_000},
        Limits(losses=2, crashes=1),
    ),
    "two_phase: 3 sites, a message, a loss, a crash": (
        {"protocol": "two_phase", "sites": 3, "duration_us": 700_000},
        Limits(losses=1, crashes=1),
    ),
    "counter_token: 3 sites, 3 messages, 2 losses": (
        {
            "protocol": "counter_token",
            "sites": 3,
            "duration_us": 9_000,
            "options": HELD,
            "messages": 3,
            "senders": "ab",
        },
        Limits(losses=2),
    ),
    "propagation_graph: 3 groups, 3 messages, 2 losses": (
        {
            "protocol": "propagation_graph",
            "sites": 3,
            "duration_us": 600_000,
            "groups": OVERLAPPING,
            "messages": 3,
            "senders": "abc",
        },
        Limits(losses=2),
    ),
    "tree_ack: a bush of 4, a message, 3 crashes for good": (
        {"protocol": "tree_ack", "sites": 4, "duration_us": 1_000_000, "options": BUSH, "network": {"detect_us": 0}},
        Limits(crashes=3, recoveries=0),
    ),
}
WAYS = {
    "full": {"symmetry": False, "liveness": False},
    "symmetry": {"liveness": False},
    "and liveness": {},
}


def measure(document: dict[str, Any], limits: Limits) -> str:
    document = dict(document)
    senders = list(document.pop("senders", "a"))
    workload = {"messages": document.pop("messages", 1), "every_us": 1, "senders": senders}
    scenario = scenario_from_document({**document, "workload": workload}, "benchmark", Path())
    start = time.process_time()
    found = explore(scenario, limits)
    seconds = time.process_time() - start
    assert found.finished and found.violation is None
    speed = found.states / seconds
    return f"{found.states:>9,} states {found.transitions:>9,} transitions {seconds:6.2f} s {speed:>9,.0f} states/s"


def main() -> None:
    print("compiled" if COMPILED else "interpreted")
    for name, (document, limits) in WORLDS.items():
        for way, changes in WAYS.items():
            print(f"{name:55} {way:13} {measure(document, msgspec.structs.replace(limits, **changes))}", flush=True)


if __name__ == "__main__":
    main()
