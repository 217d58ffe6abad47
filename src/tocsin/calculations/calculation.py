"""The shape of a calculation: arguments as fields, one method that measures."""

from tocsin.core.config import Config


class Calculation(Config, frozen=True):
    """One experiment of a paper. Its fields are the arguments that a grid file gives; the same seed and arguments
    give the same numbers wherever it runs."""

    def measure(self, seed: int) -> dict[str, float]:
        """The numbers of one replicate, by name."""
        raise NotImplementedError

    def cost(self) -> float:
        """A rough guess of the work, to start the long ones first; only ratios within a grid count."""
        return 1.0
