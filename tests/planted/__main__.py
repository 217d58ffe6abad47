"""`python -m tests.planted PROTOCOL`: plant bugs in a protocol's sources, and see what catches each.

Goes on where it was stopped, as long as no source has changed. Exit 1 when something that mattered was not caught and
is not in `not_caught.toml`.
"""

import argparse
import sys
import time

from tests.planted import report
from tests.planted.ledger import Ledger
from tests.planted.planting import Plant
from tests.planted.trials import Survey, Trial, Trials
from tocsin.core.rng import Rng


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("protocol")
    parser.add_argument("--sample", type=int, metavar="N", help="try N of them, drawn")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--only", metavar="TEXT", help="those whose name contains it")
    parser.add_argument("--effort", type=float, default=1.0, help="times as many runs of walks, swarm and storms")
    parser.add_argument("--list", action="store_true", help="print what would be planted, as diffs, and try nothing")
    arguments = parser.parse_args()
    trials = Trials(arguments.protocol, arguments.effort)
    plants = chosen(list(trials.field.plants.values()), arguments.only, arguments.sample, arguments.seed)
    if arguments.list:
        for plant in plants:
            print(trials.field.diff(plant))
        print(f"{len(plants)} of {len(trials.field.plants)}")
        return 0
    ledger = Ledger(arguments.protocol, arguments.effort)
    survey = surveyed(trials, ledger)
    found = tried(trials, ledger, survey, plants)
    print(report.table(arguments.protocol, found, len(trials.field.plants), survey))
    surprising = report.surprising(arguments.protocol, found)
    for trial in surprising:
        print(f"NOT CAUGHT: {trial.name}, line {trial.line}; it mattered in {trial.mattered} runs")
        print(trials.field.diff(trials.field.plants[trial.name]))
    return 1 if surprising else 0


def chosen(plants: list[Plant], only: str | None, sample: int | None, seed: int) -> list[Plant]:
    """The plants to try, in the order of the sources."""
    plants = [plant for plant in plants if only is None or only in plant.name]
    if sample is None or sample >= len(plants):
        return plants
    return [plants[place] for place in sorted(Rng(seed).fork("planted").sample(len(plants), sample))]


def surveyed(trials: Trials, ledger: Ledger) -> Survey:
    survey = ledger.survey()
    if survey is None:
        survey = trials.survey()
        ledger.keep_survey(survey)
    return survey


def tried(trials: Trials, ledger: Ledger, survey: Survey, plants: list[Plant]) -> list[Trial]:
    done = ledger.trials()
    began = time.monotonic()
    found: list[Trial] = []
    for number, plant in enumerate(plants):
        trial = done.get(plant.name)
        if trial is None:
            trial = trials.trial(plant, survey)
            ledger.keep_trial(trial)
            told = f"{time.monotonic() - began:6.0f} s  {number + 1}/{len(plants)}  {trial.name}  {trial.outcome}"
            print(f"{told}  {trial.by or ''}", file=sys.stderr, flush=True)
        found.append(trial)
    return found


if __name__ == "__main__":
    sys.exit(main())
