"""What Tables 1 and 2 of Garcia-Molina and Spauster have in common."""

from papers.common.paper import Claim, verdict
from papers.common.table import Point, Table


def formulas(table: Table, model: str, where: str, two_phase: str, central: str) -> Claim:
    cells = [cell for cell in table.combinations() if cell["model"] == model]
    agree = sum(
        table.point(metric, cell).mean == table.point(f"{metric}.formula", cell).mean
        for cell in cells
        for metric in ("messages", "delay_us")
    )
    members = table.values("size")
    return Claim(
        where=where,
        says=f"two-phase: {two_phase}; centralized: {central}",
        measured=f"exactly so in {agree} of {2 * len(cells)} numbers (n from {members[0]} to {members[-1]}; nothing is "
        "drawn)",
        verdict=verdict(agree == 2 * len(cells)),
    )


def shares(table: Table, metric: str) -> list[Point]:
    return [table.point(metric, where) for where in table.combinations() if table.has(metric, where)]


def always(table: Table, *metrics: str) -> tuple[int, int]:
    """In how many multicasts of all something was so."""
    points = [point for metric in metrics for point in shares(table, metric)]
    return round(sum(point.mean * point.replications for point in points)), sum(point.replications for point in points)
