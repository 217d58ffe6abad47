"""Figure 1 of Garbinato, Pedone and Schmidt: two paths between two nodes."""

from typing import Annotated

from msgspec import Meta

from papers.garbinato.experiments.regular import Count, Probability
from tocsin.core.rng import Rng
from tocsin.spark.sweep.experiment import Experiment


class TwoPaths(Experiment, frozen=True, kw_only=True):
    """Figure 1: two nodes with two paths, one `alpha` times worse; how often nothing arrives of so many sends."""

    loss: Probability
    alpha: Annotated[float, Meta(ge=1.0)]
    sends: Count
    trials: Count = 100_000

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        losses = (self.loss, self.alpha * self.loss)
        missed = {"best": 0, "alternating": 0, "random": 0}
        for _ in range(self.trials):
            missed["best"] += all(rng.chance(losses[0]) for _ in range(self.sends))
            missed["alternating"] += all(rng.chance(losses[turn % 2]) for turn in range(self.sends))
            missed["random"] += all(rng.chance(losses[rng.below(2)]) for _ in range(self.sends))
        return {f"missed.{way}": count / self.trials for way, count in missed.items()}
