"""`python -m tests.planted.page`: write the tables of docs/planted-bugs.md from what was tried on these sources.

A protocol of which nothing was tried on them keeps its row, which says the commit that it is from.
"""

import sys
from pathlib import Path

from tests.planted import report
from tests.planted.ledger import Ledger
from tests.planted.trials import CAUGHT, DIED, IDLE, MISSED, TOLD, UNREACHED, Trial
from tests.track_record import commit, replaced, today
from tocsin.protocols.registry import REGISTRY

PAGE = Path(__file__).parents[2] / "docs" / "planted-bugs.md"
BY = ("plot", "walk", "test", "swarm", "storm", "exploration")
OUTCOMES = (TOLD, MISSED, IDLE, UNREACHED, DIED)


def main() -> int:
    tried = {name: list(Ledger(name, 1.0).trials().values()) for name in sorted(REGISTRY)}
    tried = {name: trials for name, trials in tried.items() if trials}
    if not tried:
        print("nothing was tried on the present sources: python -m tests.planted PROTOCOL", file=sys.stderr)
        return 1
    before = PAGE.read_text()
    text = replaced(before, "caught", caught_table(tried, earlier_rows(before)))
    PAGE.write_text(replaced(text, "not caught", known_table(report.KNOWN)))
    return 0


def earlier_rows(page: str) -> dict[str, str]:
    """The rows that the page has, by protocol."""
    part = page.partition("<!-- caught: begin -->")[2].partition("<!-- caught: end -->")[0]
    rows = [line for line in part.splitlines() if line.startswith("| ")]
    return {line.split("|")[1].strip(): line for line in rows[1:]}


def caught_table(tried: dict[str, list[Trial]], earlier: dict[str, str]) -> str:
    """By protocol: how many were tried, and what caught them first."""
    titles = [*BY, "told", "not caught", "never mattered", "never reached", "died", "tried on"]
    lines = [f"| protocol | tried | caught | {' | '.join(titles)} |", "|---|" + "---:|" * 13 + "---|"]
    rows = dict(earlier)
    for name, trials in tried.items():
        caught = [str(trial.by).split()[0] for trial in trials if trial.outcome == CAUGHT]
        counts = [len(trials), len(caught), *(caught.count(by) for by in BY)]
        counts += [sum(trial.outcome == outcome for trial in trials) for outcome in OUTCOMES]
        rows[name] = f"| {name} | " + " | ".join(str(count) for count in counts) + f" | {today()}, {commit()} |"
    return "\n".join([*lines, *[rows[name] for name in sorted(rows)]]) + "\n"


def known_table(known: dict[str, dict[str, str]]) -> str:
    """What mattered and was not caught, and why."""
    lines = ["| protocol | planted | why |", "|---|---|---|"]
    for protocol, reasons in sorted(known.items()):
        lines += [f"| {protocol} | `{name}` | {reason} |" for name, reason in reasons.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
