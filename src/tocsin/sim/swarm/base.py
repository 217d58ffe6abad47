"""The world of a seed before anything special happens in it: sites, groups, network, workload, disk."""

from typing import Any

from tocsin.core.rng import Rng
from tocsin.sim.swarm.plan import Document, Plan

MESSAGES_MAX = 60
FEW_GROUPS = 4


def draw_base(plan: Plan, rng: Rng) -> None:
    """Fill the plan's document but for its faults."""
    assume = plan.assume
    document = plan.document
    count = _site_count(plan, rng)
    model = assume.networks[rng.below(len(assume.networks))]
    if model in ("switched", "lossy"):
        document["topology"] = _topology(plan, rng, model, count)
        plan.names = [f"h{number + 1}" for number in range(count)]
    else:
        plan.names = [chr(ord("a") + site) for site in range(count)] if count <= 26 else []
        plan.names = plan.names or [f"s{site}" for site in range(count)]
        document["sites"] = count
    if assume.several_groups and count >= 2 and rng.chance(0.5):
        document["groups"] = _groups(plan, rng)
    document["duration_us"] = plan.heal_us + plan.protocol.liveness_us
    variations = plan.protocol.variations
    document["options"] = {name: values[rng.below(len(values))] for name, values in sorted(variations.items())}
    document["workload"] = _workload(plan, rng)
    document["network"] = _network(plan, rng, model)
    document["disk"] = {"sync_us": rng.between(1, 20_000)} if assume.lossy_disk and rng.chance(0.5) else {}


def _site_count(plan: Plan, rng: Rng) -> int:
    """Mostly few: a bug shows itself there first, and a thousand small runs say more than ten large ones."""
    low, high = plan.assume.sites_min, plan.assume.sites_max
    if rng.chance(0.75):
        high = min(high, max(low, 6))
    return rng.between(low, high)


def _topology(plan: Plan, rng: Rng, model: str, count: int) -> Document:
    if model == "switched":
        switches = rng.between(1, max(1, count))
        return {
            "shape": "random_switched",
            "hosts": count,
            "switches": switches,
            "trunks": min(switches * (switches - 1) // 2, switches - 1 + rng.below(3)),  # no twin trunks
        }
    loss = round(rng.random() * plan.assume.loss_max, 4)
    tree = {"shape": "random_tree", "nodes": count, "loss": loss, "crash": round(rng.random() * 0.05, 4)}
    return _with_cycles(rng.fork("shape"), tree, count) if plan.assume.links_change else tree


def _with_cycles(rng: Rng, tree: Document, count: int) -> Document:
    """Where links come and go, mostly a network in which there is another way round."""
    way = rng.below(4)
    if way == 0:
        return tree
    if way == 1 and count > 2:
        return {**tree, "shape": "ring"}
    return {**tree, "shape": "random_connected", "links": rng.between(count - 1, count * (count - 1) // 2)}


def _groups(plan: Plan, rng: Rng) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    most = plan.assume.groups_max
    if most > FEW_GROUPS and rng.chance(0.6):
        most = FEW_GROUPS
    for number in range(rng.between(1, most)):
        size = rng.between(1, len(plan.names))
        groups[f"g{number}"] = [plan.names[site] for site in rng.sample(len(plan.names), size)]
    return groups


def _workload(plan: Plan, rng: Rng) -> Document:
    workload: Document = {"messages": rng.between(1, MESSAGES_MAX), "size": [0, 200]}
    way = rng.below(4)
    span = max(1, plan.heal_us * 3 // 4)
    senders = rng.between(1, len(plan.names))
    per_sender = max(1, workload["messages"] // senders)
    if way == 0:
        workload["rate_per_site"] = round(1e6 * per_sender / span, 3) or 0.001
    elif way == 1:
        workload["every_us"] = max(1, span // per_sender)
    elif way == 2:
        workload["every_us"] = max(1, span // max(1, per_sender // 5))
        workload["burst"] = 5
    else:
        workload["outstanding"] = rng.between(1, 4)
    if senders < len(plan.names):
        workload["senders"] = [plan.names[site] for site in rng.sample(len(plan.names), senders)]
    return workload


def _network(plan: Plan, rng: Rng, model: str) -> Document:
    assume = plan.assume
    scale = (100, 1_000, 5_000, 20_000)[rng.below(4)]
    shape = rng.below(4)
    delay: Any = scale
    if shape == 1:
        delay = [0, 2 * scale]
    elif shape == 2:
        delay = {"shape": "exponential", "low_us": scale // 10, "mean_us": scale}
    elif shape == 3:
        delay = {"shape": "long_tail", "low_us": max(1, scale // 10)}
    if not assume.reordering:
        delay = scale
    network: Document = {"model": model, "delay_us": delay}
    if assume.loss_max > 0 and rng.chance(0.8):
        network["loss"] = round(rng.random() * assume.loss_max, 4)
    if assume.duplication and rng.chance(0.5):
        network["duplicate"] = round(rng.random() * 0.2, 4)
    if assume.reordering and rng.chance(0.5):
        network["reorder"] = round(rng.random() * 0.3, 4)
        network["reorder_us"] = 10 * scale
    if assume.detector:
        network["detect_us"] = rng.between(1, 5 * scale)
    return network
