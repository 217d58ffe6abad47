"""The scenario's own faults in an exploration: they happen in their order, at any point."""

from tocsin.core.machine import SiteId
from tocsin.sim import faults as fault_kinds
from tocsin.sim.faults import Fault

Pairs = set[tuple[SiteId, SiteId]]

NOT_EXPLORED = (  # a matter of probabilities, of links that sites do not see, of clocks; voters do not change yet
    fault_kinds.ADD,
    fault_kinds.REMOVE,
    fault_kinds.JUMP,
    fault_kinds.SLOW,
    fault_kinds.QUICK,
    fault_kinds.FAIL,
    fault_kinds.REPAIR,
)


class Script:
    """The faults, and what the network and the processes are like after the first so many of them."""

    def __init__(self, faults: list[Fault], names: list[str], group_names: list[str]) -> None:
        self.faults = faults
        self._names = names
        self._group_names = group_names
        self.cut: list[Pairs] = []  # by faults done: between whom messages vanish, for now or for good
        self.paused: list[set[SiteId]] = []  # by faults done: whose processes are stopped
        for done in range(len(faults) + 1):
            self.cut.append(_cut_pairs(faults[:done], len(names)))
            self.paused.append(_paused(faults[:done]))

    def told(self, fault: Fault, sites: list[SiteId]) -> str:
        """What a transcript is told of a fault that happened to these sites, line by line."""
        names = self._names
        what = fault.what
        if what == fault_kinds.PARTITION:
            return "# partition " + " | ".join(" ".join(names[site] for site in part) for part in fault.parts)
        if what == fault_kinds.CUT or what == fault_kinds.DEAD:
            pairs = ", ".join(f"{names[source]} -> {names[target]}" for source, target in fault.pairs)
            return f"# {what} {pairs}"
        if what == fault_kinds.CHANGE:
            asked = f" {names[sites[0]]}" if sites else ""
            members = "".join([f" {names[site]}" for site in sorted(fault.sites)])
            line = f"change{asked} {self._group_names[fault.group]}{members}"
            return line if sites else f"# {line}: nobody to ask"
        if what == fault_kinds.PAUSE or what == fault_kinds.RESUME:
            return f"# {what} " + " ".join(names[site] for site in fault.sites)
        if what == fault_kinds.HEAL or what == fault_kinds.CALM:
            return f"# {what}"
        word = "start" if what == fault_kinds.JOIN else what
        return "\n".join([f"{word} {names[site]}" for site in sites]) if sites else f"# {what}: it changes nothing"


def _cut_pairs(faults: list[Fault], sites: int) -> Pairs:
    parted: Pairs = set()
    cut: Pairs = set()
    dead: Pairs = set()
    for fault in faults:
        if fault.what == fault_kinds.PARTITION:
            parted = _parted(fault.parts, sites)
        elif fault.what == fault_kinds.CUT:
            cut.update(fault.pairs)
        elif fault.what == fault_kinds.DEAD:
            dead.update(fault.pairs)
        elif fault.what == fault_kinds.HEAL:
            parted = set()
            cut = set()
    return parted | cut | dead


def _parted(parts: list[list[SiteId]], sites: int) -> Pairs:
    """Who is not on one side; sites that are not named are each alone."""
    found: Pairs = set()
    for source in range(sites):
        for target in range(sites):
            if source != target and not any(source in part and target in part for part in parts):
                found.add((source, target))
    return found


def _paused(faults: list[Fault]) -> set[SiteId]:
    paused: set[SiteId] = set()
    for fault in faults:
        if fault.what == fault_kinds.PAUSE:
            paused.update(fault.sites)
        else:  # a crash ends a pause
            ends = (fault_kinds.RESUME, fault_kinds.CRASH, fault_kinds.TEAR, fault_kinds.WIPE, fault_kinds.RESTORE)
            if fault.what in ends or fault.what == fault_kinds.DAMAGE:
                paused.difference_update(fault.sites)
    return paused
