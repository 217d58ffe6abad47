"""Algorithm 5 to the letter: beliefs in an array, multiplied and normalised for every observation. The dumb twin."""

INTERVALS = 100


class Beliefs:
    def __init__(self) -> None:
        """initializeReliability: equal beliefs in the intervals around (2u - 1) / 2U."""
        self.failure = [(2 * u - 1) / (2 * INTERVALS) for u in range(1, INTERVALS + 1)]
        self.belief = [1 / INTERVALS] * INTERVALS

    def decrease_reliability(self, times: int) -> None:
        for _ in range(times):
            self._multiply(self.failure)

    def increase_reliability(self, times: int) -> None:
        for _ in range(times):
            self._multiply([1 - failure for failure in self.failure])

    def _multiply(self, likelihood: list[float]) -> None:
        products = [belief * chance for belief, chance in zip(self.belief, likelihood, strict=True)]
        total = sum(products)
        self.belief = [product / total for product in products]

    def mean(self) -> float:
        return sum(belief * failure for belief, failure in zip(self.belief, self.failure, strict=True))
