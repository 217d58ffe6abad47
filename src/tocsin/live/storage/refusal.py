"""The one line with which a damaged log is refused: where, what, what would be lost, and the cure."""

from pathlib import Path

from tocsin.live.storage.recovery import Lost, Recovered

CURE = "nothing was changed; put back the folder as it was when the member stopped last, or see docs/durability.md"


def refusal(folder: Path, found: Recovered) -> str:
    more = f" (and {len(found.damage) - 1} more places; `tocsin scrub` names them)" if len(found.damage) > 1 else ""
    lost = [each for bad in found.damage for each in bad.lost]
    return f"{found.damage[0].line(folder)}{more}; without it the member would lose {_lost(lost)}; {CURE}"


def _lost(lost: list[Lost]) -> str:
    """By group, from the first to the last position; and the protocol's state."""
    groups = sorted({each.group for each in lost if each.group >= 0})
    names: list[str] = []
    for group in groups:
        of_group = [each for each in lost if each.group == group]
        first = min(each.first for each in of_group)
        if any(each.messages < 0 for each in of_group):
            names.append(f"what it delivered in group {group} from position {first} on")
        else:
            last = max(each.first + max(each.messages, 1) for each in of_group) - 1
            names.append(f"positions {first} to {last} of group {group}")
    if any(each.group < 0 for each in lost) or not names:
        names.append("what its protocol has promised")
    return " and ".join(names)
