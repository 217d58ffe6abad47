"""How many steps does gossip need? Found by trying, as the paper did: a Monte Carlo of the same rules in plain rounds.

`tests/protocols/push_gossip` compares it with the machine in the simulator.
"""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.core.rng import Rng

STEPS_TRIED_MAX: Final = 1024


def reached_by(neighbours: list[list[SiteId]], loss: float, steps: int, fanout: int, rng: Rng) -> list[int]:
    """One execution from site 0, in rounds. By step 0..steps: how many sites have the message after it.

    `loss` is the probability that a copy or an acknowledgement does not get through; crashed steps of both ends count
    as losses, as the paper's lambda does.
    """
    sites = len(neighbours)
    has = [False] * sites
    has[0] = True
    lacking = [list(beside) for beside in neighbours]
    counts = [1]
    for _ in range(steps):
        senders = [site for site in range(sites) if has[site]]
        for sender in senders:
            targets = list(lacking[sender])
            if 0 < fanout < len(targets):
                targets = [targets[place] for place in rng.sample(len(targets), fanout)]
            for target in targets:
                if rng.chance(loss):
                    continue
                has[target] = True
                if sender in lacking[target]:
                    lacking[target].remove(sender)
                if not rng.chance(loss) and target in lacking[sender]:
                    lacking[sender].remove(target)
        counts.append(sum(has))
    return counts


def steps_for_reach(
    neighbours: list[list[SiteId]], loss: float, reach: float, fanout: int, executions: int, rng: Rng
) -> int:
    """The fewest steps after which, in at least `reach` of the executions, every site has the message.

    Take `executions` well above 1 / (1 - reach). -1 when no number of steps that was tried suffices.
    """
    steps = 1
    while steps <= STEPS_TRIED_MAX:
        late = [0] * (steps + 1)  # by step: executions in which somebody lacks the message after it
        for _ in range(executions):
            counts = reached_by(neighbours, loss, steps, fanout, rng)
            for step in range(steps + 1):
                if counts[step] < len(neighbours):
                    late[step] += 1
        for step in range(1, steps + 1):
            if late[step] <= (1.0 - reach) * executions:
                return step
        steps *= 2
    return -1


def complete_graph(sites: int) -> list[list[SiteId]]:
    """Everybody is beside everybody."""
    return [[other for other in range(sites) if other != site] for site in range(sites)]
