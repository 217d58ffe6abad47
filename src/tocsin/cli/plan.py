"""`tocsin plan strategy|priorities|propagation|reliability …`: what the protocols' trees and lists will look like."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tocsin.cli import plan_tables
from tocsin.cli.parser import HelpLines
from tocsin.core.config import decode_config
from tocsin.core.errors import InputError
from tocsin.core.files import read_document
from tocsin.core.topology import Topology
from tocsin.core.topology_config import groups_from_document, nearest_name, topology_from_document
from tocsin.planning.balance import balanced
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import ListsVerdict, check_lists, mean_link_cost, shortest_distance_first
from tocsin.planning.propagation import number_sites, propagation_forest
from tocsin.planning.reliability import MESSAGES_MAX, maximum_reliability_tree, optimize
from tocsin.planning.strategies import SHAPES, Strategy, strategy
from tocsin.planning.strategies_config import tree_from_document

KINDS = {
    "strategy": "who passes a broadcast on to whom and when (tree_ack)",
    "priorities": "whom a host asks for missing messages, in which order (coordinator_tree)",
    "propagation": "the forest that orders messages to overlapping groups (propagation_graph)",
    "reliability": "the tree and the copies that reach everyone with a wanted probability (reliability_tree)",
}

EXAMPLES = {
    "plan": """\
examples:
  tocsin plan strategy --sites 20 --delay 3 --gap 1
  tocsin plan priorities examples/figure-2-1.toml --source h1
  tocsin plan propagation examples/figure-3.toml
  tocsin plan reliability examples/lossy.toml --source p1 --reach 0.9999
Each kind has its own --help; docs/planning.md explains them.
""",
    "strategy": """\
D is the time from sending to receiving, E the time that a site needs between two sendings.
examples:
  tocsin plan strategy --sites 20 --delay 3 --gap 1                the fastest tree for these times
  tocsin plan strategy --sites 20 --delay 3 --gap 1 --shape chain  … and how long a chain takes
  tocsin plan strategy --tree tree.toml --delay 3 --gap 1          your own tree: [children] a = ["b", "c"]
  tocsin plan strategy --sites 1000000 --delay 1 --gap 1 --json \\
    | jq .completion_time
""",
    "priorities": """\
Shortest distance first: the host furthest from the source lists all others, nearest first; and so on inwards.
examples:
  tocsin plan priorities examples/figure-2-1.toml --source h1
  tocsin plan priorities net.toml --source h1 --children-max 8     if it can be, no more children than that
  tocsin plan priorities net.toml --source h1 --json | jq .lists > lists.json
  tocsin plan priorities --check lists.json                        exit 1 and a witness if they are not legal
""",
    "propagation": """\
A message to a group goes to the group's primary destination and from there down the tree.
examples:
  tocsin plan propagation examples/figure-3.toml
  tocsin plan propagation groups.toml --balance 2                  less load, up to 2 steps deeper
  tocsin plan propagation groups.toml --json | jq .primary
""",
    "reliability": """\
The tree of the most reliable links, and on each link as many copies as it takes: the fewest in all.
examples:
  tocsin plan reliability examples/lossy.toml --source p1 --reach 0.9999
  tocsin plan reliability net.toml --source p1 --reach 0.9999 --budget 500   refuse a plan of more messages
""",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES["plan"]
    kinds = parser.add_subparsers(dest="kind", metavar="KIND")
    parsers = {}
    for kind, help_line in KINDS.items():
        parsers[kind] = kinds.add_parser(
            kind,
            help=help_line,
            description=help_line[0].upper() + help_line[1:] + ".",
            epilog=EXAMPLES[kind],
            formatter_class=HelpLines,
            allow_abbrev=False,
        )
        parsers[kind].add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    _configure_strategy(parsers["strategy"])
    _configure_priorities(parsers["priorities"])
    _configure_propagation(parsers["propagation"])
    _configure_reliability(parsers["reliability"])


def run(arguments: argparse.Namespace) -> int:
    match arguments.kind:
        case "strategy":
            return _run_strategy(arguments)
        case "priorities" if arguments.check is not None:
            return _run_check(arguments)
        case "priorities":
            return _run_priorities(arguments)
        case "propagation":
            return _run_propagation(arguments)
        case "reliability":
            return _run_reliability(arguments)
    raise InputError(f"expected what to plan: {', '.join(KINDS)} (see tocsin plan --help)")


# Strategies


def _configure_strategy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sites", type=_integer, metavar="N", help="how many sites")
    parser.add_argument("--delay", type=_integer, required=True, metavar="D", help="from sending to receiving, >= 1")
    parser.add_argument("--gap", type=_integer, required=True, metavar="E", help="between two sendings, >= 1")
    parser.add_argument("--shape", metavar="SHAPE", help=f"{', '.join(SHAPES)} (the default is minimum)")
    parser.add_argument("--tree", type=Path, metavar="FILE", help="a tree of your own, instead of N and a shape")


def _run_strategy(arguments: argparse.Namespace) -> int:
    plan: Strategy
    names: list[str] = []
    if arguments.tree is not None:
        if arguments.sites is not None or arguments.shape is not None:
            raise InputError("--tree: expected no --sites and no --shape beside it; the file has both")
        document = read_document(arguments.tree)
        plan, names = tree_from_document(document, str(arguments.tree), arguments.delay, arguments.gap)
        shape = "given"
    elif arguments.sites is None:
        raise InputError("expected --sites N (or --tree FILE)")
    else:
        shape = arguments.shape or "minimum"
        plan = strategy(shape, arguments.sites, arguments.delay, arguments.gap)
    if not arguments.json:
        plan_tables.print_strategy(plan, shape, names)
        return 0
    answer: dict[str, Any] = {
        "edges": plan.edges(),
        "completion_time": plan.completion_time(),
        "received": plan.received(),
        "buffer_capacity": plan.buffer_capacity(),
    }
    if names:
        answer["names"] = names  # of 1, 2 …
    _print_json(answer)
    return 0


# Priority lists


def _configure_priorities(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", nargs="?", type=Path, metavar="TOPOLOGY", help="a file of nodes and links")
    parser.add_argument("--source", metavar="HOST", help="the host that broadcasts")
    parser.add_argument("--check", type=Path, metavar="LISTS", help="check these lists instead: {host: [hosts …]}")
    parser.add_argument(
        "--children-max", type=_integer, default=0, metavar="N", help="guard against more children than this"
    )
    parser.add_argument(
        "--penalty", type=_number, metavar="COST", help="for each child too many (default: the mean link cost)"
    )


def _run_priorities(arguments: argparse.Namespace) -> int:
    if arguments.topology is None or arguments.source is None:
        raise InputError("expected TOPOLOGY and --source HOST (or --check LISTS)")
    if arguments.penalty is not None and not arguments.children_max:
        raise InputError("--penalty: expected --children-max N beside it, the number of children that is not too many")
    topology = _topology(arguments.topology)
    source_node = _host(topology, arguments.source)
    with _naming(arguments.topology):
        distances = HostDistances(topology)
        source = distances.hosts.index(source_node)
        penalty = mean_link_cost(topology) if arguments.penalty is None else arguments.penalty
        lists = shortest_distance_first(topology, distances, source, arguments.children_max, penalty).lists
        verdict = check_lists(lists)
        plain = lists
        if arguments.children_max and not arguments.json:  # for comparison
            plain = shortest_distance_first(topology, distances, source).lists
    names = [topology.node_names[node] for node in distances.hosts]
    if arguments.json:
        answer = {
            "source": arguments.source,
            "lists": {names[host]: [names[other] for other in entries] for host, entries in enumerate(lists)},
            **_verdicts(verdict, names),
        }
        _print_json(answer)
    else:
        plan_tables.print_priorities(names, lists, plain, source, distances, arguments.children_max)
    return 0 if verdict.acyclic and verdict.jointly_complete else 1


def _run_check(arguments: argparse.Namespace) -> int:
    if arguments.topology is not None:
        raise InputError("--check: expected no TOPOLOGY beside it; the lists are all that is checked")
    names, lists = _read_lists(arguments.check)
    if arguments.source is not None and arguments.source not in names:
        raise InputError(
            f"{arguments.check}: expected the source to be a host of the lists, "
            f"found `{arguments.source}`{nearest_name(arguments.source, names)}"
        )
    verdict = check_lists(lists)
    legal = verdict.acyclic and verdict.jointly_complete
    if legal and arguments.source is not None and lists[names.index(arguments.source)]:
        raise InputError(
            f"{arguments.check}: `{arguments.source}`: expected an empty list for the source, which has every "
            f"message, found {len(lists[names.index(arguments.source)])} hosts"
        )
    if arguments.json:
        _print_json(_verdicts(verdict, names))
    else:
        plan_tables.print_verdict(verdict, names)
    return 0 if legal else 1


def _read_lists(path: Path) -> tuple[list[str], list[list[int]]]:
    """The hosts (those with a list, then those that are only on lists) and the lists by number."""
    data: dict[str, list[str]] = decode_config(read_document(path), dict[str, list[str]], str(path))
    names = list(dict.fromkeys([*data, *(name for entries in data.values() for name in entries)]))
    if not names:
        raise InputError(f"{path}: expected lists of hosts, found none")
    number = {name: place for place, name in enumerate(names)}
    lists: list[list[int]] = []
    for name in names:
        entries = [number[other] for other in data.get(name, [])]
        if len(set(entries)) != len(entries):
            raise InputError(f"{path}: `{name}`: expected each host once on a list, found one twice")
        lists.append(entries)
    return names, lists


def _verdicts(verdict: ListsVerdict, names: list[str]) -> dict[str, Any]:
    answer: dict[str, Any] = {"acyclic": verdict.acyclic, "jointly_complete": verdict.jointly_complete}
    witness = verdict.cycle or verdict.missing_pair
    if witness:
        answer["witness"] = [names[host] for host in witness]
    return answer


# Propagation graphs


def _configure_propagation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("groups", type=Path, metavar="GROUPS", help="a file of groups and their sites")
    parser.add_argument(
        "--balance",
        type=_integer,
        metavar="STEPS",
        help="move load away from the busiest sites, at most so much deeper",
    )
    parser.add_argument("--allow-extra", action="store_true", help="… making sites pass on groups they are not in")


def _run_propagation(arguments: argparse.Namespace) -> int:
    if arguments.allow_extra and arguments.balance is None:
        raise InputError("--allow-extra: expected --balance STEPS beside it")
    groups = groups_from_document(read_document(arguments.groups), str(arguments.groups))
    names, numbered = number_sites(groups)
    plain = propagation_forest(len(names), numbered)
    forest = plain
    if arguments.balance is not None:
        forest = balanced(plain, arguments.balance, arguments.allow_extra)
    if not arguments.json:
        plan_tables.print_forest(names, list(groups), forest, plain)
        return 0
    level = forest.levels()
    order = list(enumerate(groups))
    _print_json(
        {
            "roots": [names[site] for site in forest.roots],
            "children": {name: [names[child] for child in forest.children[site]] for site, name in enumerate(names)},
            "primary": {group: names[forest.primary[number]] for number, group in order},
            "depth": {group: forest.depth(number, level) for number, group in order},
            "extra": {group: [names[site] for site in forest.extra_sites(number)] for number, group in order},
        }
    )
    return 0


# Reliability trees


def _configure_reliability(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology", type=Path, metavar="TOPOLOGY", help="a file of nodes and links, with crash and loss"
    )
    parser.add_argument("--source", required=True, metavar="SITE", help="the site that broadcasts")
    parser.add_argument("--reach", type=_number, required=True, metavar="K", help="wanted probability, as 0.9999")
    parser.add_argument(
        "--budget", type=_integer, default=MESSAGES_MAX, metavar="N", help="refuse plans of more messages"
    )


def _run_reliability(arguments: argparse.Namespace) -> int:
    if not 0.0 < arguments.reach <= 1.0:
        raise InputError(f"--reach: expected a probability in (0, 1], found {arguments.reach}")
    topology = _topology(arguments.topology)
    source = _host(topology, arguments.source)
    with _naming(arguments.topology):
        tree = maximum_reliability_tree(topology, source)
        plan = optimize(tree, arguments.reach, arguments.budget)
    names = topology.node_names
    if not arguments.json:
        plan_tables.print_reliability(names, tree, plan, arguments.reach)
        return 0
    reached = tree.order[1:]
    _print_json(
        {
            "parent": {names[site]: names[tree.parent[site]] for site in reached},
            "copies": {names[site]: plan.copies[site] for site in reached},
            "messages": plan.messages,
            "reach": plan.reach,
        }
    )
    return 0


# What they share


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Puts the file's name before errors that are about its content."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _topology(path: Path) -> Topology:
    return topology_from_document(read_document(path), str(path))


def _host(topology: Topology, name: str) -> int:
    if not topology.has_node(name):
        near = nearest_name(name, topology.node_names)
        raise InputError(f"--source: expected a host of the topology, found `{name}`{near}")
    node = topology.node(name)
    if topology.is_switch(node):
        raise InputError(f"--source: expected a host, found the switch `{name}`")
    return node


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an integer, found {text!r}") from None


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, found {text!r}") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise argparse.ArgumentTypeError(f"expected a finite number, found {text!r}")
    return value


def _print_json(answer: dict[str, Any]) -> None:
    print(msgspec.json.encode(answer).decode())
