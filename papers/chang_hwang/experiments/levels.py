"""The level of reliability that a protocol keeps, by experiment (Chang, Hwang, section 5 and Table 4).

Each protocol's level is the lowest that any of its runs keeps: all runs keep it, and one of them breaks the next. The
runs: loss and delay; crashes and returns; and the story of the order that only a site that dies has seen.

R0 to R3 (Garcia-Molina, Spauster; section 5 of the paper), as decided here on a trace:
R1, sites that never failed deliver the same messages in one order; R2, so do all, once those that failed have taken
back what was wrong and caught up; R3, and nothing ever had to be taken back.
"""

from pathlib import Path
from typing import Any, Literal

from tocsin.properties import FAIL, LEVELS, check
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import scenario_from_document
from tocsin.spark.sweep.experiment import Experiment
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.rows import Row

CONSISTENT = ("agreement", "uniform_agreement", "multiple_source", "multiple_group", "acyclic")
SERVICES = ("none", *LEVELS)
LOSSY: dict[str, Any] = {"model": "mesh", "delay_us": [0, 5_000], "loss": 0.2}
BUSY: dict[str, Any] = {"messages": 60, "rate_per_site": 60.0}

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "loss": {"sites": 5, "workload": BUSY, "network": LOSSY},
    "crashes": {
        "sites": 5,
        "workload": BUSY,
        "network": LOSSY,
        "faults": [
            {"at_us": 60_000, "crash": ["a", "d"]},
            {"at_us": 1_200_000, "recover": ["a"]},
            {"at_us": 1_500_000, "recover": ["d"]},
        ],
    },
    "lost order": {  # a orders what nobody else has seen, and dies; the others go on
        "sites": 3,
        "workload": {"messages": 3, "every_us": 300_000, "senders": ["a", "b"]},
        "network": {"model": "mesh", "delay_us": 1_000},
        "faults": [
            {"at_us": 0, "cut": [["a", "b"], ["a", "c"]]},
            {"at_us": 10_000, "crash": ["a"]},
            {"at_us": 11_000, "heal": True},
            {"at_us": 2_000_000, "recover": ["a"]},
        ],
    },
}

# The forms of the protocols that Table 4 compares
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "sequencer": ("sequencer", {}),
    "sequencer, committed": ("sequencer", {"delivery": "committed"}),
    "sequencer, committed, rotating": ("sequencer", {"delivery": "committed", "rotate": True}),
    "two_phase": ("two_phase", {}),
    "optimistic_token": ("optimistic_token", {}),
    "totem_ring": ("totem_ring", {}),
    "counter_token": ("counter_token", {}),
}


class Run:
    """A finished run: its trace, who failed in it, and who was there."""

    def __init__(self, protocol: str, options: dict[str, Any], experiment: dict[str, Any], seed: int) -> None:
        document = {"protocol": protocol, "duration_us": 30_000_000, "options": options, **experiment}
        if REGISTRY[protocol].assumptions.detector:
            document["network"] = {**document["network"], "detect_us": 1_000}
        scenario = scenario_from_document(document, "level", Path())
        trace = TraceBuffer("level", scenario.names)
        run_to_end(scenario.build(seed, trace), scenario.config.duration_us)
        self.rows: list[Row] = list(trace.rows())
        self.names = scenario.names
        self.failed = {row.site for row in self.rows if row.event == "crash"}

    def reliability(self) -> int:
        """The highest of R0 to R3 that the run keeps."""
        never_failed = [name for name in self.names if name not in self.failed]
        if not self._is_consistent(never_failed):
            return 0
        if not self._is_consistent(self.names):
            return 1
        return 2 if any(row.event == "rollback" for row in self.rows) else 3

    def _is_consistent(self, among: list[str]) -> bool:
        rows = [_seen_by(row, among) for row in self.rows if row.site in among]
        found = check(rows, {"all": among}, one_clock=True, properties=CONSISTENT)
        return all(verdict.verdict != FAIL for verdict in found.properties.values())

    def service(self) -> str:
        """The highest of basic … safe that the run keeps, or none."""
        found = check(self.rows, {"all": self.names}, one_clock=True)
        kept = [level for level in LEVELS if not found.failed(level)]
        return kept[-1] if kept else "none"


def _seen_by(row: Row, among: list[str]) -> Row:
    """The row as if there were only these sites: nothing is owed to the others."""
    return row if row.members is None else row._replace(members=tuple(name for name in row.members if name in among))


class Kept(Experiment, frozen=True):
    """What one run keeps: R as a number, the service as its place in SERVICES."""

    form: Literal[
        "sequencer",
        "sequencer, committed",
        "sequencer, committed, rotating",
        "two_phase",
        "optimistic_token",
        "totem_ring",
        "counter_token",
    ]
    experiment: Literal["loss", "crashes", "lost order"]

    def measure(self, seed: int) -> dict[str, float]:
        protocol, options = FORMS[self.form]
        run = Run(protocol, options, EXPERIMENTS[self.experiment], seed)
        return {"reliability": run.reliability(), "service": SERVICES.index(run.service())}
