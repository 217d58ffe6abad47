"""What is owed at the end: validity, agreement, uniform agreement (docs/guarantees.md, section 2)."""

from itertools import pairwise

import numpy as np

from tocsin.properties.kernels.arrays import Flags, Ints, distinct, group_bounds
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.found import Found


def find_validity(case: Case) -> Found:
    """A correct site delivers its own broadcasts."""
    found = Found()
    lacking: list[tuple[int, int]] = []  # row of the broadcast, message
    for log, site in enumerate(case.facts.whole):
        if not site.up or not site.has_broadcasts:
            continue
        owes = np.array([case.members.stayed(site, group) for group in case.group_names], np.bool_)
        if not owes.any():
            continue
        own = np.flatnonzero((case.source == log) & case.core)
        own = own[owes[case.group_of_stream[case.stream_of[own]]]]
        missing = own[case.delivery(log, own) < 0]
        if len(missing):
            missing = missing[~np.isin(missing, case.duplicates(log))]
        found.checked += len(own)
        found.violations += len(missing)
        if len(missing):
            rows = case.first_broadcast[missing]
            lacking.append((int(rows.min()), int(missing[rows.argmin()])))
    if lacking:
        row, message = min(lacking)
        found.witness = (case.spot(row),)
        site_name = case.site(int(case.rows.log[row]))
        found.why = f"site {site_name}, up at the end, never delivered its own {case.text(message)}"
    return found


def find_agreement(case: Case) -> Found:
    """What a correct site delivered, every correct member delivered."""
    up = np.array([site.up for site in case.facts.whole], np.bool_)
    return _find_agreement(case, up[case.sequence_log] & case.sequence_core)


def find_uniform_agreement(case: Case) -> Found:
    """What any site delivered, every correct member delivered."""
    return _find_agreement(case, case.sequence_core)


def _find_agreement(case: Case, obliging: Flags) -> Found:
    """`obliging`: by delivery in a sequence, whether it obliges others."""
    delivered = np.zeros(case.count, np.bool_)
    delivered[case.sequence_message[obliging]] = True
    found = Found(checked=int(np.count_nonzero(delivered)))
    lacking = np.full(case.count, -1, np.int64)  # by message: a site of `owing` that lacks it
    owing: list[str] = []
    for number, messages in _by_set(case, obliging):
        for site in case.members.obliged(number):
            log = case.facts.index.get(site)
            missing = messages if log is None else messages[case.delivery(log, messages) < 0]
            lacking[missing] = len(owing)
            owing.append(site)
    found.violations = int(np.count_nonzero(lacking >= 0))
    if found.violations:
        index = int(np.flatnonzero(obliging & (lacking[case.sequence_message] >= 0))[0])
        message = int(case.sequence_message[index])
        site = owing[int(lacking[message])]
        silent = "" if site in case.facts.index else f" (it has no rows in run {case.facts.run})"
        found.witness = (case.spot(int(case.sequence[index])),)
        found.why = (
            f"site {site}{silent}, up at the end and a member of {case.group(message)}, "
            f"never delivered {case.text(message)}"
        )
    return found


def _by_set(case: Case, chosen: Flags) -> list[tuple[int, Ints]]:
    """The chosen deliveries by set of members: its number, and the different messages delivered to it."""
    sets = case.member_set[chosen]
    messages = case.sequence_message[chosen]
    order = np.argsort(sets, kind="stable")
    found: list[tuple[int, Ints]] = []
    for low, high in pairwise(group_bounds(sets[order]).tolist()):
        if low < high:
            found.append((int(sets[order[low]]), distinct(messages[order[low:high]], case.count)))
    return found
