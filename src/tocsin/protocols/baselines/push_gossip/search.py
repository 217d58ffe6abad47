"""How many steps does gossip need? Found by trying, as the paper did: a Monte Carlo of the same rules in plain rounds.

`tests/protocols/push_gossip` compares it with the machine in the simulator.
"""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.core.rng import Rng

STEPS_TRIED_MAX: Final = 1024


class Rounds:
    """A network of gossiping sites, in which executions from site 0 are tried again and again."""

    def __init__(self, neighbours: list[list[SiteId]], losses: list[list[float]], fanout: int = 0) -> None:
        """`losses`, by site and neighbour: the probability that a copy or an acknowledgement does not get through;
        crashed steps of both ends count as losses, as the paper's lambda does. `fanout`: 0 is everybody."""
        self.sites: int = len(neighbours)
        self._neighbours = neighbours
        self._losses = losses
        self._fanout = fanout
        self._back: list[list[int]] = []  # by site and neighbour: the place of the site among the neighbour's own
        for site, beside in enumerate(neighbours):
            self._back.append([neighbours[other].index(site) for other in beside])
        self._has: list[bool] = []
        self._lacks: list[list[bool]] = []  # by site and neighbour: as far as the site knows
        self._holders: list[SiteId] = []  # who has the message, in the order in which they got it

    def start(self) -> None:
        self._has = [False] * self.sites
        self._has[0] = True
        self._holders = [0]
        self._lacks = [[True] * len(beside) for beside in self._neighbours]

    def step(self, rng: Rng) -> int:
        """Everybody that has the message sends it to those that lack it; how many have it afterwards."""
        lacks = self._lacks
        for turn in range(len(self._holders)):
            sender = self._holders[turn]
            own = lacks[sender]
            places = [place for place in range(len(own)) if own[place]]
            if 0 < self._fanout < len(places):
                places = [places[choice] for choice in rng.sample(len(places), self._fanout)]
            for place in places:
                loss = self._losses[sender][place]
                if rng.chance(loss):
                    continue
                target = self._neighbours[sender][place]
                if not self._has[target]:
                    self._has[target] = True
                    self._holders.append(target)
                lacks[target][self._back[sender][place]] = False
                if not rng.chance(loss):
                    own[place] = False
        return len(self._holders)

    def steps_until_everybody(self, rng: Rng) -> int:
        """Of one execution; `STEPS_TRIED_MAX` + 1 when that many did not suffice."""
        self.start()
        for steps in range(STEPS_TRIED_MAX + 1):
            if len(self._holders) == self.sites:
                return steps
            self.step(rng)
        return STEPS_TRIED_MAX + 1


def steps_for_reach(rounds: Rounds, reach: float, executions: int, rng: Rng) -> int:
    """The fewest steps after which, in at least `reach` of the executions, every site has the message.

    Take `executions` well above 1 / (1 - reach). -1 when no number of steps that was tried suffices.
    """
    found = sorted([rounds.steps_until_everybody(rng) for _ in range(executions)])
    late_max = int((1.0 - reach) * executions + 1e-9)
    steps = found[executions - 1 - late_max]
    return steps if steps <= STEPS_TRIED_MAX else -1
