"""What a run may lack for a verdict, in words that both engines use (docs/guarantees.md, section 7)."""

from typing import Final

NO_BROADCASTS: Final = "run {run}: no broadcast events"
NO_RECEIPTS: Final = "run {run}: no receive events of kind data that name their message"
NO_VIEWS: Final = "run {run}: no view events"
LOST_VIEWS: Final = "run {run}: view events, but no columns `view` and `members`"


def tell_truncation(run: str, site: str, hole: str, logs: int) -> str:
    """`site` is the first of so many with a truncated log."""
    others = f", and {logs - 1} more logs" if logs > 1 else ""
    return f"run {run}: the log of site {site} is truncated ({hole}){others}"


def tell_shortening(run: str, site: str, logs: int) -> str:
    """`site` is the first of so many whose older rows were dropped."""
    others = f", and those of {logs - 1} more" if logs > 1 else ""
    return f"run {run}: retention has dropped the older rows of site {site}{others}"
