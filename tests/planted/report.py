"""What became of planted bugs, told in a table; and what is known not to be caught (`not_caught.toml`)."""

import tomllib
from pathlib import Path

from tests.planted.trials import CAUGHT, DIED, IDLE, MISSED, TOLD, UNREACHED, Survey, Trial

KNOWN: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "not_caught.toml").read_text())


def surprising(protocol: str, trials: list[Trial]) -> list[Trial]:
    """Bugs that mattered, were not caught, and are not known; and those that could not be tried to the end."""
    known = KNOWN.get(protocol, {})
    return [trial for trial in trials if trial.outcome in (MISSED, TOLD, DIED) and trial.name not in known]


def table(protocol: str, trials: list[Trial], all_plants: int, survey: Survey) -> str:
    """For people: how many, caught by what, and each that was not."""
    lines = [f"{protocol}: {len(trials)} planted of {all_plants}; {len(survey.runs)} runs of the protocol as it is"]
    failed = survey.failed()
    if failed:
        lines.append(f"  left out, the protocol itself does not pass: {counted([run.catcher for run in failed])}")
    caught = [trial for trial in trials if trial.outcome == CAUGHT]
    lines.append(f"  caught: {len(caught)} ({counted([str(trial.by).split()[0] for trial in caught])})")
    for outcome, words in (
        (TOLD, "only a story is acted otherwise"),
        (MISSED, "mattered, not caught"),
        (IDLE, "reached, never mattered"),
        (UNREACHED, "never reached"),
        (DIED, "ended the process that tried it"),
    ):
        found = [trial for trial in trials if trial.outcome == outcome]
        lines.append(f"  {words}: {len(found)}")
        lines += [f"    {trial.name} (line {trial.line}, {trial.mattered} runs)" for trial in found]
    lines.append(f"  {sum(trial.seconds for trial in trials):.0f} s of CPU")
    return "\n".join(lines)


def counted(words: list[str]) -> str:
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "none"
