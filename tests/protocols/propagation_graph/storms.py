"""Short runs in which much goes wrong at once: five sites in overlapping groups; partitions, crashes, changes.

The swarm draws from everything; a storm is made for what is rare there: managers that work against one another, sites
that deliver what nobody else has and are left out. It may have special kinds of things besides, as the swarm has them.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config
from tocsin.core.rng import Rng
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.duties.duties import Duties, first_unknown
from tocsin.sim.run import check_rows, run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.swarm.kinds import SPECIAL
from tocsin.sim.swarm.plan import Plan
from tocsin.sim.swarm.swarm import first_violation
from tocsin.traces.buffer import TraceBuffer

SITES = list("abcde")
GROUPS = {"alpha": ["a", "b", "c", "d", "e"], "beta": ["c", "d", "e"], "gamma": ["a", "b"]}
HEAL_US = 2_500_000
END_US = 18_000_000  # the protocol's bound after the last fault, and half a second


def storm(seed: int, options: dict[str, Any], kinds: Collection[str] = ()) -> dict[str, Any]:
    rng = Rng(seed).fork("storm")
    faults: list[dict[str, Any]] = []
    for _ in range(rng.between(2, 6)):
        begin = rng.between(0, HEAL_US - 500_000)
        end = begin + rng.between(50_000, 900_000)
        way = rng.below(4)
        chosen = [SITES[site] for site in rng.sample(5, rng.between(1, 3))]
        if way == 0:
            others = [name for name in SITES if name not in chosen]
            faults += [{"at_us": begin, "partition": [chosen, others]}, {"at_us": end, "heal": True}]
        elif way == 1:
            faults += [{"at_us": begin, "crash": chosen}, {"at_us": end, "recover": chosen}]
        elif way == 2:
            faults += [{"at_us": begin, "pause": chosen[:1]}, {"at_us": end, "resume": chosen[:1]}]
        else:
            faults.append({"at_us": begin, "change": {["alpha", "beta", "gamma"][rng.below(3)]: chosen}})
    document: dict[str, Any] = {
        "protocol": "propagation_graph",
        "sites": SITES,
        "groups": GROUPS,
        "options": {"null_us": 20_000, "suspect_after": 3, "grace_us": 40_000, **options},
        "duration_us": END_US,
        "workload": {"messages": rng.between(50, 250), "every_us": rng.between(10_000, 40_000)},
        "network": {"delay_us": [200, rng.between(500, 10_000)], "loss": round(rng.random() * 0.2, 3)},
        "disk": {},
    }
    plan = Plan(PROTOCOL, HEAL_US)
    plan.names = SITES
    plan.document = document
    for kind in kinds:
        SPECIAL[kind].draw(plan, rng.fork(kind))
    faults += plan.faults()
    for what in ("resume", "recover", "quick"):
        faults.append({"at_us": HEAL_US, what: SITES})
    faults += [{"at_us": HEAL_US, "heal": True}, {"at_us": HEAL_US, "calm": True}]
    return {**document, "faults": sorted(faults, key=lambda fault: int(fault["at_us"]))}


def violation(protocol: Protocol, seed: int, options: dict[str, Any], kinds: Collection[str] = ()) -> str | None:
    """What a storm breaks of what is promised, or what the code raises."""
    config = decode_config(storm(seed, options, kinds), ScenarioConfig, "storm")
    scenario = Scenario(config, "storm", Path(), protocol)
    trace = TraceBuffer("storm", scenario.names)
    simulation = scenario.build(seed, trace)
    duties = Duties(scenario, simulation)
    try:
        run_to_end(simulation, config.duration_us)
        broken = first_violation(check_rows(scenario, trace.rows(), protocol.guarantees))
        return broken or first_unknown(duties.judge(config.duration_us), protocol)
    except (AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
        return f"raised {type(error).__name__}: {error}"
