"""Tables 1 and 2 of Garcia-Molina and Spauster: what one multicast costs."""

from typing import Literal

from papers.spauster.experiments.groups import Groups, Micros, Sites, Size, drawn_groups, mean
from papers.spauster.experiments.multicast import Multicast, lan, mesh, one_multicast
from tocsin.core.rng import Rng
from tocsin.planning.propagation import Forest, propagation_forest
from tocsin.spark.sweep.experiment import Experiment


class Fixed(Experiment, frozen=True):
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


class Drawn(Experiment, frozen=True):
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
            "delay_us.members": mean(found.delays_us),
            "delay_us.two_phase": other.delays_us[-1],
            "delay_us.two_phase.members": mean(other.delays_us),
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
