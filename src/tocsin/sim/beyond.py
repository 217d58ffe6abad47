"""Whether a protocol is made for the faults of a scenario: `tocsin simulate` refuses those that lie beyond what the
protocol assumes, unless it is asked to run them all the same.

Each fault is judged by its kind, not by what the others make of it: a crash that nothing recovers is a crash.
"""

from tocsin.core.errors import InputError
from tocsin.protocols.protocol import Assumptions
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import FaultConfig, ScenarioConfig


def refuse_beyond(scenario: Scenario, cure: str) -> None:
    """Refuse a scenario with faults that its protocol does not claim to stand; `cure`: what runs it all the same."""
    beyond = first_beyond(scenario.config, scenario.protocol.assumptions)
    if beyond:
        name = scenario.protocol.name
        raise InputError(f"{scenario.source}: `{beyond}`: a fault outside the assumptions of `{name}`; {cure}")


def first_beyond(config: ScenarioConfig, assume: Assumptions) -> str:
    """The key of the first fault beyond the assumptions (or of clocks that are); "" if there is none."""
    left: set[str] = set()  # sites that have left by then
    if config.clocks and not assume.clocks:
        return "clocks"
    for entry in sorted(config.faults, key=_time):
        for key in entry.things():
            returning = key in ("restart", "recover", "join") and _names_one_of(left, getattr(entry, key))
            if not _is_assumed(key, assume, config.network.model) or (returning and not assume.returns):
                return f"faults[{config.faults.index(entry)}].{key}"
        left.update(entry.leave or ())
    return ""


def _time(entry: FaultConfig) -> int:
    return entry.at_us


def _names_one_of(left: set[str], named: list[str] | str) -> bool:
    return bool(left) if isinstance(named, str) else not left.isdisjoint(named)  # a string: everybody


def _is_assumed(key: str, assume: Assumptions, model: str) -> bool:
    match key:
        case "crash" | "restart":
            return assume.crashes != "none"
        case "tear":
            return assume.crashes != "none" and assume.lossy_disk
        case "wipe":
            return assume.wipes
        case "restore":
            return assume.restores
        case "damage":
            return assume.damages
        case "partition":
            return assume.partitions
        case "cut":
            return assume.one_way_cuts
        case "dead":
            return assume.dead_links
        case "slow":
            return assume.slow_sites
        case "fail":  # between switches it is a partition
            return assume.links_change or (model == "switched" and assume.partitions)
        case "pause":
            return assume.pauses
        case "leave":
            return assume.leaves
        case "join":
            return assume.joins
        case "jump":
            return assume.clocks
        case (
            _
        ):  # the end of another fault, a disk that is saved, a change of groups or voters (refused where it is read)
            return True
