"""What is owed at the end: validity, agreement, uniform agreement (docs/guarantees.md, section 2)."""

from itertools import pairwise

import numpy as np

from tocsin.properties.bad_rows import HIGHEST
from tocsin.properties.kernels.arrays import Flags, Ints, distinct, group_bounds
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.found import Found
from tocsin.properties.obstacles import tell_owing


def find_validity(case: Case) -> Found:
    """A correct site delivers its own broadcasts; those of a correct outside source are delivered by somebody."""
    found = Found()
    first = HIGHEST  # row of a broadcast that is owed
    for log, site in enumerate(case.facts.whole):
        if not site.up or not site.has_broadcasts:
            continue
        names = case.group_names
        stayed = np.array([case.members.stayed(site, group) for group in names], np.bool_)
        outside = np.array([not site.left and _relies(case, site.site, group) for group in names], np.bool_) & ~stayed
        if not (stayed | outside).any():
            continue
        sent = np.flatnonzero((case.source == log) & case.core)
        group = case.group_of_stream[case.stream_of[sent]]
        own, others = sent[stayed[group]], sent[outside[group]]
        missing = own[case.delivery(log, own) < 0]
        if len(missing):
            missing = missing[~np.isin(missing, case.duplicates(log))]
        missing = np.concatenate((missing, others[~case.delivered_by_somebody[others]])) if len(others) else missing
        rows = case.first_broadcast[missing]
        due = rows[case.rows.time_us[rows] <= case.facts.old_us(site.site)]
        found.checked += len(own) + len(others) - (len(rows) - len(due))
        found.violations += len(due)
        first = min(first, int(due.min(initial=HIGHEST)))
    if found.violations:
        found.witness = (case.spot(first),)
        found.why = _tell_undelivered(case, first)
    return found


def _relies(case: Case, site: str, group: str) -> bool:
    """Whether members are asked to deliver what a site sends them that is none of them."""
    return case.members.is_outside(site, group) and case.members.has_stable_member(group)


def _tell_undelivered(case: Case, row: int) -> str:
    message = int(case.message[row])
    site, group = case.site(int(case.rows.log[row])), case.group(message)
    if case.members.is_outside(site, group):
        return f"no member of {group} that is up delivered {case.text(message)}, of site {site}, which is up too"
    return f"site {site}, up at the end, never delivered its own {case.text(message)}"


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
    asked = np.zeros(case.count, np.bool_)
    lacking = np.full(case.count, -1, np.int64)  # by message: a site of `owing` that lacks it
    young = np.zeros(case.count, np.bool_)  # by message: whether a site lacks it that may not owe it yet
    owing: list[str] = []
    for number, chosen in by_set(case, obliging):
        messages = distinct(case.sequence_message[chosen], case.count)
        for site in case.members.obliged(number):
            asked[messages] = True
            log = case.facts.index.get(site)
            missing = messages if log is None else messages[case.delivery(log, messages) < 0]
            if log is not None and len(missing):
                missing = missing[~case.told_missed(log, missing)]
            if case.facts.patience is not None and len(missing):
                due = _due(case, chosen, case.facts.old_us(site))
                young[missing[~due[missing]]] = True
                missing = missing[due[missing]]
            lacking[missing] = len(owing)
            owing.append(site)
        for left in case.members.obliged_before_leaving(number):
            passed = messages[case.passed(left, messages)]
            asked[passed] = True
            index = case.facts.index[left.site]
            missing = passed[case.delivery(index, passed) < 0]
            lacking[missing[~case.told_missed(index, missing)]] = len(owing)
            owing.append(left.site)
    found = Found(checked=int(np.count_nonzero(asked)) - int(np.count_nonzero(young & (lacking < 0))))
    found.violations = int(np.count_nonzero(lacking >= 0))
    found.unasked = int(np.count_nonzero(delivered & ~asked))
    if found.violations:
        index = int(np.flatnonzero(obliging & (lacking[case.sequence_message] >= 0))[0])
        message = int(case.sequence_message[index])
        site = owing[int(lacking[message])]
        has_rows, is_running = site in case.facts.index, case.members.is_asked(site)
        found.witness = (case.spot(int(case.sequence[index])),)
        found.why = tell_owing(site, case.group(message), case.text(message), case.facts.run, has_rows, is_running)
    return found


def by_set(case: Case, chosen: Flags) -> list[tuple[int, Ints]]:
    """The chosen deliveries by set of members: its number, and the deliveries, as indices into `case.sequence`."""
    places = np.flatnonzero(chosen)
    sets = case.member_set[places]
    order = np.argsort(sets, kind="stable")
    bounds = group_bounds(sets[order]).tolist()
    return [(int(sets[order[low]]), places[order[low:high]]) for low, high in pairwise(bounds) if low < high]


def _due(case: Case, deliveries: Ints, old_us: int) -> Flags:
    """By message: whether one of some deliveries of it is that old."""
    old = deliveries[case.rows.time_us[case.sequence[deliveries]] <= old_us]
    due = np.zeros(case.count, np.bool_)
    due[case.sequence_message[old]] = True
    return due
