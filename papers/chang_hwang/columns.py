"""The columns of Tables 1 and 2 of Chang and Hwang, as measured."""

from papers.chang_hwang.formulas import P_S, Approach, Model, delay, num
from papers.chang_hwang.words import NAMES
from papers.common.table import Point, Table
from papers.common.words import replications_of

T_S = 0.2
RIVALS: tuple[Approach, ...] = ("centralized", "two_phase", "optimistic", "fast_message")
NUM_FORMULAS: dict[Model, dict[Approach, str]] = {
    "lan": {
        "centralized": "2",
        "two_phase": "N + 1",
        "optimistic": "1 + 1/N",
        "fast_message": "2",
        "counter_based": "1 + exp(A, N) / ((T + P) N)",
    },
    "mesh": {
        "centralized": "N",
        "two_phase": "3 (N - 1)",
        "optimistic": "(N - 1) + (N - 1)/N",
        "fast_message": "2 (N - 1)",
        "counter_based": "(N - 1) + (N - 1) exp(A, N) / ((T + P) N)",
    },
}
TIME_FORMULAS: dict[Approach, str] = {
    "centralized": "2 P",
    "two_phase": "3 P",
    "optimistic": "T/N + P/N",
    "fast_message": "T + P",
    "counter_based": "2 exp(A, N) / N",
}


class Measured:
    """The columns of Tables 1 and 2 on one network, over N."""

    def __init__(self, model: Model, rivals: Table, counter: Table) -> None:
        self.model = model
        self.rivals = rivals
        self.counter = counter
        self.rates: list[float] = counter.values("rate")
        self.sites: list[int] = counter.values("sites")

    def series(self, metric: str, approach: Approach, rate: float = 0.0) -> list[tuple[int, Point]]:
        if approach == "counter_based":
            return self.counter.series(metric, "sites", {"rate": rate})
        return self.rivals.series(metric, "sites", {"approach": approach, "model": self.model})

    def points(self, metric: str, approach: Approach, rate: float = 0.0) -> list[Point]:
        return [point for _, point in self.series(metric, approach, rate)]

    def columns(self) -> list[tuple[str, Approach, float]]:
        """Name, approach and rate of every column."""
        rivals: list[tuple[str, Approach, float]] = [(NAMES[approach], approach, 0.0) for approach in RIVALS]
        return rivals + [(f"counter-based, A = {rate:g}", "counter_based", rate) for rate in self.rates]

    def replications(self, approach: Approach) -> str:
        return replications_of(self.counter if approach == "counter_based" else self.rivals)

    def formula(self, approach: Approach, rate: float, sites: int) -> float:
        return num(approach, self.model, sites, rate, T_S, P_S)

    def time_formula(self, approach: Approach, rate: float, sites: int) -> float:
        """In microseconds."""
        return 1e6 * delay(approach, sites, rate, T_S, P_S)
