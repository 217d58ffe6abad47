"""Words that both engines use: what a run may lack for a verdict (docs/guarantees.md, section 8), and who lacks a
message."""

from typing import Final

NO_BROADCASTS: Final = "run {run}: no broadcast events"
NO_RECEIPTS: Final = "run {run}: no receive events of kind data that name their message"
NO_VIEWS: Final = "run {run}: no view events"
NO_CALM: Final = "run {run}: nothing says since when faults were over (`tocsin.calm_us`, --calm-since)"
TOO_EARLY: Final = "run {run}: it ends before the group had its {bound_us} us to settle in, from {from_us} us on"
LOST_VIEWS: Final = "run {run}: view events, but no columns `view` and `members`"


def tell_truncation(run: str, site: str, hole: str, logs: int) -> str:
    """`site` is the first of so many with a truncated log."""
    others = f", and {logs - 1} more logs" if logs > 1 else ""
    return f"run {run}: the log of site {site} is truncated ({hole}){others}"


def tell_shortening(run: str, site: str, logs: int) -> str:
    """`site` is the first of so many whose older rows were dropped."""
    others = f", and those of {logs - 1} more" if logs > 1 else ""
    return f"run {run}: retention has dropped the older rows of site {site}{others}"


def tell_owing(site: str, group: str, message: str, run: str, has_rows: bool, is_running: bool) -> str:
    """A member that lacks what others delivered, at the end or when it left."""
    if not is_running:
        return (
            f"site {site}, a member of {group} until it left, never delivered {message}, but later ones of its stream"
        )
    silent = "" if has_rows else f" (it has no rows in run {run})"
    return f"site {site}{silent}, up at the end and a member of {group}, never delivered {message}"


def tell_lacking(site: str, message: str, is_delivered: bool) -> str:
    """`is_delivered`: somebody else has it."""
    if is_delivered:
        return f"site {site}, up and connected, has not delivered {message}"
    return f"neither site {site}, up and connected, nor anybody else has delivered {message}"
