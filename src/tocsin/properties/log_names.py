"""Names of logs, where a site has more than one: one log is (run, site, incarnation)."""

from typing import Final

_BETWEEN: Final = "\0"  # sorts before whatever a name goes on with


def log_name(site: str, incarnation: str) -> str:
    """Of an incarnation that is over; the last one's log has its site's name."""
    return f"{site}{_BETWEEN}{incarnation}"
