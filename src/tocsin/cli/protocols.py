"""`tocsin protocols [NAME]`: every protocol with its promises and measured costs; or one, with its options."""

import argparse
import json
import sys
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from tocsin.cli.tables import Cell, output, print_labelled, print_table
from tocsin.core.config import decode_config
from tocsin.properties import LEVELS
from tocsin.protocols.exclusions import excluded
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import REGISTRY, find_protocol
from tocsin.sim.run import without_trace
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

SIZES = (5, 20)
MODELS = ("lan", "mesh")
DELAY_US = 1_000  # one way, so that delays read as multiples of it
SEED = 1
WORDS = ("guarantee", "paper", "tolerates", "assumes")


EXAMPLES = """\
examples:
  tocsin protocols                     all of them, with measured costs: a few seconds
  tocsin protocols counter_token       one: what it promises and assumes, and its options
  tocsin protocols --no-costs --json   for a program
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("name", nargs="?", metavar="NAME", help="one protocol: its assumptions and options in full")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--no-costs", action="store_true", help="do not measure messages and delays; quick")


def run(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        chosen = [REGISTRY[name] for name in sorted(REGISTRY)]
    else:
        chosen = [find_protocol(arguments.name, "NAME")]
    described = [describe(protocol, not arguments.no_costs) for protocol in chosen]
    if arguments.json:
        answer: Any = described[0] if arguments.name is not None else {"protocols": described}
        json.dump(answer, sys.stdout)
        sys.stdout.write("\n")
    elif arguments.name is not None:
        _print_one(described[0])
    else:
        _print_all(described)
    return 0


# What is said about a protocol


def describe(protocol: Protocol, with_costs: bool) -> dict[str, Any]:
    """Everything the registry knows, and what a small run of the very code costs."""
    described: dict[str, Any] = {
        "name": protocol.name,
        "title": protocol.title,
        "paper": protocol.paper,
        "guarantees": list(protocol.guarantees),
        "guarantees_of_one_group": list(protocol.guarantees_of_one_group),
        "level": level(protocol),
        "guarantee": guarantee(protocol),
        "assumptions": msgspec.to_builtins(protocol.assumptions),
        "tolerates": tolerates(protocol),
        "excludes": excluded(protocol.assumptions),
        "assumes": assumes(protocol),
        "liveness_us": protocol.liveness_us,
        "options": options(protocol),
    }
    if with_costs:
        described["costs"] = costs(protocol)
    return described


def level(protocol: Protocol) -> str:
    """The highest of basic, fifo, causal, agreed, safe whose properties are all promised to one group; or none.

    View synchrony is asked of protocols that have views.
    """
    promised = {*protocol.promised(1), *(() if protocol.has_views else ("view_synchrony",))}
    reached = [name for name, properties in LEVELS.items() if promised.issuperset(properties)]
    return reached[-1] if reached else "none"


def guarantee(protocol: Protocol) -> str:
    """The level, and what is promised beyond it."""
    reached = level(protocol)
    within = set(LEVELS.get(reached, ()))
    more: list[str] = []
    for properties, words in (
        ({"integrity", "validity"}, "integrity, validity"),
        ({"multiple_source", "multiple_group", "acyclic"}, "total order"),
        ({"uniform_agreement"}, "uniform agreement"),
        ({"safe"}, "safe"),
        ({"view_synchrony"}, "views"),
    ):
        covered = properties <= within and words != "views"  # a level is reached without views, too
        if not covered and properties <= set(protocol.guarantees):
            more.append(words)
    if protocol.guarantees_of_one_group:
        more.append(f"{', '.join(protocol.guarantees_of_one_group)} with one group only")
    return ", ".join(([] if reached == "none" else [reached]) + more)


def tolerates(protocol: Protocol) -> list[str]:
    """What may happen without a promise being broken, in words."""
    assume = protocol.assumptions
    found = [f"loss up to {assume.loss_max:g}"] if assume.loss_max > 0 else []
    if assume.crashes != "none":
        who = "any sites" if assume.crashes == "any" else "a minority of sites"
        found.append(f"crashes of {who}" + (", which come back" if assume.crashes_recover else ""))
    still = "" if assume.disks_lost == "any" else " while nothing is under way"
    for holds, words in (
        (assume.duplication, "duplicates"),
        (assume.reordering, "reordering"),
        (assume.partitions, "partitions"),
        (assume.one_way_cuts, "one-way cuts"),
        (assume.pauses, "pauses"),
        (assume.joins, "joins"),
        (assume.leaves, "leaves"),
        (assume.returns, "returns of those who left"),
        (assume.wipes, f"emptied disks{still}"),
        (assume.restores, f"disks set back{still}"),
        (assume.damages, f"damaged disks{still}"),
        (assume.dead_links, "dead links"),
        (assume.slow_sites, "slow sites"),
        (assume.clocks, "clocks that drift and jump"),
        (assume.group_changes, "changes of groups"),
        (assume.voter_changes, "sites that are added and removed"),
        (assume.links_change, "links that come and go"),
    ):
        if holds:
            found.append(words)
    return found


def assumes(protocol: Protocol) -> list[str]:
    """What must be so for the promises to hold, in words."""
    assume = protocol.assumptions
    found: list[str] = []
    for is_assumed, words in (
        (assume.detector, "a perfect failure detector"),
        (assume.crashes == "minority", "less than half of the sites down at once"),
        (assume.crashes == "none", "no crashes"),
        (assume.crashes != "none" and assume.crashes_recover, "crashed sites come back"),
        (assume.loss_max == 0, "no loss"),
        (not assume.duplication, "no duplicates"),
        (not assume.reordering, "no reordering"),
        (not assume.partitions, "no partitions"),
        (not assume.lossy_disk, "disks that lose nothing"),
        (not assume.several_groups, "one group of all sites"),
    ):
        if is_assumed:
            found.append(words)
    return [*found, assume.note] if assume.note else found


def options(protocol: Protocol) -> list[dict[str, Any]]:
    """The options of a protocol, with the words of their `Meta`."""
    hints = get_type_hints(protocol.options, include_extras=True)
    return [
        {
            "name": field.name,
            "type": _type_name(hints[field.name]),
            "default": None if field.default is msgspec.NODEFAULT else msgspec.to_builtins(field.default),
            "drawn": _drawn(protocol, field.name),
            "description": _description(hints[field.name]),
        }
        for field in msgspec.structs.fields(protocol.options)
    ]


def _drawn(protocol: Protocol, name: str) -> list[Any]:
    """What the swarm draws besides the default: a range as "from..to", values, small values."""
    found = [f"{low}..{high}" for low, high in [protocol.ranges[name]]] if name in protocol.ranges else []
    found += list(dict.fromkeys(protocol.variations.get(name, ())))
    return found + [table[name] for table in (protocol.small, protocol.retention) if name in table]


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _description(hint: Any) -> str:
    for extra in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        if isinstance(extra, msgspec.Meta) and extra.description:
            return extra.description
    return ""


# What it costs


def costs(protocol: Protocol) -> list[dict[str, Any]]:
    """Messages per broadcast and delay, measured without faults: every site broadcasts ten times a second."""
    return [measured for model in MODELS for size in SIZES if (measured := cost(protocol, model, size)) is not None]


def cost(protocol: Protocol, model: str, sites: int) -> dict[str, Any] | None:
    """One measurement; None where the protocol does not run on this network."""
    assume = protocol.assumptions
    if model not in assume.networks or not assume.sites_min <= sites:
        return None
    document = {
        "protocol": protocol.name,
        "sites": sites,
        "duration_us": 3_000_000,
        "workload": {"messages": 10 * sites, "rate_per_site": 10.0},
        "network": {"model": model, "delay_us": DELAY_US, "detect_us": DELAY_US if assume.detector else None},
    }
    scenario = Scenario(decode_config(document, ScenarioConfig, "costs"), "costs", Path(), protocol)
    simulation = without_trace(scenario, SEED)
    tally = simulation.world.tally
    sent = sum(tally.sends.values()) + sum(tally.multicasts.values())
    delays = [at - tally.broadcast_at[message] for message, at in tally.delivered_at.items()]
    return {
        "network": model,
        "sites": sites,
        "messages_per_broadcast": round(sent / max(1, tally.broadcasts), 2),
        "delay_us": round(sum(delays) / max(1, len(delays))),
    }


# Tables for people


def _print_all(described: list[dict[str, Any]]) -> None:
    """One table; on a terminal what is said in words follows the figures."""
    console = output()
    places = [(model, size) for model in MODELS for size in SIZES] if "costs" in described[0] else []
    figures = [*(f"{model} {size}" for model, size in places), *(["delay ms"] if places else [])]
    rows: list[list[str | Cell]] = [
        [Cell(entry["name"], "bold"), *_figures(entry, places), *_words(entry)] for entry in described
    ]
    print_table(console, ["name", *figures, *WORDS], rows, right=figures, prose=len(WORDS))
    if places:
        said = (
            "Messages per broadcast, measured: every site broadcasts 10 times a second, 1 ms one way, no loss; "
            f"a multicast of a lan is one message. Delay: broadcast to last delivery, mesh {SIZES[0]} / {SIZES[1]}."
        )
        console.print()
        console.print(said, style="dim")


def _figures(entry: dict[str, Any], places: list[tuple[str, int]]) -> list[str]:
    """What a protocol costs: messages in each place, and the delays."""
    if not places:
        return []
    found = {(each["network"], each["sites"]): each for each in entry["costs"]}
    cells = [f"{found[place]['messages_per_broadcast']:g}" if place in found else "-" for place in places]
    delays = [found[MODELS[1], size] for size in SIZES if (MODELS[1], size) in found]
    return [*cells, " / ".join(f"{each['delay_us'] / 1000:.1f}" for each in delays) or "-"]


def _words(entry: dict[str, Any]) -> list[str]:
    return [entry["guarantee"], entry["paper"], ", ".join(entry["tolerates"]), "; ".join(entry["assumes"])]


def _print_one(entry: dict[str, Any]) -> None:
    console = output()
    console.print(f"{entry['name']}: {entry['title']}", style="bold")
    print_labelled(console, "paper", entry["paper"])
    print_labelled(console, "level", entry["level"])
    print_labelled(console, "guarantees", ", ".join(entry["guarantees"]))
    if entry["guarantees_of_one_group"]:
        print_labelled(console, "", f"with one group also {', '.join(entry['guarantees_of_one_group'])}")
    print_labelled(console, "tolerates", ", ".join(entry["tolerates"]))
    print_labelled(console, "assumes", "; ".join(entry["assumes"]) or "nothing more")
    print_labelled(console, "excludes", f"{', '.join(entry['excludes'])} (docs/exclusions.md)")
    for each in entry.get("costs", []):
        cost_said = (
            f"{each['network']}, {each['sites']} sites: {each['messages_per_broadcast']:g} messages "
            f"per broadcast, delay {each['delay_us'] / 1000:.1f} ms"
        )
        print_labelled(console, "cost", cost_said)
    rows = [
        [option["name"], _default(option["default"]), ", ".join(map(str, option["drawn"])), option["description"]]
        for option in entry["options"]
    ]
    console.print()
    print_table(console, ["option", "default", "drawn", "meaning"], rows, prose=1)


def _default(value: Any) -> str:
    """None: what holds then depends on other options, and the meaning says on which."""
    return "see meaning" if value is None else str(value)
