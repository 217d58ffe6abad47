"""What applications and administrators ask for: changes of any site, odd groups, odd messages, too much at once."""

from tocsin.core.rng import Rng
from tocsin.sim.swarm.plan import Plan

CLOSE_US = (1_000, 20_000, 200_000)  # changes so near to one another are under way together
CHANGES_MAX = 5
HUGE_BYTES = 100_000  # more than a datagram, and than any batch of messages
HUGE_MESSAGES_MAX = 6
BURST_MESSAGES = 100
LATE_US = 500_000


def ask_any_site(plan: Plan, rng: Rng) -> None:
    """Several changes of groups close together, each asked of any site."""
    at, _ = plan.span(rng)
    groups = [*plan.group_names(), "new"]
    for _ in range(rng.between(2, CHANGES_MAX)):
        members = plan.some(rng, plan.names, len(plan.names))
        by = plan.names[rng.below(len(plan.names))]
        plan.add("asked", at, "change", {groups[rng.below(len(groups))]: members}, by=by)
        at = min(plan.heal_us - 1, at + rng.between(0, CLOSE_US[rng.below(len(CLOSE_US))]))


def disband(plan: Plan, rng: Rng) -> None:
    """A group is disbanded, and maybe made anew."""
    begin, end = plan.span(rng)
    group = plan.group_names()[rng.below(len(plan.group_names()))]
    plan.add("disband", begin, "change", {group: []}, by=plan.names[rng.below(len(plan.names))])
    if rng.chance(0.5):
        plan.add("disband", end, "change", {group: plan.some(rng, plan.names, len(plan.names))})


def empty_group(plan: Plan, rng: Rng) -> None:
    """All members of a group are away for a while; where groups change, the group is moved meanwhile, to whomever."""
    names = plan.steady()
    room = min(len(names), (len(plan.names) - 1) // 2)
    if room < 1:
        return
    few = plan.some(rng, names, room)
    plan.add_group("few", few)
    begin, end = plan.span(rng)
    stop, start = ("leave", "restart") if plan.assume.leaves else ("crash", "recover")
    plan.add("emptied", begin, stop, few)
    plan.add("emptied", end, start, few)
    for _ in range(rng.below(3) if plan.assume.group_changes else 0):
        plan.add("emptied", rng.between(begin, end), "change", {"few": plan.some(rng, plan.names, len(plan.names))})


def change_voters(plan: Plan, rng: Rng, kind: str = "voters") -> None:
    """A site is added to the voters, another is removed, each asked of any site; maybe at one time. Who is removed is
    stopped for good, or runs on and is told."""
    names = plan.steady()
    newcomer = plan.names[-1]
    if len(plan.names) < 4 or newcomer not in names or plan.spare(later=1) < 0:
        return
    begin, end = plan.span(rng)
    plan.add(kind, begin + 1, "add", [newcomer], by=names[rng.below(len(names) - 1)])
    if plan.spare() > 0:
        removed = names[rng.below(len(names) - 1)]
        at = begin + 1 if rng.chance(0.3) else end + 1
        plan.add(kind, at, "remove", [removed], by=names[rng.below(len(names) - 1)])
        stopped_at = at + rng.between(0, LATE_US)
        if rng.chance(0.5):
            plan.add(kind, stopped_at, "crash", [removed])


def send_from_outside(plan: Plan, rng: Rng) -> None:
    """Every broadcast goes to a group that its sender is not in."""
    if len(plan.names) < 2:
        return
    senders = plan.some(rng, plan.names, len(plan.names) - 1)
    others = [name for name in plan.names if name not in senders]
    far = plan.some(rng, others, len(others))
    if plan.has_somebody(far):
        plan.add_group("far", far)
        plan.document["workload"].update(senders=senders, groups=["far"])
        plan.kinds.add("outside")


def group_of_one(plan: Plan, rng: Rng) -> None:
    one = [plan.names[rng.below(len(plan.names))]]
    if plan.has_somebody(one):
        plan.add_group("one", one)
        plan.kinds.add("single")


def empty_messages(plan: Plan, rng: Rng) -> None:
    plan.document["workload"]["size"] = 0
    plan.kinds.add("empty")


def huge_messages(plan: Plan, rng: Rng) -> None:
    workload = plan.document["workload"]
    workload.update(size=[HUGE_BYTES, 2 * HUGE_BYTES], messages=min(workload["messages"], HUGE_MESSAGES_MAX))
    plan.kinds.add("huge")


def burst(plan: Plan, rng: Rng) -> None:
    """Far more broadcasts at once than anybody has room for: windows are small, too."""
    windows = {name: value for name, value in plan.protocol.small.items() if name != "records_max"}
    plan.document["options"] = {**plan.document["options"], **windows}
    workload = plan.document["workload"]
    for key in ("rate_per_site", "every_us", "outstanding"):
        workload.pop(key, None)
    count = BURST_MESSAGES
    workload.update(messages=count, every_us=plan.heal_us, burst=count, start_us=rng.between(0, plan.heal_us // 2))
    plan.kinds.add("burst")


def broadcast_late(plan: Plan, rng: Rng) -> None:
    """Half of the broadcasts come when all faults are over: a group that is whole must deliver them."""
    workload = plan.document["workload"]
    senders = len(workload.get("senders", plan.names))
    if "outstanding" in workload:
        del workload["outstanding"]
        workload["every_us"] = max(1, plan.heal_us * senders // workload["messages"])
    workload["still_us"] = [plan.heal_us // 2, plan.heal_us + rng.between(0, LATE_US)]
    plan.kinds.add("late")
