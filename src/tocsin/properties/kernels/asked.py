"""How much of a run in order somebody is asked for: agreement, uniform agreement and safe, from scans alone.

Every site that delivers in a group has all of it, so nothing is lacking; what is counted is what was asked. The members
at a delivery are those of some view of the group, or those that are listed. If each of these lists has a member that
is asked for everything, every message is asked for. If all of them have only members that have left, those are
asked for what they had passed: every message but the last of each stream. If nobody is asked, nothing is. Where that
differs from list to list, it needs every message.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum

from tocsin.properties.kernels.facts import RunFacts
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.joined import LogScan
from tocsin.properties.kernels.members import Members


class Asked(IntEnum):
    """What the members of a list are asked for."""

    NOTHING = 0
    PASSED = 1  # all but the last message of each stream
    ALL = 2


def find_asked(facts: RunFacts, members: Members, logs: list[LogScan]) -> dict[str, Found | None]:
    """By property: what was asked for; None if that needs every message. (Without receipts `safe` asks nobody.)"""
    up = [log for log in logs if log.facts.up]
    obliged = _by_group(facts, members, _obliged)
    found = {"agreement": _messages(up, obliged), "uniform_agreement": _messages(logs, obliged)}
    if facts.has_receipts:
        found["safe"] = _total(logs, _by_group(facts, members, _having))
    return found


def _by_group(
    facts: RunFacts, members: Members, asked: Callable[[Members, str, frozenset[str]], Asked]
) -> dict[str, Asked | None]:
    """By group: what is asked for whatever its members are at a delivery; None if that differs."""
    views = [view for site in facts.whole for view in site.views]
    found: dict[str, Asked | None] = {}
    for group in facts.groups:
        lists = {members.listed(group)}
        lists.update(members.of_view(group, view) for view in views if view.group == members.scope(group))
        kinds = {asked(members, group, sites) for sites in lists}
        found[group] = kinds.pop() if len(kinds) == 1 else None
    return found


def _obliged(members: Members, group: str, sites: frozenset[str]) -> Asked:
    number = members.set_number(group, sites)
    if members.obliged(number):
        return Asked.ALL
    left = members.obliged_before_leaving(number)
    return Asked.PASSED if any(group in site.delivered for site in left) else Asked.NOTHING


def _having(members: Members, group: str, sites: frozenset[str]) -> Asked:
    if any(map(members.is_asked, sites)):
        return Asked.ALL
    return Asked.PASSED if any(group in site.delivered for site in members.stopped(sites)) else Asked.NOTHING


def _messages(logs: Iterable[LogScan], asked: dict[str, Asked | None]) -> Found | None:
    """Of the messages that some logs deliver; all that deliver in a group deliver the same."""
    first: dict[str, LogScan] = {}
    for log in logs:
        for group in log.sequences:
            first.setdefault(group, log)
    found = [_count(log, group, asked[group]) for group, log in first.items()]
    return _sum(found)


def _total(logs: Iterable[LogScan], asked: dict[str, Asked | None]) -> Found | None:
    """Of all deliveries."""
    return _sum([_count(log, group, asked[group]) for log in logs for group in log.sequences])


def _count(log: LogScan, group: str, asked: Asked | None) -> Found | None:
    if asked is None:
        return None
    everything, _ = log.sequences[group].total()
    last = sum(1 for name, _ in log.delivered if name == group)  # of each stream
    unasked = {Asked.ALL: 0, Asked.PASSED: last, Asked.NOTHING: everything}[asked]
    return Found(everything - unasked, unasked=unasked)


def _sum(parts: list[Found | None]) -> Found | None:
    total = Found()
    for part in parts:
        if part is None:
            return None
        total.add(part)
    return total
