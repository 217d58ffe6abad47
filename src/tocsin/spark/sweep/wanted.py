"""Which cells a grid wants: its replications, and more of them until the precision is reached."""

from tocsin.spark.sweep.cell import OK, CellResult
from tocsin.spark.sweep.grid import Grid
from tocsin.spark.sweep.grid_config import PrecisionConfig
from tocsin.spark.sweep.results import Results, failed
from tocsin.spark.sweep.statistics import mean_and_half_width

Place = tuple[int, int]  # combination, replicate


def wanted_cells(grid: Grid, results: Results) -> list[Place]:
    """Every cell wanted so far. It depends on finished cells only, so that a sweep that goes on wants the same."""
    wanted: list[Place] = []
    for combination in range(grid.combinations):
        count = _replications(grid, results, combination)
        wanted += [(combination, replicate) for replicate in range(count)]
    return wanted


def missing_cells(results: Results, wanted: list[Place]) -> list[Place]:
    return [place for place in wanted if results.find(*place) is None]


def failed_cells(results: Results, wanted: list[Place]) -> list[CellResult]:
    """The wanted cells that have no result but an error."""
    found = [results.find(*place) for place in wanted]
    return failed([result for result in found if result is not None])


def _replications(grid: Grid, results: Results, combination: int) -> int:
    """How many replications a combination wants: half as many again, as long as all are done and not precise."""
    counts = [_replications_for(wanted, grid, results, combination) for wanted in grid.config.precisions()]
    return max([grid.config.replications, *counts])


def _replications_for(precision: PrecisionConfig, grid: Grid, results: Results, combination: int) -> int:
    count = min(max(2, grid.config.replications), precision.at_most)
    while count < precision.at_most:
        found = [results.find(combination, replicate) for replicate in range(count)]
        finished = [result for result in found if result is not None]
        if len(finished) < count or _is_precise(finished, precision):
            return count
        count = min(precision.at_most, count + max(2, count // 2))
    return count


def _is_precise(finished: list[CellResult], precision: PrecisionConfig) -> bool:
    """Whether the interval is small enough. A combination whose cells fail is not worth more of them."""
    good = [result for result in finished if result.status == OK and precision.metric in result.metrics]
    if len(good) < 2:
        return True
    mean, half = mean_and_half_width([result.metrics[precision.metric] for result in good])
    return half <= (precision.half_width * abs(mean) if precision.absolute is None else precision.absolute)
