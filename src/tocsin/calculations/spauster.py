"""Experiments on Garcia-Molina, Spauster 1988: propagation graphs of random groups, and what one multicast costs."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from tocsin.calculations.calculation import Calculation
from tocsin.calculations.multicast import Multicast, lan, mesh, one_multicast
from tocsin.core.rng import Rng
from tocsin.planning.balance import balanced
from tocsin.planning.propagation import Forest, number_sites, propagation_forest
from tocsin.sim.run import without_trace
from tocsin.sim.scenario import scenario_from_document

Sites = Annotated[int, Meta(ge=2, le=100_000)]
Groups = Annotated[int, Meta(ge=1, le=100_000)]
Size = Annotated[int, Meta(ge=2, le=10_000)]
Micros = Annotated[int, Meta(ge=1, le=10**6)]
# The paper does not say how an exponential size becomes a whole number, nor whether a group of one counts
Distribution = Literal["fixed", "exponential", "exponential_from_2"]

FIGURE_5 = {"alpha": list("abcde"), "beta": list("bfgh"), "gamma": list("ab")}
KEEPING = ("ack", "null")  # kinds that keep edges going; what else is not data changes the graph


def drawn_groups(sites: int, groups: int, size: int, distribution: Distribution, rng: Rng) -> list[list[int]]:
    """Section 4.1: groups of sites chosen uniformly, of one size or of exponential sizes with that mean."""
    return [rng.sample(sites, min(sites, _drawn_size(size, distribution, rng))) for _ in range(groups)]


def _drawn_size(size: int, distribution: Distribution, rng: Rng) -> int:
    if distribution == "fixed":
        return size
    least = 2 if distribution == "exponential_from_2" else 1
    mean = size - least + 1
    if mean <= 1:
        return least
    # rounded up, an exponential variate of this scale has the mean `mean`
    return least - 1 + max(1, math.ceil(rng.exponential(-1.0 / math.log(1.0 - 1.0 / mean))))


class Graphs(Calculation, frozen=True):
    """Graphs 1 to 5: depth, extra nodes and load of the propagation graph of random groups."""

    sites: Sites
    groups: Groups
    size: Size
    distribution: Distribution = "fixed"

    def cost(self) -> float:
        return self.sites + self.groups * self.size

    def measure(self, seed: int) -> dict[str, float]:
        groups = drawn_groups(self.sites, self.groups, self.size, self.distribution, Rng(seed))
        forest = propagation_forest(self.sites, groups)
        level = forest.levels()
        numbers = range(len(groups))
        depths = [forest.depth(group, level) for group in numbers]
        extra = [len(forest.extra_sites(group)) for group in numbers]
        return {
            "depth": _mean(depths),
            "depth.members": _mean([_mean_steps(forest, group, level) for group in numbers]),
            "extra": _mean(extra),
            "extra.groups": _mean([count > 0 for count in extra]),
            "members": _mean([len(members) for members in groups]),
            "trees": len(forest.roots),
            "load.propagation": max(forest.loads()),
            "load.two_phase": max(two_phase_loads(self.sites, groups)),
            "load.two_phase.source": 3 * max(len(members) for members in groups),
            "load.centralized": central_load(busiest_site(self.sites, groups), groups),
        }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _mean_steps(forest: Forest, group: int, level: list[int]) -> float:
    """Steps from the primary destination to a member, over the members."""
    members = forest.groups[group]
    return sum(level[member] for member in members) / len(members) - level[forest.primary[group]]


def two_phase_loads(sites: int, groups: list[list[int]]) -> list[int]:
    """By receiver, when one message goes to every group: the message, the priority sent back, the final one."""
    loads = [0] * sites
    for members in groups:
        for member in members:
            loads[member] += 3
    return loads


def busiest_site(sites: int, groups: list[list[int]]) -> int:
    """The site in most groups, which has least to send as the central site."""
    counts = [0] * sites
    for members in groups:
        for member in members:
            counts[member] += 1
    return counts.index(max(counts))


def central_load(central: int, groups: list[list[int]]) -> int:
    """Of the central site: a message from every source, and one to every other member."""
    return sum(1 + len(members) - (central in members) for members in groups)


class Fixed(Calculation, frozen=True):
    """Tables 1 and 2, two-phase and centralized: one multicast to n members."""

    protocol: Literal["two_phase", "sequencer"]
    model: Literal["mesh", "lan"]
    size: Size
    latency_us: Micros = 1_000  # L; on the lan, T
    processing_us: Micros = 100  # P

    def measure(self, seed: int) -> dict[str, float]:
        found = self._multicast()
        n, latency, processing = self.size, self.latency_us, self.processing_us
        if self.protocol == "two_phase":
            messages = 3 * n if self.model == "mesh" else n + 2
            delay = 3 * latency + (2 * n + 1) * processing
        else:
            messages = n if self.model == "mesh" else 2
            delay = 2 * latency + n * processing
        if self.model == "lan":
            delay = messages * latency
        return {
            "messages": found.messages,
            "messages.formula": messages,
            "delay_us": found.delays_us[-1],
            "delay_us.formula": delay,
            "delivered": len(found.delays_us),
        }

    def _multicast(self) -> Multicast:
        network = mesh(self.latency_us, self.processing_us) if self.model == "mesh" else lan(self.latency_us)
        members = list(range(self.size))
        if self.protocol == "two_phase":
            return one_multicast("two_phase", self.size + 1, [members], 0, self.size, network)
        # The source is a member: `sequencer` sends its order to every site, for whoever may have to follow it
        return one_multicast("sequencer", self.size, [members], 0, self.size - 1, network)


class Drawn(Calculation, frozen=True):
    """Tables 1 and 2: a multicast to one of several random groups, by propagation and in two phases."""

    sites: Sites
    groups: Groups
    size: Size
    model: Literal["mesh", "lan"] = "mesh"
    times: tuple[Micros, Micros] = (1_000, 100)  # L and P; on the lan, T and nothing

    def cost(self) -> float:
        return self.sites + self.groups * self.size

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        groups = drawn_groups(self.sites, self.groups, self.size, "fixed", rng)
        group = rng.below(self.groups)
        forest = propagation_forest(self.sites + 1, groups)  # the last site is the source, in no group
        depth = forest.depth(group, forest.levels())
        extra = len(forest.extra_sites(group))
        network = mesh(*self.times) if self.model == "mesh" else lan(self.times[0])
        found = one_multicast("propagation_graph", self.sites + 1, groups, group, self.sites, network)
        other = one_multicast("two_phase", self.sites + 1, groups, group, self.sites, network)
        faster = float(found.delays_us[-1] < other.delays_us[-1])
        return {
            "depth": depth,
            "extra": extra,
            "messages": found.messages,
            "messages.two_phase": other.messages,
            "delay_us": found.delays_us[-1],
            "delay_us.members": _mean(found.delays_us),
            "delay_us.two_phase": other.delays_us[-1],
            "delay_us.two_phase.members": _mean(other.delays_us),
            "delivered": len(found.delays_us) / self.size,
            "faster.shallow" if depth <= 2 else "faster.deep": faster,
            **self._against_formulas(found, forest, group, depth),
        }

    def _against_formulas(self, found: Multicast, forest: Forest, group: int, depth: int) -> dict[str, float]:
        """Shares (1 or 0 in one replicate) in which the tables' formulas give what was measured."""
        latency, processing = self.times
        handling = len(forest.relays(group))  # n + epsilon
        delay = found.delays_us[-1]
        if self.model == "mesh":
            part = (delay - (depth + 1) * latency) / (handling * processing)  # of the bound's processing
            return {
                "messages.agree": float(found.messages == handling),
                "delay_us.bound": (depth + 1) * latency + handling * processing,
                "delay_us.within": float(delay <= (depth + 1) * latency + handling * processing),
                "processing.part": part,
                "processing.part.bush" if depth == 1 else "processing.part.deep": part,
                "delay_us.least": float(delay >= (depth + 1) * (latency + processing)),
            }
        inner = {forest.parent[site] for site in forest.relays(group) if site != forest.primary[group]}
        shares = {
            "messages.agree": float(found.messages == depth + 1),
            "messages.inner": float(found.messages == 1 + len(inner)),
            "delay_us.agree": float(delay == (depth + 1) * latency),
            "delay_us.within": float(delay <= found.messages * latency),
            "path": float(len(inner) == depth),  # one inner node on every level: the table's case
        }
        if len(inner) == depth:
            shares["path.messages.agree"] = shares["messages.agree"]
            shares["path.delay_us.agree"] = shares["delay_us.agree"]
        return shares


class Loads(Calculation, frozen=True):
    """Graphs 4 and 5 by running protocols: a message to every group, one after the other, counted site by site."""

    protocol: Literal["two_phase", "sequencer", "propagation_graph"]
    sites: Sites
    groups: Groups
    size: Size

    def cost(self) -> float:
        return self.groups * (self.sites + self.groups * self.size)

    def measure(self, seed: int) -> dict[str, float]:
        groups = drawn_groups(self.sites, self.groups, self.size, "fixed", Rng(seed))
        network = mesh(1_000, 100)
        load = [0] * (self.sites + 1)
        if self.protocol == "sequencer":
            central = busiest_site(self.sites, groups)
            for members in groups:
                # As its own system, since `sequencer` sends its order to every site; the first site orders
                small = [central, *[member for member in members if member != central]]
                inside = list(range(1 - (central in members), len(small)))
                found = one_multicast("sequencer", len(small), [inside], 0, len(small) - 1, network)
                for place, count in enumerate(found.load):
                    load[small[place]] += count
            counted = central_load(central, groups)
        else:
            for group in range(self.groups):
                found = one_multicast(self.protocol, self.sites + 1, groups, group, self.sites, network)
                load = [total + count for total, count in zip(load, found.load, strict=True)]
            load.pop()  # the source is in no group
            counted = max(two_phase_loads(self.sites, groups))
            if self.protocol == "propagation_graph":
                counted = max(propagation_forest(self.sites, groups).loads())
        return {"load": max(load), "load.counted": counted, "agree": float(max(load) == counted)}


class FigureFive(Calculation, frozen=True):
    """Figure 5: the three groups of section 4.1, and the graph changed to relieve its busiest site."""

    depth_growth: Annotated[int, Meta(ge=0, le=1_000)]

    def measure(self, seed: int) -> dict[str, float]:
        names, groups = number_sites(FIGURE_5)
        forest = balanced(propagation_forest(len(names), groups), self.depth_growth)
        level = forest.levels()
        loads = forest.loads()
        return {
            "load": max(loads),
            "load.a": loads[names.index("a")],
            "load.b": loads[names.index("b")],
            "depth": max(forest.depth(group, level) for group in range(len(groups))),
            "extra": sum(len(forest.extra_sites(group)) for group in range(len(groups))),
            "groups.a": sum(names.index("a") in members for members in groups),
        }


class Trade(Calculation, frozen=True):
    """Figure 5's trade on random groups: the largest load, when groups may become so much deeper."""

    sites: Sites
    groups: Groups
    size: Size
    depth_growth: Annotated[int, Meta(ge=0, le=1_000)]
    allow_extra: bool = False

    def cost(self) -> float:
        return self.sites + self.groups * self.size

    def measure(self, seed: int) -> dict[str, float]:
        groups = drawn_groups(self.sites, self.groups, self.size, "fixed", Rng(seed))
        first = propagation_forest(self.sites, groups)
        forest = balanced(first, self.depth_growth, self.allow_extra)
        level = forest.levels()
        numbers = range(len(groups))
        load, load_first = max(forest.loads()), max(first.loads())
        return {
            "load": load,
            "load.first": load_first,
            "load.ratio": load / load_first,
            "lower": float(load < load_first),
            "depth": _mean([forest.depth(group, level) for group in numbers]),
            "extra": _mean([len(forest.extra_sites(group)) for group in numbers]),
        }


class Change(Calculation, frozen=True):
    """Section 4.3: what a new propagation graph costs, in messages: one group of several gets other members."""

    sites: Sites
    groups: Groups
    size: Size

    def cost(self) -> float:
        return self.sites + self.groups * self.size

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        names = [f"s{number}" for number in range(self.sites)]
        groups = drawn_groups(self.sites, self.groups + 1, self.size, "fixed", rng)
        other = groups.pop()
        document = {
            "protocol": "propagation_graph",
            "sites": names,
            "groups": {f"g{number}": [names[site] for site in members] for number, members in enumerate(groups)},
            "duration_us": 2_000_000,
            "workload": {
                "messages": 1,
                "every_us": 10**9,
                "start_us": 1_000_000,
            },  # a run without messages ends at once
            "network": {"delay_us": 1_000},
            "faults": [{"at_us": 100_000, "change": {"g0": [names[site] for site in other]}}],
        }
        tally = without_trace(scenario_from_document(document, "change", Path()), seed).world.tally
        forest = propagation_forest(self.sites, groups)
        changing = sum(count for kind, count in tally.sends.items() if kind != "data" and kind not in KEEPING)
        one = _mean([len(forest.relays(group)) for group in range(len(groups))])
        return {"messages": changing, "multicasts": changing / one}
