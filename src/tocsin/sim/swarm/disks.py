"""Disks that are emptied, set back, damaged or torn, always a minority of them.

Where a protocol stands a lost disk at any time (`Assumptions.disks_lost` is "any"), it is drawn beside everything else.
Where it stands it while nothing is under way ("still"), the run is made for it: nothing else goes wrong, and between
two spells of broadcasts there is a still time in which the disk is lost and its site comes back.
"""

from tocsin.core.rng import Rng
from tocsin.sim.swarm.plan import Plan

STILL_US = 1_000_000  # to become quiet in, without faults, and to come back in


def lose_disk(plan: Plan, rng: Rng, how: str) -> None:
    """One site, or two, lose their disks by `how`: wipe, restore or damage."""
    if needs_still_time(plan):
        plan.still()
        _lose_in_still_time(plan, rng, how, plan.some(rng, plan.names, min(2, plan.spare())))
        return
    names = plan.steady()
    room = min(2, plan.spare(), len(names)) if plan.assume.disks_lost == "any" else 0
    for name in plan.some(rng, names, room) if room > 0 else []:
        begin, end = plan.span(rng)
        if how == "restore":
            plan.add(how, rng.between(0, begin), "save", [name])
        plan.add(how, begin, how, [name])
        plan.add(how, end, "recover", [name])


def needs_still_time(plan: Plan) -> bool:
    """Whether the run is made for the lost disk; two sites are too few to lose one."""
    return plan.assume.disks_lost == "still" and len(plan.names) > 2


def _lose_in_still_time(plan: Plan, rng: Rng, how: str, chosen: list[str]) -> None:
    first_us = max(1, plan.heal_us // 3)  # the first spell of broadcasts
    begin = first_us + STILL_US
    end = begin + rng.between(0, STILL_US)
    plan.heal_us = max(plan.heal_us, end + STILL_US) + first_us
    workload = plan.document["workload"]
    for key in ("rate_per_site", "outstanding", "burst"):
        workload.pop(key, None)
    senders = len(workload.get("senders", plan.names))
    workload["every_us"] = max(1, 2 * first_us * senders // workload["messages"])  # in both spells, and done by the end
    workload["still_us"] = [first_us, end + STILL_US]
    if how == "restore":
        plan.add(how, rng.between(0, first_us), "save", chosen)
    plan.add(how, begin, how, chosen)
    plan.add(how, end, "recover", chosen)


def tear(plan: Plan, rng: Rng) -> None:
    """Crashes that lose at least the last of the steps not yet synced."""
    if not plan.document["disk"]:
        plan.document["disk"] = {"sync_us": rng.between(1_000, 20_000)}
    for name in plan.some(rng, plan.steady(), len(plan.names)) if plan.steady() else []:
        begin, end = plan.span(rng)
        plan.add("tear", begin, "tear", [name])
        plan.add("tear", end, "recover", [name])
