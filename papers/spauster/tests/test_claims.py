"""The experiments on Garcia-Molina and Spauster, and that their claims can come out otherwise."""

from collections.abc import Mapping
from typing import Any

import pytest

from papers.common.paper import AGREES, DIFFERS, NOT_REPRODUCED
from papers.common.reproduction import FOLDER, grid_file
from papers.common.table import Table
from papers.common.tests.small_tables import altered, judged, table_of
from papers.spauster.experiments.balance import FigureFive, Trade
from papers.spauster.experiments.change import Change
from papers.spauster.experiments.graphs import Graphs
from papers.spauster.experiments.groups import Distribution, busiest_site, central_load, drawn_groups, two_phase_loads
from papers.spauster.experiments.loads import Loads
from papers.spauster.experiments.tables import Drawn
from papers.spauster.exponential import exponential
from papers.spauster.graphs import graphs
from papers.spauster.load import load
from papers.spauster.paper import PAPER
from papers.spauster.running import running
from papers.spauster.table_1 import point_to_point
from papers.spauster.table_2 import broadcast
from papers.spauster.trade import trade
from tocsin.core.rng import Rng
from tocsin.spark.sweep.grid import load_grid

# The experiments


@pytest.mark.parametrize("distribution", ["exponential", "exponential_from_2"])
def test_exponential_sizes_have_the_mean(distribution: Distribution) -> None:
    sizes = [len(group) for group in drawn_groups(1000, 4000, 8, distribution, Rng(1))]
    assert min(sizes) == (1 if distribution == "exponential" else 2)
    assert abs(sum(sizes) / len(sizes) - 8) < 0.4, "within four standard errors"
    assert set(map(len, drawn_groups(20, 100, 2, "exponential_from_2", Rng(1)))) == {2}


def test_loads_are_counted_as_the_paper_says() -> None:
    groups = [[0, 1, 2, 3], [2, 3, 4, 5]]
    assert two_phase_loads(6, groups) == [3, 3, 6, 6, 3, 3]
    assert busiest_site(6, groups) == 2
    assert central_load(2, groups) == 1 + 3 + 1 + 3
    assert central_load(0, groups) == 1 + 3 + 1 + 4, "not a member of the second"


@pytest.mark.parametrize("protocol", ["two_phase", "sequencer", "propagation_graph"])
def test_running_protocols_have_the_counted_load(protocol: Any) -> None:
    found = Loads(protocol=protocol, sites=12, groups=4, size=4).measure(3)
    assert found["agree"] == 1.0 and found["load"] > 4


def test_one_group_has_depth_one_and_no_extra_nodes() -> None:
    found = Graphs(sites=50, groups=1, size=7).measure(1)
    assert (found["depth"], found["extra"], found["trees"]) == (1, 0, 1)
    assert (found["load.propagation"], found["load.two_phase"], found["load.centralized"]) == (7, 3, 7)


@pytest.mark.parametrize("model", ["mesh", "lan"])
def test_a_multicast_agrees_with_the_tables(model: Any) -> None:
    for seed in range(3):
        found = Drawn(sites=15, groups=6, size=4, model=model).measure(seed)
        assert found["delivered"] == 1.0 and found["delay_us.within"] == 1.0
        assert found["messages.agree" if model == "mesh" else "messages.inner"] == 1.0
        assert found["messages.two_phase"] == (12 if model == "mesh" else 6)


def test_depth_buys_load() -> None:
    assert [FigureFive(depth_growth=growth).measure(0)["load"] for growth in range(3)] == [11, 6, 4]
    found = Trade(sites=60, groups=10, size=12, depth_growth=2).measure(4)
    assert found["load"] <= found["load.first"]


def test_a_change_of_groups_costs_messages() -> None:
    small, large = (Change(sites=sites, groups=4, size=3).measure(2)["messages"] for sites in (8, 24))
    assert 4 < small < large


# The claims


def test_every_grid_is_read_and_every_section_has_claims() -> None:
    found = {path.stem for path in (FOLDER / "spauster" / "grids").glob("*.toml")}
    assert set(PAPER.grids) == found
    for name in found:
        for quick in (False, True):
            assert load_grid(grid_file(PAPER, name), quick).combinations > 0


@pytest.fixture(name="sites", scope="module")
def table_over_sites() -> Table:
    return table_of(PAPER, "sites", 3)


@pytest.fixture(name="sizes", scope="module")
def table_over_sizes() -> Table:
    return table_of(PAPER, "sizes", 2)


def test_graphs_are_judged(sites: Table, sizes: Table) -> None:
    section = graphs(sites, sizes)
    assert judged(section.claims, "display the same behaviour").verdict == AGREES
    low = judged(section.claims, "low in general")
    assert low.verdict == DIFFERS and "chain" in low.because
    flat = altered(sites, lambda where, metric, mean: 1.0 if metric == "depth" else mean)
    claims = graphs(flat, sizes).claims
    assert {claim.verdict for claim in claims if claim.where == "Graph 1"} == {NOT_REPRODUCED}
    assert judged(claims, "display the same behaviour").verdict == NOT_REPRODUCED
    assert judged(claims, "close to 2").verdict == AGREES
    few = altered(sites, lambda where, metric, mean: 0.3 if metric in ("extra", "extra.groups") else mean)
    claims = graphs(few, sizes).claims
    assert judged(claims, "low in general").verdict == AGREES
    assert judged(claims, "do not occur frequently").verdict == AGREES


def test_wide_intervals_are_not_precise(sites: Table, sizes: Table) -> None:
    wide = Table("t", [row._replace(point=row.point._replace(half_width=row.point.mean / 2)) for row in sites.rows])
    assert judged(graphs(sites, sizes).claims, "95 %").verdict == AGREES
    assert judged(graphs(wide, sizes).claims, "95 %").verdict == NOT_REPRODUCED


def test_exponential_sizes_are_judged(sites: Table, sizes: Table) -> None:
    def deeper(where: Mapping[str, Any], metric: str, mean: float) -> float:
        return 9.0 if metric == "depth" and where["distribution"] != "fixed" else mean

    claims = exponential(altered(sites, deeper), altered(sizes, deeper)).claims
    assert [claim.verdict for claim in claims] == [NOT_REPRODUCED] * 3
    assert exponential(sites, sizes).claims[1].verdict == AGREES


def test_load_is_judged(sites: Table, sizes: Table) -> None:
    counted = table_of(PAPER, "loads", 1, lambda where: where["sites"] == 20 and where["size"] == 5)
    claims = load(sites, sizes, counted).claims
    assert judged(claims, "bottleneck").verdict == AGREES
    assert judged(claims, "messages sent and received").verdict == AGREES
    other = altered(counted, lambda where, metric, mean: 0.9 if metric == "agree" else mean)
    worse = altered(sites, lambda where, metric, mean: 1e6 if metric == "load.propagation" else mean)
    claims = load(worse, sizes, other).claims
    verdicts = {claim.verdict for claim in claims if claim.where == "Graph 4" or "bottleneck" in claim.says}
    assert verdicts == {NOT_REPRODUCED}
    assert judged(claims, "messages sent and received").verdict == NOT_REPRODUCED


def test_figure_5_is_judged() -> None:
    example = table_of(PAPER, "figure_5", 1)
    traded = table_of(PAPER, "trade", 1)
    claims = trade(example, traded).claims
    assert [claim.verdict for claim in claims] == [AGREES, DIFFERS, AGREES]
    heavy = altered(example, lambda where, metric, mean: 11.0 if metric == "load.b" else mean)
    same = altered(traded, lambda where, metric, mean: 0.0 if metric == "lower" else mean)
    claims = trade(heavy, same).claims
    assert [claim.verdict for claim in claims] == [NOT_REPRODUCED, DIFFERS, NOT_REPRODUCED]


def test_tables_are_judged(sites: Table, sizes: Table) -> None:
    fixed = table_of(PAPER, "fixed", 1)
    mesh = table_of(PAPER, "mesh", 2, lambda where: where["groups"] != 20)
    lan = table_of(PAPER, "lan", 1, lambda where: where["groups"] == 10)
    claims = point_to_point(fixed, mesh, sites, sizes).claims
    for says in ("two-phase: N = 3n", "N = n + ε", "at most (d+1)L", "if d is at most 2"):
        assert judged(claims, says).verdict == AGREES
    late = altered(fixed, lambda where, metric, mean: mean + 1 if metric == "delay_us" else mean)

    def slow(where: Mapping[str, Any], metric: str, mean: float) -> float:
        return 0.5 if metric in ("faster.shallow", "messages.agree", "delay_us.within") else mean

    claims = point_to_point(late, altered(mesh, slow), sites, sizes).claims
    for says in ("two-phase: N = 3n", "N = n + ε", "at most (d+1)L", "if d is at most 2"):
        assert judged(claims, says).verdict == NOT_REPRODUCED
    assert judged(broadcast(fixed, lan).claims, "N = n+2").verdict == AGREES
    assert judged(broadcast(late, lan).claims, "N = n+2").verdict == NOT_REPRODUCED


def test_a_second_inner_node_on_a_level_is_the_reason() -> None:
    fixed = table_of(PAPER, "fixed", 1)
    lan = table_of(PAPER, "lan", 1, lambda where: where["groups"] == 10)
    two = altered(lan, lambda where, metric, mean: 0.0 if metric == "messages.agree" else mean)
    claim = judged(broadcast(fixed, two).claims, "a multicast at each level")
    assert claim.verdict == DIFFERS and "two multicasts" in claim.because
    neither = altered(two, lambda where, metric, mean: 0.0 if metric == "messages.inner" else mean)
    claim = judged(broadcast(fixed, neither).claims, "a multicast at each level")
    assert claim.verdict == NOT_REPRODUCED


def test_running_claims_are_judged() -> None:
    change = table_of(PAPER, "change", 1, lambda where: where["sites"] == 10)
    failures = table_of(PAPER, "failures", 1, lambda where: where["network.loss"] == 0)
    assert [claim.verdict for claim in running(change, failures).claims] == [AGREES] * 3

    def worse(where: Mapping[str, Any], metric: str, mean: float) -> float:
        if metric == "verdict.multiple_group":
            return 0.9
        return 2 * mean if metric == "delay_us.mean" and where["options.failures"] == "atomic" else mean

    free = altered(change, lambda where, metric, mean: 0.5)
    claims = running(free, altered(failures, worse)).claims
    assert [claim.verdict for claim in claims] == [NOT_REPRODUCED] * 3
