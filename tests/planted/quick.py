"""`python -m tests.planted.quick PROTOCOL NAME …`: planted bugs that a few plots or walks catch, without a survey.

A run counts only if the protocol as it is passes it. Exit 1 when one of them is not caught.
"""

import sys
from functools import partial

from tests.planted import watch
from tests.planted.judging import Judge, Run
from tests.planted.planting import Plant
from tests.planted.trials import Trials, apart

RUNS_MAX = 120  # of each catcher
QUICK = ("plot", "walk")


def main(protocol: str, names: list[str]) -> int:
    trials = Trials(protocol)
    missed = 0
    for name in names:
        plant = trials.field.plants.get(name)
        caught = None if plant is None else apart(partial(first_catch, trials, plant), Run | None)  # type: ignore[arg-type]
        missed += caught is None
        if plant is None:
            print(f"{name}: is not planted any more; `python -m tests.planted {protocol} --list` shows what is")
        else:
            print(f"{name}: {f'{caught.catcher} {caught.name}: {caught.wrong}' if caught else 'NOT CAUGHT'}")
    return 1 if missed else 0


def first_catch(trials: Trials, plant: Plant) -> Run | None:
    """The first quick run that goes wrong with the bug, and not without it."""
    for catcher in trials.catchers:
        if catcher.name in QUICK:
            for name in catcher.names()[:RUNS_MAX]:
                watch.plant(plant)
                judge = Judge(catcher.name, catcher.to_the_letter, {}, True)
                catcher.judge([name], judge)
                if judge.runs[0].wrong is not None:
                    watch.plant(None)
                    catcher.judge([name], judge)
                    if judge.runs[1].wrong is None:
                        return judge.runs[0]
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
