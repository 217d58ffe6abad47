"""Sites that stop and come back at bad moments: in any order, all of them, again, in the middle of things, at once."""

from tocsin.core.rng import Rng
from tocsin.sim.swarm.plan import Plan
from tocsin.sim.swarm.requests import change_voters

SOON_US = 300_000  # while a site that came back still catches up
LEAVING_US = 50_000  # while the others still hear of a leave
CHANGING_US = 1_000_000  # while a crash is found out and a new view is agreed on
ROUNDS_MAX = 3


def return_of_leavers(plan: Plan, rng: Rng) -> None:
    """Sites leave and are started again, in any order, maybe more than once."""
    for name in plan.named("leave"):
        if rng.chance(0.7):
            left_at = max(int(fault["at_us"]) for fault in plan.faults() if name in fault.get("leave", []))
            plan.add("return", rng.between(left_at, plan.heal_us), "restart", [name])
    for name in plan.some(rng, plan.steady(), len(plan.names)) if plan.steady() else []:
        at = rng.between(0, plan.heal_us - 1)
        for _ in range(rng.between(1, ROUNDS_MAX)):
            plan.add("return", at, "leave", [name])
            at = rng.between(at, plan.heal_us)
            plan.add("return", at, "restart", [name])
            at = rng.between(at, plan.heal_us)


def all_stop(plan: Plan, rng: Rng) -> None:
    """Everybody stops, one after the other, and comes back in another order."""
    down = plan.down_for_good()
    names = [name for name in plan.names if name not in down and name not in plan.joining()]
    stop, start = ("leave", "restart") if plan.assume.leaves else ("crash", "recover")
    begin, end = plan.span(rng)
    middle = rng.between(begin, end)
    for what, first, last in ((stop, begin, middle), (start, middle, end)):
        order = list(range(len(names)))
        rng.shuffle(order)
        times = sorted(rng.between(first, last) for _ in names)
        for place, at in zip(order, times, strict=True):
            plan.add("all_stop", at, what, [names[place]])


def crash_again(plan: Plan, rng: Rng) -> None:
    """A site crashes, comes back, and crashes again while it catches up."""
    for name in plan.some(rng, plan.steady(), 2) if plan.steady() else []:
        at, _ = plan.span(rng)
        for _ in range(rng.between(2, ROUNDS_MAX)):
            plan.add("again", at, "crash", [name])
            at = min(plan.heal_us - 1, at + rng.between(1, SOON_US))
            plan.add("again", at, "recover", [name])
            at = min(plan.heal_us - 1, at + rng.between(1, SOON_US))


def crash_while_leaving(plan: Plan, rng: Rng) -> None:
    """A site leaves and crashes before it has left; it is started again."""
    for name in plan.some(rng, plan.steady(), 2) if plan.steady() else []:
        begin, end = plan.span(rng)
        plan.add("crash_leave", begin, "leave", [name])
        plan.add("crash_leave", begin + rng.between(0, LEAVING_US), "crash", [name])
        plan.add("crash_leave", max(end, begin + LEAVING_US), "recover", [name])


def crash_while_changing(plan: Plan, rng: Rng) -> None:
    """A site crashes while the others change their view because of another crash, or while a group is changed."""
    names = plan.steady()
    if not names:
        return
    begin, end = plan.span(rng)
    first = names[rng.below(len(names))]
    second = names[rng.below(len(names))]
    if plan.assume.group_changes:
        members = plan.some(rng, plan.names, len(plan.names))
        group = plan.group_names()[rng.below(len(plan.group_names()))]
        plan.add("crash_change", begin, "change", {group: members}, by=first)
    else:
        plan.add("crash_change", begin, "crash", [first])
    plan.add("crash_change", begin + rng.between(0, CHANGING_US), "crash", [second])
    back_at = max(end, begin + CHANGING_US)
    plan.add("crash_change", back_at, "recover", sorted({first, second}))


def crash_while_voting(plan: Plan, rng: Rng) -> None:
    """Sites crash while the voters are changed; where nobody changes them yet, they are changed for it."""
    if not _changes_of_voters(plan):
        change_voters(plan, rng, "crash_voters")
    for at in _changes_of_voters(plan):
        names = plan.steady()
        if names:
            chosen = [names[rng.below(len(names))]]
            crash_at = at + rng.between(0, LEAVING_US)
            plan.add("crash_voters", crash_at, "crash", chosen)
            plan.add("crash_voters", max(crash_at, plan.span(rng)[1]), "recover", chosen)


def _changes_of_voters(plan: Plan) -> list[int]:
    """When voters are changed."""
    return [int(fault["at_us"]) for fault in plan.faults() if "add" in fault or "remove" in fault]


def at_once(plan: Plan, rng: Rng) -> None:
    """Several things in one instant."""
    begin, end = plan.span(rng)
    names = plan.steady()
    if not names:
        return
    ways = [way for way, stood in (("crash", plan.assume.crashes == "any"), ("pause", plan.assume.pauses)) if stood]
    ways += ["partition"] if plan.assume.partitions and len(plan.names) > 1 else []
    ways += ["restart"] if plan.assume.crashes == "any" else []
    for way in ways:
        chosen = plan.some(rng, names, len(names))
        if way == "partition":
            others = [name for name in plan.names if name not in chosen]
            plan.add("at_once", begin, "partition", [part for part in (chosen, others) if part])
            plan.add("at_once", end, "heal", True)
        else:
            plan.add("at_once", begin, way, chosen)
            if way != "restart":
                plan.add("at_once", end, "recover" if way == "crash" else "resume", chosen)
