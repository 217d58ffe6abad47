"""The usual faults, several a run: crashes, restarts of all, partitions, cuts, pauses, joins, leaves, changes, links.

All come from one stream of random numbers, so that a seed has the same ones whatever else is drawn.
"""

from collections.abc import Callable

from tocsin.core.generators_config import generate, generated_from_document
from tocsin.core.rng import Rng
from tocsin.sim.swarm.plan import Document, Plan

FAULTS_MAX = 6
EARLY_US = 20_000  # before any protocol suspects anybody: every founding member still belongs to the group

Way = Callable[[Plan, Rng], None]


def draw_usual(plan: Plan, rng: Rng) -> None:
    assume = plan.assume
    ways: list[Way] = []
    if assume.crashes != "none":
        ways.append(_crash)
        if assume.crashes == "any":
            ways.append(_restart_all)
    if assume.partitions and len(plan.names) > 1:
        ways.append(_partition)
    if assume.one_way_cuts and len(plan.names) > 1:
        ways.append(_cut)
    if assume.pauses:
        ways.append(_pause)
    if assume.leaves and len(plan.names) > 2:
        ways.append(_leave)
    if assume.group_changes:
        ways.append(_change)
    if assume.joins and len(plan.names) > 2 and rng.chance(0.3):
        begin, _ = plan.span(rng)
        plan.add("join", begin + 1, "join", [plan.names[-1]])
    if ways:
        for _ in range(rng.below(FAULTS_MAX + 1)):
            ways[rng.below(len(ways))](plan, rng)
    if assume.links_change and "topology" in plan.document:
        _fail_links(plan, rng.fork("links"))


def _crash(plan: Plan, rng: Rng) -> None:
    assume = plan.assume
    begin, end = plan.span(rng)
    at_once_max = len(plan.names) if assume.crashes == "any" else (len(plan.names) - 1) // 2
    busy = set(plan.named("crash"))
    free = [name for name in plan.names if name not in busy]
    room = at_once_max - (len(busy) if assume.crashes == "minority" else 0)
    if not free or room <= 0:
        return
    chosen = [free[site] for site in rng.sample(len(free), rng.between(1, min(len(free), room)))]
    if assume.crashes_recover or rng.chance(0.7) or len(chosen) == len(plan.names):
        plan.add("crash", begin, "crash", chosen)
        plan.add("crash", end, "recover", chosen)
    else:
        plan.add("stay_down", begin, "crash", chosen)


def _restart_all(plan: Plan, rng: Rng) -> None:
    begin, _ = plan.span(rng)
    down = plan.down_for_good()
    up = [name for name in plan.names if name not in down]
    if up:
        plan.add("restart", begin, "restart", up)


def _partition(plan: Plan, rng: Rng) -> None:
    begin, end = plan.span(rng)
    parts: list[list[str]] = [[] for _ in range(rng.between(2, 3))]
    for name in plan.names:
        parts[rng.below(len(parts))].append(name)
    plan.add("partition", begin, "partition", [part for part in parts if part])
    plan.add("partition", end, "heal", True)


def _cut(plan: Plan, rng: Rng) -> None:
    begin, end = plan.span(rng)
    source = rng.below(len(plan.names))
    target = (source + rng.between(1, len(plan.names) - 1)) % len(plan.names)
    plan.add("cut", begin, "cut", [[plan.names[source], plan.names[target]]])
    plan.add("cut", end, "heal", True)


def _pause(plan: Plan, rng: Rng) -> None:
    begin, end = plan.span(rng)
    chosen = [plan.names[rng.below(len(plan.names))]]
    plan.add("pause", begin, "pause", chosen)
    plan.add("pause", end, "resume", chosen)


def _leave(plan: Plan, rng: Rng) -> None:
    begin, _ = plan.span(rng)
    left = plan.named("leave")
    free = [name for name in plan.names if name not in left]
    if len(free) > 2:
        plan.add("leave", begin, "leave", [free[rng.below(len(free))]])


def _change(plan: Plan, rng: Rng) -> None:
    begin, _ = plan.span(rng)
    size = rng.between(1, len(plan.names))
    members = [plan.names[site] for site in rng.sample(len(plan.names), size)]
    groups = [*plan.group_names(), "new"]
    plan.add("change", begin, "change", {groups[rng.below(len(groups))]: members})


def _fail_links(plan: Plan, rng: Rng) -> None:
    """Links fail for a while, or are there only after a while; all are repaired when everything heals."""
    labels = generate(generated_from_document(plan.document["topology"], "swarm"), Rng(0)).link_labels()
    for _ in range(rng.below(FAULTS_MAX + 1)):
        chosen = [labels[link] for link in rng.sample(len(labels), rng.between(1, min(3, len(labels))))]
        begin = rng.between(0, plan.heal_us - 1) if rng.chance(0.7) else 0
        plan.add("links", begin, "fail", chosen)
        plan.add("links", rng.between(begin, plan.heal_us - 1), "repair", chosen)
    plan.add("links", plan.heal_us, "repair", labels)


def lose_minority(plan: Plan, rng: Rng) -> None:
    """Sometimes: less than half of the founding sites crash before anything else goes wrong, and stay down."""
    joining = plan.joining()
    founders = [name for name in plan.names if name not in joining]
    most = (len(founders) - 1) // 2
    if most < 1 or rng.chance(0.7):
        return
    lost = [founders[site] for site in rng.sample(len(founders), rng.between(1, most))]
    gone = {*lost, *joining}
    groups = plan.document.get("groups", {}).values()
    if any(set(members) <= gone for members in groups if members != "*"):
        return  # no founding member would be left to deliver to
    early = min([EARLY_US, *[max(0, int(fault["at_us"]) - 1) for fault in plan.faults()]])
    spared = [(kind, _without(fault, lost)) for kind, fault in plan.pieces]
    plan.pieces = [(kind, fault) for kind, fault in spared if fault is not None]
    plan.add("minority", rng.between(0, early), "crash", lost)


def _without(fault: Document, lost: list[str]) -> Document | None:
    """A fault that spares those who are down for good; None if nobody else is left in it."""
    for what in ("crash", "recover", "restart", "pause", "resume", "leave"):
        if what in fault:
            others = [name for name in fault[what] if name not in lost]
            return {**fault, what: others} if others else None
    return fault


def bring_back_leavers(plan: Plan, may_return: bool) -> None:
    """Only a minority may stay away for good: those who left last return at the end, or do not leave at all."""
    gone = plan.gone()
    for name in gone[max(0, len(gone) + plan.spare()) :]:
        if may_return:
            plan.add("return", plan.heal_us, "restart", [name])
        else:
            spared = [(kind, _without(fault, [name]) if "leave" in fault else fault) for kind, fault in plan.pieces]
            plan.pieces = [(kind, fault) for kind, fault in spared if fault is not None]
