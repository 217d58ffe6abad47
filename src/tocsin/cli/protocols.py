"""`tocsin protocols [NAME]`: every protocol with its promises and measured costs; or one, with its options."""

import argparse
import json
import sys
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tocsin.core.config import decode_config
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import REGISTRY, find_protocol
from tocsin.sim.run import without_trace
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

HELP = "list the protocols, their guarantees, assumptions and options"

SIZES = (5, 20)
MODELS = ("lan", "mesh")
DELAY_US = 1_000  # one way, so that delays read as multiples of it
SEED = 1


def configure(parser: argparse.ArgumentParser) -> None:
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
        "level": level(protocol),
        "assumptions": msgspec.to_builtins(protocol.assumptions),
        "tolerates": tolerates(protocol),
        "liveness_us": protocol.liveness_us,
        "options": options(protocol),
    }
    if with_costs:
        described["costs"] = costs(protocol)
    return described


def level(protocol: Protocol) -> str:
    """The highest of basic, fifo, causal, agreed, safe whose properties are all promised; or none."""
    promised = set(protocol.guarantees)
    reached = "none"
    needs = (
        ("basic", {"integrity", "validity", "agreement"}),
        ("fifo", {"fifo", "single_source"}),
        ("causal", {"causal"}),
        ("agreed", {"multiple_source", "multiple_group", "acyclic"}),
        ("safe", {"uniform_agreement", "safe"}),
    )
    for name, properties in needs:
        if not properties <= promised:
            break
        reached = name
    return reached


def tolerates(protocol: Protocol) -> list[str]:
    """What may happen without a promise being broken, in words."""
    assume = protocol.assumptions
    found = [f"loss up to {assume.loss_max:g}"] if assume.loss_max > 0 else []
    if assume.crashes != "none":
        who = "any sites" if assume.crashes == "any" else "a minority of sites"
        found.append(f"crashes of {who}" + (", which come back" if assume.crashes_recover else ""))
    for holds, words in (
        (assume.duplication, "duplicates"),
        (assume.reordering, "reordering"),
        (assume.partitions, "partitions"),
        (assume.one_way_cuts, "one-way cuts"),
        (assume.pauses, "pauses"),
        (assume.joins, "joins"),
        (assume.leaves, "leaves"),
        (assume.group_changes, "changes of groups"),
    ):
        if holds:
            found.append(words)
    return found


def options(protocol: Protocol) -> list[dict[str, Any]]:
    """The options of a protocol, with the words of their `Meta`."""
    hints = get_type_hints(protocol.options, include_extras=True)
    return [
        {
            "name": field.name,
            "type": _type_name(hints[field.name]),
            "default": None if field.default is msgspec.NODEFAULT else msgspec.to_builtins(field.default),
            "description": _description(hints[field.name]),
        }
        for field in msgspec.structs.fields(protocol.options)
    ]


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
    if model not in protocol.assumptions.networks:
        return None
    document = {
        "protocol": protocol.name,
        "sites": sites,
        "duration_us": 3_000_000,
        "workload": {"messages": 10 * sites, "rate_per_site": 10.0},
        "network": {"model": model, "delay_us": DELAY_US},
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
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("level", no_wrap=True)
    with_costs = "costs" in described[0]
    places = [(model, size) for model in MODELS for size in SIZES] if with_costs else []
    for model, size in places:
        table.add_column(f"{model} {size}", justify="right", no_wrap=True)
    if with_costs:
        table.add_column("delay", justify="right", no_wrap=True)
    table.add_column("paper", overflow="fold")
    for entry in described:
        found = {(each["network"], each["sites"]): each for each in entry.get("costs", [])}
        cells = [f"[bold]{entry['name']}[/]", entry["level"]]
        cells += [f"{found[place]['messages_per_broadcast']:g}" if place in found else "-" for place in places]
        if with_costs:
            cells.append(f"{found[MODELS[1], SIZES[0]]['delay_us'] / 1000:.1f} ms" if found else "-")
        table.add_row(*cells, escape(entry["paper"]))
    console = Console(highlight=False)
    console.print(table)
    if with_costs:
        console.print(
            "\nMessages per broadcast, measured: every site broadcasts 10 times a second, 1 ms one way, no loss; "
            "a multicast of a lan is one message. Delay: broadcast to last delivery, mesh 5.",
            style="dim",
        )
    console.print()
    for entry in described:
        console.print(f"[bold]{entry['name']}[/] tolerates {', '.join(entry['tolerates'])}", soft_wrap=True)
        if entry["assumptions"]["note"]:
            console.print(f"  {escape(entry['assumptions']['note'])}", soft_wrap=True, style="dim")


def _print_one(entry: dict[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{entry['name']}[/]: {escape(entry['title'])}")
    console.print(f"paper       {escape(entry['paper'])}")
    console.print(f"level       {entry['level']}")
    console.print(f"guarantees  {', '.join(entry['guarantees'])}")
    console.print(f"tolerates   {', '.join(entry['tolerates'])}")
    if entry["assumptions"]["note"]:
        console.print(f"note        {escape(entry['assumptions']['note'])}")
    for each in entry.get("costs", []):
        console.print(
            f"cost        {each['network']}, {each['sites']} sites: {each['messages_per_broadcast']:g} messages "
            f"per broadcast, delay {each['delay_us'] / 1000:.1f} ms"
        )
    table = Table(box=None, pad_edge=False)
    for heading in ("option", "default", "meaning"):
        table.add_column(heading, overflow="fold")
    for option in entry["options"]:
        table.add_row(option["name"], escape(str(option["default"])), escape(option["description"]))
    console.print()
    console.print(table)
