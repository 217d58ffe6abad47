"""Scenarios with faults, and faults one by one, for tests."""

from pathlib import Path

from tests.sim.worlds import SmallWorld
from tocsin.sim.faults import Fault
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.sim.world import Tally


def scenario(*happenings: dict[str, object], **changes: object) -> Scenario:
    document: dict[str, object] = {
        "protocol": "ack_all",
        "sites": 4,
        "duration_us": 2_000_000,
        "workload": {"messages": 40, "every_us": 10_000},
        "faults": list(happenings),
    }
    return scenario_from_document({**document, **changes}, "test", Path())


def happen(small: SmallWorld, what: str, *sites: int, at: int = 0) -> None:
    fault = Fault(at, what)
    fault.sites = list(sites)
    small.simulation.apply(at, fault)


def counted(tally: Tally) -> dict[str, int]:
    return {kind: count for kind, count in tally.faults.items() if count > 0}
