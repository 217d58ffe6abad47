"""What is wrong around a site for long: dead and flapping links, slow sites, long pauses, clocks of their own."""

from tocsin.core.rng import Rng
from tocsin.sim.swarm.plan import Plan
from tocsin.sim.swarm.settings import SETTINGS

FLAPS_MAX = 12
FLAP_US = 400_000
LONG_PAUSE_US = 6_000_000  # longer than every default time-out
DRIFT_PPM = 100_000  # a clock gains or loses at most a tenth
JUMP_US = 5_000_000
LEARNED_US = 12_000_000  # after so long the surroundings are known: more than `duties/reach.py` asks for
HABIT_US = 4_000_000  # a site with the habit of crashing does so once in this time, …
HABIT_DOWN_US = 1_000_000  # … and is down for so long; it has it after this many:
HABIT_CRASHES = 11
STEADY_MESSAGES = 300
STEADY_EVERY_US = 20_000


def dead_links(plan: Plan, rng: Rng) -> None:
    """Links that stay dead, one way or both, as long as everyone left reaches everyone through others."""
    away = {*plan.down_for_good(), *plan.gone()}
    names = [name for name in plan.names if name not in away]
    if len(names) < 3 or "topology" in plan.document:
        return
    dead: set[tuple[str, str]] = set()
    for _ in range(rng.between(1, len(names))):
        one, other = (names[place] for place in rng.sample(len(names), 2))
        pair = (one, other) if rng.chance(0.5) else (other, one)
        tried = dead | ({pair} if rng.chance(0.5) else {pair, (pair[1], pair[0])})
        if all(_reached(name, names, tried) == len(names) for name in names):
            dead = tried
    begin, _ = plan.span(rng)
    if dead:
        plan.add("dead", begin, "dead", [list(pair) for pair in sorted(dead)])


def _reached(first: str, names: list[str], dead: set[tuple[str, str]]) -> int:
    """How many are reached from one, through others."""
    seen = {first}
    fresh = [first]
    while fresh:
        source = fresh.pop()
        for target in names:
            if target not in seen and (source, target) not in dead:
                seen.add(target)
                fresh.append(target)
    return len(seen)


def flapping_link(plan: Plan, rng: Rng) -> None:
    """A link that fails and works again, many times."""
    if len(plan.names) < 2:
        return
    one, other = (plan.names[place] for place in rng.sample(len(plan.names), 2))
    pairs = [[one, other]] if rng.chance(0.5) else [[one, other], [other, one]]
    at, _ = plan.span(rng)
    for _ in range(rng.between(4, FLAPS_MAX)):
        plan.add("flap", at, "cut", pairs)
        at = min(plan.heal_us - 1, at + rng.between(1, FLAP_US))
        plan.add("flap", at, "heal", True)
        at = min(plan.heal_us - 1, at + rng.between(1, FLAP_US))


def slow_sites(plan: Plan, rng: Rng) -> None:
    """A site receives a tenth of what is sent to it, for most of the run."""
    plan.add("slow", rng.between(0, plan.heal_us // 4), "slow", plan.some(rng, plan.names, 2))


def long_pause(plan: Plan, rng: Rng) -> None:
    """A process stands still for longer than every time-out."""
    plan.heal_us = max(plan.heal_us, LONG_PAUSE_US * 4 // 3)
    chosen = plan.some(rng, plan.names, 2)
    plan.add("long_pause", rng.between(0, plan.heal_us - LONG_PAUSE_US - 1), "pause", chosen)


def steady(plan: Plan, rng: Rng) -> None:
    """The surroundings stay as they are for long, and then there are many broadcasts with the default options: who
    hears badly does so all the time, who crashes has the habit of it."""
    plan.still()
    plan.document["options"] = {}
    plan.kinds -= set(SETTINGS)
    workload = plan.document["workload"]
    for key in ("rate_per_site", "outstanding", "burst", "still_us"):
        workload.pop(key, None)
    chosen = plan.some(rng, plan.names, 2)
    way = rng.below(3)
    begin = HABIT_CRASHES * HABIT_US if way == 1 else LEARNED_US
    senders = len(workload.get("senders", plan.names))
    workload.update(start_us=begin, messages=STEADY_MESSAGES, every_us=STEADY_EVERY_US * senders, size=10)
    plan.heal_us = begin + STEADY_MESSAGES * STEADY_EVERY_US + 2 * plan.protocol.liveness_us
    plan.document["network"]["loss"] = round(rng.random() * plan.assume.loss_max, 4)
    if way == 0:
        plan.add("steady", 0, "slow", chosen)
    elif way == 1:
        for at in range(HABIT_US - HABIT_DOWN_US, plan.heal_us - HABIT_US, HABIT_US):
            plan.add("steady", at, "crash", chosen)
            plan.add("steady", at + HABIT_DOWN_US, "recover", chosen)
    plan.kinds.add("steady")


def own_clocks(plan: Plan, rng: Rng) -> None:
    """Every site's clock has its own rate; some jump forward, or after a crash begin anew."""
    plan.document["clocks"] = {name: rng.between(-DRIFT_PPM, DRIFT_PPM) for name in plan.names}
    plan.kinds.add("clock")
    for name in plan.some(rng, plan.names, 3):
        begin, end = plan.span(rng)
        if name in plan.steady() and plan.assume.crashes != "none" and rng.chance(0.3):
            plan.add("clock", begin, "crash", [name])
            plan.add("clock", begin, "jump", {name: -rng.between(1, JUMP_US)})
            plan.add("clock", end, "recover", [name])
        else:
            plan.add("clock", begin, "jump", {name: rng.between(1, JUMP_US)})
