"""Algorithm 4, line 19 of Garbinato, Pedone and Schmidt, as printed and as corrected."""

from papers.garbinato.experiments.regular import Count, Probability
from tocsin.core.rng import Rng
from tocsin.protocols.reliability_tree.beliefs import mean
from tocsin.protocols.reliability_tree.direct import Direct
from tocsin.spark.sweep.experiment import Experiment


class Line19(Experiment, frozen=True, kw_only=True):
    """Algorithm 4, line 19: what is believed of a link after so many heartbeats, as printed and as corrected."""

    loss: Probability
    heartbeats: Count = 1_500

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        failures = last = 0  # as printed: `adjust` is never above 0, so nothing ever counts as a success
        corrected = Direct(1, 0, 0, self.heartbeats)
        for seqno in range(1, self.heartbeats + 1):
            if not rng.chance(self.loss):
                failures += seqno - last
                last = seqno
                corrected.on_heartbeat(1, seqno)
        return {
            "printed": mean(0, failures),
            "corrected": mean(corrected.evidence.successes, corrected.failures()),
        }
