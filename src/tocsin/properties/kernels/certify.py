"""The proof that a run is in order, from the scans of its logs alone; or no proof, and the run has to be opened.

It needs: whole logs, no rollbacks, numbers of every stream rising in every log; every message of a group
delivered by every site that delivers in it or is a member at the end; equal fingerprints of the groups' sequences
and of how they lie between each other. Then all properties but `safe` (which compares times) hold, and what was
checked is counted here:

- integrity: rising numbers repeat nothing; equal sums mean that what was delivered is what was broadcast.
- order in and across groups: equal fingerprints.
- no cycle: sites' sets of groups that can be laid out as a tree, each set sharing with the rest of the tree only
what it
  shares with one neighbour (`is_tree_like`), let total orders that agree where they meet be joined into one.
  Other sets of groups need `is_line_possible`, over one site of each set.
- causal order: a site delivers its own messages in the order in which it broadcast them, each after its broadcast. So
  what it had seen when it broadcast a message precedes the message in the total order.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tocsin.properties.kernels.asked import find_asked
from tocsin.properties.kernels.facts import RunFacts
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.joined import MODULUS, LogScan
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.passages import Sums, find_view_synchrony, passages
from tocsin.properties.kernels.settled import Asking, find_settled_views
from tocsin.properties.report import PROPERTIES


@dataclass(slots=True)
class Certificate:
    """`found`: what is proven, by property. Of what is not in it nothing is known."""

    found: dict[str, Found]
    refused: str | None = None  # why something is not proven, in a few words
    line_over: tuple[str, ...] = ()  # sites whose sequences need a common line, for `acyclic` (and `causal`) to hold


def certify(facts: RunFacts, logs: list[LogScan]) -> Certificate:
    """`logs`: those of whole logs, by site name, as in `facts.whole`."""
    members = Members(facts)
    refused = (
        _refuse_logs(facts, logs)
        or _refuse_sets(facts, members, logs)
        or _refuse_sequences(logs)
        or _refuse_interleaving(logs)
    )
    if refused is not None:
        return Certificate({}, refused)
    found = _counts(facts, members, logs)
    for name, asked in find_asked(facts, members, logs).items():
        if asked is None:
            del found[name]
            refused = "who is asked for a message differs from view to view"
        else:
            found[name] = asked
    settled = _settled(facts, members, logs)
    if settled is not None:
        found["settled"] = settled
    else:
        del found["settled"]
        refused = refused or "somebody who is up and connected lacks messages, or is in no view"
    found["view_synchrony"], difference = find_view_synchrony(facts, members, _passage_sums(facts, members, logs))
    if difference is not None:
        del found["view_synchrony"]
        refused = refused or "sites deliver different messages between two views"
    if facts.has_receipts and not _is_safe(facts, members, logs):
        found.pop("safe", None)
        refused = refused or "whether members have messages in time needs every message"
    if any(log.own.broadcasts != log.own.deliveries for log in logs):
        del found["causal"]
        refused = refused or "a site delivers its own messages otherwise than it broadcast them"
    sets = {frozenset(log.sequences): log.facts.log for log in reversed(logs) if log.sequences}
    line_over = tuple(sorted(sets[each] for each in cyclic_core(sets)))
    return Certificate(found, refused, line_over)


def cyclic_core(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """What is left of some sets when those that hang on one other are taken away (Graham; Yu and Ozsoyoglu 1979).

    Nothing is left if and only if they can be laid out as a tree in which all that hold an element are neighbours.
    """
    original = {each: each for each in sets}
    current = dict(original)
    while True:
        counts: dict[str, int] = {}
        for each in current.values():
            for name in each:
                counts[name] = counts.get(name, 0) + 1
        smaller = {key: frozenset(name for name in each if counts[name] > 1) for key, each in current.items()}
        kept: dict[frozenset[str], frozenset[str]] = {}
        for key, each in sorted(smaller.items(), key=lambda item: (-len(item[1]), sorted(item[0]))):
            if each and not any(each <= other for other in kept.values()):
                kept[key] = each
        if kept == current:
            return list(kept)
        current = kept


def _refuse_logs(facts: RunFacts, logs: list[LogScan]) -> str | None:
    if facts.has_truncated():
        return "a log is truncated"
    if facts.shortened:
        return "retention has dropped the older rows of a log"
    if not facts.has_broadcasts:
        return "no broadcast events"
    owners: set[tuple[str, str]] = set()
    for log in logs:
        if log.has_rollbacks:
            return "rollbacks"
        if not all(stream.rises for stream in (*log.delivered.values(), *log.broadcast.values())):
            return "a stream's numbers do not rise"
        if any(origin != log.facts.site for _, origin in log.broadcast) or not owners.isdisjoint(log.broadcast):
            return "a site broadcasts in another's name"
        owners |= log.broadcast.keys()
        if any(least < 0 for _, least in log.own.leads.values()):
            return "a site delivers its own message before it broadcasts it"
    return None


def _sent(logs: list[LogScan]) -> dict[str, tuple[int, int]]:
    """By group: count and sum of the hashes of all that was broadcast to it."""
    totals: dict[str, tuple[int, int]] = {}
    for log in logs:
        for group, (count, hashed) in log.sent.items():
            before = totals.get(group, (0, 0))
            totals[group] = (before[0] + count, (before[1] + hashed) % MODULUS)
    return totals


def _refuse_sets(facts: RunFacts, members: Members, logs: list[LogScan]) -> str | None:
    """Whether every site that delivers in a group, or is up and a member at the end, has all that was broadcast
    to it.
    """
    sent = _sent(logs)
    by_site = {log.facts.site: log for log in logs if log.facts.is_last}
    for group in facts.groups:
        for log in logs:
            if group in log.sequences and log.sequences[group].total() != sent.get(group, (0, 0)):
                return f"a site lacks messages of {group}"
        for site in members.last(group):
            owing = by_site.get(site)
            if owing is None or (owing.facts.up and group not in owing.sequences):
                return f"a member of {group} delivered nothing"
    return None


def _refuse_sequences(logs: list[LogScan]) -> str | None:
    first: dict[str, LogScan] = {}
    for log in logs:
        for group, sequence in log.sequences.items():
            if not sequence.equals(first.setdefault(group, log).sequences[group]):
                return f"sites differ in the order of {group}"
    return None


def _refuse_interleaving(logs: list[LogScan]) -> str | None:
    first: dict[tuple[str, str], LogScan] = {}
    for log in logs:
        for pair, sums in log.interleaved.items():
            expected = first.setdefault(pair, log).interleaved[pair]
            if sums.tobytes() != expected.tobytes():
                return f"sites differ in the order of {pair[0]} and {pair[1]}"
    return None


def _is_safe(facts: RunFacts, members: Members, logs: list[LogScan]) -> bool:
    """Without a common clock it is enough that every site which is a member at any time has everything."""
    if facts.one_clock:
        return False
    having = {(group, log.facts.site) for log in logs if log.facts.is_last for group in log.sequences}
    views = [view for log in logs for view in log.facts.views]
    for group in facts.groups:
        listed = members.listed(group)
        for view in views:
            if view.group == members.scope(group):
                listed |= members.of_view(group, view)
        if any((group, site) not in having for site in listed):
            return False
    return True


def _settled(facts: RunFacts, members: Members, logs: list[LogScan]) -> Found | None:
    """What was examined, if nothing offends; None if that needs every message."""
    if facts.calm is None or facts.is_early():
        return Found()
    found = find_settled_views(facts, members)
    asking = Asking(facts, members)
    sent = _sent(logs)
    for group in facts.groups:
        asked = asking.members(group)
        if asking.is_owed_by_view(group) or any(site not in asking.logs for site in asked):
            return None
        if asked and all(group in logs[asking.logs[site]].sequences for site in asked):
            found.checked += sent[group][0]
        elif asked or any(group in logs[log].sequences for log in asking.logs.values()):
            return None
    return None if found.violations else found


def _passage_sums(facts: RunFacts, members: Members, logs: list[LogScan]) -> Sums:
    sums: Sums = {}
    for passage in passages(facts, members):
        intervals = logs[passage.log].intervals[passage.old + 1 : passage.new + 1]
        found = [each[passage.group] for each in intervals if passage.group in each]
        if found:
            sums[passage] = (sum(count for count, _ in found), sum(hashed for _, hashed in found) % MODULUS)
    return sums


def _counts(facts: RunFacts, members: Members, logs: list[LogScan]) -> dict[str, Found]:
    """What was examined. Nothing offends."""
    sent = {group: count for group, (count, _) in _sent(logs).items()}
    deliveries = sum(sequence.total()[0] for log in logs for sequence in log.sequences.values())
    counts = dict.fromkeys(PROPERTIES, deliveries)
    counts["integrity"] = deliveries + sum(sent.values())
    counts["validity"] = sum(
        count
        for log in logs
        if log.facts.up
        for group, (count, _) in log.sent.items()
        if members.stayed(log.facts, group)
        or (not log.facts.left and members.is_outside(log.facts.site, group) and members.has_stable_member(group))
    )
    return {name: Found(count) for name, count in counts.items()}
