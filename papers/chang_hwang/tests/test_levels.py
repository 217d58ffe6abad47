"""Chang, Hwang, Table 4: the levels by experiment (`papers.chang_hwang.experiments.levels` says what they are)."""

from typing import Any

import pytest

from papers.chang_hwang.experiments.levels import EXPERIMENTS, SERVICES, Run

SEEDS = 3

TABLE: list[tuple[str, dict[str, Any], int, str]] = [
    # protocol, options, R, level of service; the paper's word where it differs
    ("sequencer", {}, 2, "agreed"),  # R3: true of the next two forms
    ("sequencer", {"delivery": "committed"}, 3, "agreed"),
    ("sequencer", {"delivery": "committed", "rotate": True}, 3, "agreed"),
    ("two_phase", {}, 3, "safe"),  # agreed: but a final priority says that every member has the message
    ("optimistic_token", {}, 2, "agreed"),  # safe: true of the commit, not of the delivery before it
    ("totem_ring", {}, 3, "safe"),
    ("totem_ring", {"delivery": "agreed"}, 1, "none"),  # not in the paper; what dies with a site is missed: see below
    ("counter_token", {}, 3, "safe"),
    ("lamport", {}, 3, "agreed"),
    ("push_gossip", {"steps": 1}, 0, "none"),
    ("ack_all", {}, 0, "basic"),
    ("tree_ack", {}, 0, "fifo"),
    ("coordinator_tree", {}, 0, "basic"),
]


@pytest.mark.parametrize(("protocol", "options", "reliability", "service"), TABLE, ids=str)
def test_table_4_the_lowest_level_of_all_runs(
    protocol: str, options: dict[str, Any], reliability: int, service: str
) -> None:
    runs = [Run(protocol, options, experiment, seed) for experiment in EXPERIMENTS.values() for seed in range(SEEDS)]
    assert min(run.reliability() for run in runs) == reliability
    assert min((run.service() for run in runs), key=SERVICES.index) == service


def test_without_crashes_agreed_delivery_of_the_ring_is_agreed_and_not_safe() -> None:
    calm = [Run("totem_ring", {"delivery": "agreed"}, EXPERIMENTS["loss"], seed) for seed in range(SEEDS)]
    assert {run.service() for run in calm} == {"agreed"}
