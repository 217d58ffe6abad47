"""Drawing a random scenario inside a protocol's declared assumptions.

A scenario has a safety phase with everything the assumptions allow going wrong, an instant at which everything is
healed, and a liveness phase of the protocol's own bound, in which everything owed must be delivered. What it has are
its kinds (`kinds.py`); a draw can leave some out, or have some only, and the rest stays as it was.
"""

from collections.abc import Collection

from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Protocol
from tocsin.sim.swarm.base import draw_base
from tocsin.sim.swarm.disks import needs_still_time
from tocsin.sim.swarm.kinds import LOST_DISKS, SPECIAL, stood_by
from tocsin.sim.swarm.plan import LOSSES, Document, Plan
from tocsin.sim.swarm.settings import SETTINGS, has_setting, set_options
from tocsin.sim.swarm.usual import bring_back_leavers, draw_usual, lose_minority

SAFETY_US_MAX = 8_000_000


class Drawn:
    """A seed's scenario, and the kinds of things that it has."""

    def __init__(self, document: Document, kinds: tuple[str, ...]) -> None:
        self.document = document
        self.kinds = kinds


def draw_scenario(
    protocol: Protocol, seed: int, without: Collection[str] = (), only: Collection[str] | None = None
) -> Document:
    """The scenario of a seed, as the document of a scenario file."""
    return draw(protocol, seed, without, only).document


def draw(protocol: Protocol, seed: int, without: Collection[str] = (), only: Collection[str] | None = None) -> Drawn:
    """The scenario of a seed without some kinds of things, or with some only: those for sure, where there is room."""
    rng = Rng(seed).fork(f"swarm/{protocol.name}")
    plan = Plan(protocol, rng.between(500_000, SAFETY_US_MAX))
    wanted = {kind for kind in stood_by(protocol) if kind not in without and (only is None or kind in only)}
    draw_base(plan, rng)
    draw_usual(plan, rng)
    plan.keep(wanted)
    _keep_of_base(plan, wanted)
    if "minority" in wanted:
        lose_minority(plan, rng.fork("minority"))
    _set_options(plan, rng.fork("options"), wanted, only is not None)
    special = _special(plan, rng, wanted, only is not None)
    for kind in special:
        SPECIAL[kind].draw(plan, rng.fork(f"kind/{kind}"))
    if plan.assume.leaves:
        bring_back_leavers(plan, "return" in wanted)
    if "groups" in plan.document and "outside" not in plan.kinds:
        _keep_outsiders(plan, "outsiders" in wanted)
    return Drawn(plan.finish(), tuple(sorted(plan.kinds)))


def _keep_of_base(plan: Plan, wanted: set[str]) -> None:
    """Take back what is not wanted of the network's losses, the groups and the slow disk; note what is left."""
    parts = [(plan.document["network"], key, key) for key in LOSSES]
    parts += [(plan.document, "groups", "groups"), (plan.document["disk"], "sync_us", "sync")]
    for place, key, kind in parts:
        if kind not in wanted:
            place.pop(key, None)
        elif place.get(key):
            plan.kinds.add(kind)


def _set_options(plan: Plan, rng: Rng, wanted: set[str], for_sure: bool) -> None:
    """Half of the seeds run the defaults; none does where other settings are wanted `for_sure`."""
    settings = [kind for kind in SETTINGS if has_setting(plan.protocol, kind)]
    drawn = settings[rng.below(len(settings))] if settings and rng.chance(0.5) else ""
    if for_sure:
        settings = [kind for kind in settings if kind in wanted]
        drawn = settings[rng.below(len(settings))] if settings else ""
    set_options(plan, rng, drawn if drawn in wanted else "")


def _special(plan: Plan, rng: Rng, wanted: set[str], for_sure: bool) -> list[str]:
    """The special kinds of this seed. Where a lost disk needs a still time, it is the only one; surroundings that are
    steady allow no other."""
    drawn = [
        kind
        for kind, special in SPECIAL.items()
        if kind in wanted and (for_sure or rng.fork(f"whether/{kind}").chance(special.chance))
    ]
    if "steady" in drawn:
        return ["steady"]
    lost = [kind for kind in LOST_DISKS if kind in drawn]
    return lost[:1] if lost and needs_still_time(plan) else drawn


def _keep_outsiders(plan: Plan, wanted: bool) -> None:
    """Let any site broadcast to any group, or only members."""
    groups = plan.document["groups"].values()
    insiders = [name for name in plan.names if any(members == "*" or name in members for members in groups)]
    workload = plan.document["workload"]
    senders = [name for name in workload.get("senders", plan.names) if name in insiders]
    if wanted:
        plan.kinds.add("outsiders")
    else:
        workload.update(inside=True, senders=senders or insiders)
