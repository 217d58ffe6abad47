"""Every limit at its smallest: windows of two messages, three that somebody may lack. Slow, and nothing is lost."""

import msgspec
import pytest

from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_seed

SEEDS = 12


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_small_windows_and_backlogs(failures: str) -> None:
    narrow = msgspec.structs.replace(
        PROTOCOL, variations={"failures": (failures,), "window": (1, 2), "backlog": (1, 3)}, liveness_us=60_000_000
    )
    for seed in range(SEEDS):
        outcome = run_seed(narrow, seed, only=EARLIER)
        assert outcome.violated is None, f"seed {seed}: {outcome.violated}"
