"""The options of a seed: mostly those that people run, else within the protocol's documented ranges, or very small.

The defaults are `{}`, but for an option of which the protocol's entry knows one value only. "forms" are the values that
the entry lists, "ranges" numbers anywhere inside the ranges beside the options, "small" limits that are passed many
times in a run, "retention" the like for what is kept for those who are away.
"""

from math import exp, log

from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Protocol
from tocsin.sim.swarm.plan import Document, Plan

FORMS, RANGES, SMALL, RETENTION = "options:forms", "options:ranges", "options:small", "options:retention"
SETTINGS = (FORMS, RANGES, SMALL, RETENTION)


def has_setting(protocol: Protocol, kind: str) -> bool:
    """Whether a protocol has such options."""
    tables = {FORMS: protocol.variations, RANGES: protocol.ranges, SMALL: protocol.small}
    return bool(tables.get(kind, protocol.retention))


def set_options(plan: Plan, rng: Rng, kind: str) -> None:
    """Keep the forms that were drawn, or not, and change what the kind of options says; "" for the defaults."""
    protocol = plan.protocol
    forms: Document = plan.document["options"]
    fixed = {name: values[0] for name, values in protocol.variations.items() if len(values) == 1}
    chosen = {FORMS: {}, RANGES: _inside(protocol, rng), SMALL: protocol.small, RETENTION: protocol.retention}
    plan.document["options"] = {**(forms if kind in (FORMS, RANGES) else {}), **chosen.get(kind, {}), **fixed}
    if kind:
        plan.kinds.add(kind)


def _inside(protocol: Protocol, rng: Rng) -> Document:
    """About half of the options with a range, anywhere in it; small numbers as often as large ones."""
    return {
        name: _logarithmic(rng, low, high) for name, (low, high) in sorted(protocol.ranges.items()) if rng.chance(0.5)
    }


def _logarithmic(rng: Rng, low: int, high: int) -> int:
    span = log(high + 1) - log(low + 1)
    return min(high, max(low, round((low + 1) * exp(rng.random() * span)) - 1))
