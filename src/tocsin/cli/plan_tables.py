"""Plans for people: a sentence, a small table, a tree; cut where nobody would read on."""

from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from tocsin.cli.tables import output
from tocsin.planning.broadcast_network import needless_checks, software_checks, unicasts
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import ListsVerdict, coordinator_tree, largest_family, tree_cost
from tocsin.planning.propagation import Forest
from tocsin.planning.reliability import ReliabilityPlan, ReliabilityTree
from tocsin.planning.strategies import LISTED_TIMES_MAX, Strategy

ROWS_MAX = 40  # of a table
BRANCHES_MAX = 60  # of a tree
LISTED_MAX = 12  # names in one row
TITLES = {"minimum": "minimum-time tree", "chain": "chain", "bush": "bush", "given": "tree as given"}


def print_strategy(plan: Strategy, shape: str, names: list[str]) -> None:
    console = _console()
    console.print(
        f"{TITLES[shape]} among {plan.sites:,} sites, delay {plan.delay}, gap {plan.gap}: "
        f"complete at {plan.completion_time():,}, buffers for {_capacity(plan)} messages in transit"
    )
    if plan.completion_time() <= LISTED_TIMES_MAX:
        console.print()
        console.print(_times(plan.received(), plan.sites))
    console.print()
    console.print(
        _tree(
            [1],
            plan.successors,
            lambda name: f"{names[name - 1] if names else name}  at {plan.received_at(name):,}",
        )
    )


def _capacity(plan: Strategy) -> str:
    return f"{plan.buffer_capacity():,}" if plan.completion_time() <= LISTED_TIMES_MAX else "an unlisted number of"


def _times(received: list[int], sites: int) -> Table:
    """Who receives when; the last count is cut to the sites that there are."""
    table = _table("time>", "receive>", "in all>")
    total = 0
    shown = 0
    for time, count in enumerate(received):
        count = min(count, sites - total)
        total += count
        if count and shown < ROWS_MAX:
            shown += 1
            table.add_row(f"{time:,}", f"{count:,}", f"{total:,}")
    more = sum(count > 0 for count in received) - shown
    if more:
        table.add_row("…", f"{more:,} more", f"{total:,}")
    return table


def print_priorities(
    names: list[str],
    lists: list[list[int]],
    plain: list[list[int]],
    source: int,
    distances: HostDistances,
    children_max: int,
) -> None:
    """The lists, and the trees that they make: when everyone can be reached, and when all but the source can."""
    console = _console()
    table = _table("host", "distance>", "list")
    near_first = sorted(range(len(names)), key=lambda host: len(lists[host]))
    for host in near_first[:ROWS_MAX]:
        table.add_row(
            escape(names[host]),
            f"{distances.matrix[source, host]:g}",
            _some([names[other] for other in lists[host]]),
        )
    if len(names) > ROWS_MAX:
        table.add_row("…", "", f"{len(names) - ROWS_MAX:,} more hosts")
    console.print(table)
    console.print()
    trees = _table("coordinator tree", "cost>", "most children>")
    everyone = [True] * len(names)
    cut_off = [host != source for host in range(len(names))]
    for label, partition in (("all hosts", everyone), ("without the source", cut_off)):
        for version, assignment in (("", lists), (" (without the guard)", plain)):
            if version and not children_max:
                continue
            parents = coordinator_tree(assignment, partition)
            trees.add_row(label + version, f"{tree_cost(parents, distances):g}", f"{largest_family(parents):,}")
    console.print(trees)


def print_verdict(verdict: ListsVerdict, names: list[str]) -> None:
    console = _console()
    if verdict.acyclic:
        console.print("acyclic           [green]yes[/]")
    else:
        chain = " lists ".join(escape(names[host]) for host in [*verdict.cycle, verdict.cycle[0]])
        console.print(f"acyclic           [bold red]no[/]   {chain}")
    if verdict.jointly_complete:
        console.print("jointly complete  [green]yes[/]")
    else:
        first, second = (escape(names[host]) for host in verdict.missing_pair)
        console.print(f"jointly complete  [bold red]no[/]   neither {first} nor {second} lists the other")


def print_forest(names: list[str], groups: list[str], forest: Forest, plain: Forest) -> None:
    console = _console()
    level = forest.levels()
    table = _table("group", "primary", "members>", "depth>", "extra sites")
    for number, group in list(enumerate(groups))[:ROWS_MAX]:
        table.add_row(
            escape(group),
            escape(names[forest.primary[number]]),
            f"{len(forest.groups[number]):,}",
            f"{forest.depth(number, level):,}",
            _some([names[site] for site in forest.extra_sites(number)]),
        )
    if len(groups) > ROWS_MAX:
        table.add_row("…", "", "", "", f"{len(groups) - ROWS_MAX:,} more groups")
    console.print(table)
    console.print()
    load = forest.loads()
    console.print(
        _tree(forest.roots, lambda site: forest.children[site], lambda site: f"{names[site]}  load {load[site]:,}")
    )
    console.print()
    busiest = max(range(len(names)), key=lambda site: load[site])
    trees = f"{len(forest.roots):,} tree{'s' if len(forest.roots) > 1 else ''}"
    line = f"{trees}; the busiest site is {names[busiest]} with a load of {load[busiest]:,}"
    if forest is not plain:
        line += f" (the unbalanced forest: {max(plain.loads()):,})"
    console.print(escape(line))
    checks = software_checks(forest)
    if checks:
        console.print(
            f"on a broadcast network: a message to each group is {checks:,} multicasts that every site checks in "
            f"software ({needless_checks(forest):,} checks in vain); "
            f"{unicasts(forest):,} more messages if all are unicasts"
        )


def print_reliability(names: list[str], tree: ReliabilityTree, plan: ReliabilityPlan, wanted: float) -> None:
    console = _console()
    children = tree.children()
    console.print(
        f"{plan.messages:,} messages reach {len(names):,} sites with probability {plan.reach:.10g}"
        f" (wanted {wanted:.10g}); depth {max(tree.depth):,}"
    )
    console.print()
    console.print(
        _tree(
            [tree.source],
            lambda site: children[site],
            lambda site: (
                names[site]
                if site == tree.source
                else f"{names[site]}  {plan.copies[site]:,} copies, each arrives with {tree.success[site]:.6g}"
            ),
        )
    )


def _console() -> Console:
    return output(markup=True)


def _table(*columns: str) -> Table:
    """A plain table; a column whose name ends in `>` holds numbers."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left", overflow="fold")
    return table


def _some(names: list[str]) -> str:
    text = " ".join(escape(name) for name in names[:LISTED_MAX])
    return text if len(names) <= LISTED_MAX else f"{text} … {len(names) - LISTED_MAX:,} more"


def _tree(roots: list[int], children: Callable[[int], list[int]], label: Callable[[int], str]) -> Tree:
    """The upper part of a forest, level by level, as many branches as one will read."""
    drawn = Tree("", hide_root=True)
    waiting = [(root, drawn) for root in roots]
    for count, (node, above) in enumerate(waiting):
        if count == BRANCHES_MAX:
            drawn.add("… and so on")
            break
        branch = above.add(escape(label(node)))
        waiting.extend((child, branch) for child in children(node))
    return drawn
