"""What each log delivered between its views, as counts and sums of hashes: enough for view synchrony, and small.

A passage from one view to the next is known only when the next view comes; by then the messages may be closed. So sums
are kept by interval between any two neighbouring views of a log, and put together when a passage is there."""

import numpy as np

from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.facts import RunFacts
from tocsin.properties.kernels.hashing import hash_messages, hash_stream
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.passages import Sums, passages

Intervals = dict[tuple[str, str, int], tuple[int, int]]  # log, group, how many views came before: count, sum of hashes
MODULUS = 1 << 64


def interval_sums(case: Case) -> Intervals:
    if not case.facts.has_views or not len(case.sequence):
        return {}
    stream_hashes = np.array([hash_stream(stream) for stream in case.streams], np.uint64)
    hashes = hash_messages(stream_hashes, case.stream_of, case.seqno_of)
    groups = case.group_of_stream[case.stream_of]
    found: Intervals = {}
    for log, site in enumerate(case.facts.whole):
        low, high = int(case.sequence_bounds[log]), int(case.sequence_bounds[log + 1])
        rows, messages = case.sequence[low:high], case.sequence_message[low:high]
        edges = np.array([view.order for view in site.views], np.int64)
        keys = np.searchsorted(edges, case.rows.order[rows]) * len(case.group_names) + groups[messages]
        for key in np.unique(keys).tolist():
            own = messages[keys == key]
            interval, group = divmod(key, len(case.group_names))
            found[site.log, case.group_names[group], interval] = (len(own), int(hashes[own].sum(dtype=np.uint64)))
    return found


def add_intervals(total: Intervals, more: Intervals) -> Intervals:
    joined = dict(total)
    for key, (count, hashed) in more.items():
        before = joined.get(key, (0, 0))
        joined[key] = (before[0] + count, (before[1] + hashed) % MODULUS)
    return joined


def passage_sums_of(facts: RunFacts, members: Members, intervals: Intervals) -> Sums:
    sums: Sums = {}
    for passage in passages(facts, members):
        log = facts.whole[passage.log].log
        keys = [(log, passage.group, interval) for interval in range(passage.old + 1, passage.new + 1)]
        found = [intervals[key] for key in keys if key in intervals]
        if found:
            sums[passage] = (sum(count for count, _ in found), sum(hashed for _, hashed in found) % MODULUS)
    return sums
