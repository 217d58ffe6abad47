"""Experiments on Schneider, Gries, Schlichting 1982: `tree_ack` in the simulator, one broadcast at a time."""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from papers.common.traced import traced
from tocsin.core.rng import Rng
from tocsin.planning.strategies import site_successors, strategy
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.spark.sweep.experiment import Experiment

Shape = Literal["chain", "bush", "minimum"]
Sites = Annotated[int, Meta(ge=2, le=10_000)]
Times = tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)]]  # D, how long a message takes; E, sending one


class Completion(Experiment, frozen=True):
    """Section 4: when the last processor has the message, and how many messages are under way at once."""

    shape: Shape
    sites: Sites
    times: Times

    def cost(self) -> float:
        return self.sites

    def measure(self, seed: int) -> dict[str, float]:
        delay, gap = self.times
        rows = traced(_document(self.shape, self.sites, delay, gap), seed)
        plan = strategy(self.shape, self.sites, delay, gap)
        arrivals = sorted(row.time_us for row in rows if row.event == "receive" and row.kind == "data")
        return {
            "completion": max(row.time_us for row in rows if row.event == "deliver"),
            "completion.planned": plan.completion_time(),
            "buffers": _most_within(arrivals, delay),
            "buffers.planned": plan.buffer_capacity(),
        }


class Duplication(Experiment, frozen=True):
    """Section 4.1: one processor, each as likely, fails at some moment of a broadcast; what is sent twice."""

    shape: Shape
    sites: Sites
    times: Times = (1_000, 1_000)

    def cost(self) -> float:
        return self.sites

    def measure(self, seed: int) -> dict[str, float]:
        delay, gap = self.times
        rng = Rng(seed)
        last = strategy(self.shape, self.sites, delay, gap).completion_time()
        document = _document(self.shape, self.sites, delay, gap)
        failing = rng.below(self.sites)
        # up to the last acknowledgement; a processor that fails later has done all its work
        names = _scenario(document).names
        document["faults"] = [{"at_us": rng.between(1, 2 * last), "crash": [names[failing]]}]
        document["network"]["detect_us"] = delay
        rows = traced(document, seed)
        children = self._children(names)
        takers = {
            row.site
            for row in rows
            if row.event == "send" and row.kind == "data" and row.peer not in children[row.site]
        }
        received: dict[str, int] = {}
        for row in rows:
            if row.event == "receive" and row.kind == "data":
                received[row.site] = received.get(row.site, 0) + 1
        return {
            "attempts": len(takers),
            "again": sum(count - 1 for count in received.values()),
            "data": sum(row.event == "send" and row.kind == "data" for row in rows),
            "messages": sum(row.event == "send" for row in rows),
        }

    def _children(self, names: list[str]) -> dict[str, set[str]]:
        """By site: to whom it sends if nobody fails."""
        plan = strategy(self.shape, self.sites, *self.times)
        return {name: {names[child] for child in site_successors(plan, 0, site)} for site, name in enumerate(names)}


def _document(shape: Shape, sites: int, delay: int, gap: int) -> dict[str, Any]:
    return {
        "protocol": "tree_ack",
        "sites": sites,
        "duration_us": 10**9,
        "options": {
            "detector": "perfect",
            "announce_us": 0,
            "resend_us": 10**9,
            "shape": shape,
            "delay": delay,
            "gap": gap,
        },
        "workload": {"messages": 1, "every_us": 10**9, "senders": ["s0" if sites > 26 else "a"]},
        "network": {"delay_us": delay, "process_us": gap},
    }


def _scenario(document: dict[str, Any]) -> Scenario:
    return scenario_from_document(document, "experiment", Path())


def _most_within(times: list[int], width: int) -> int:
    """The largest number of (sorted) times that lie within one width."""
    most, first = 0, 0
    for last, time in enumerate(times):
        while times[first] <= time - width:
            first += 1
        most = max(most, last - first + 1)
    return most
