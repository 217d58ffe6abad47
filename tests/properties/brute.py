"""The properties as docs/guarantees.md states them, word by word and pair by pair. Slow, and easy to believe."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from tocsin.traces.rows import Row

Message = tuple[str, str, int]  # group, origin, seqno


class Answer(NamedTuple):
    """`smallest`: the number of rows of the smallest witness."""

    checked: int
    violations: int
    smallest: int | None
    obstacle: bool


def message(row: Row) -> Message:
    assert row.group is not None and row.origin is not None and row.seqno is not None
    return (row.group, row.origin, row.seqno)


def brute_verdicts(
    rows: list[Row], groups: Mapping[str, Sequence[str]], one_clock: bool
) -> dict[str, tuple[str, int, int, int | None]]:
    """By property: verdict, checked, violations, rows of the smallest witness."""
    runs = [BruteRun([row for row in rows if row.run == run], groups, one_clock) for run in {row.run for row in rows}]
    found: dict[str, tuple[str, int, int, int | None]] = {}
    for name in BruteRun.PROPERTIES:
        answers: list[Answer] = [getattr(run, name)() for run in runs]
        checked = sum(answer.checked for answer in answers)
        violations = sum(answer.violations for answer in answers)
        smallest = min((answer.smallest for answer in answers if answer.smallest is not None), default=None)
        if violations:
            found[name] = ("fail", checked, violations, smallest)
        elif checked == 0 or any(answer.obstacle for answer in answers):
            found[name] = ("not checkable", checked, 0, None)
        else:
            found[name] = ("pass", checked, 0, None)
    return found


class BruteRun:
    PROPERTIES = (
        "integrity",
        "validity",
        "agreement",
        "uniform_agreement",
        "fifo",
        "causal",
        "single_source",
        "multiple_source",
        "multiple_group",
        "acyclic",
        "safe",
        "view_synchrony",
    )

    def __init__(self, rows: list[Row], groups: Mapping[str, Sequence[str]], one_clock: bool) -> None:
        self.groups = groups
        self.one_clock = one_clock
        logs: dict[str, list[Row]] = {}
        for row in rows:
            logs.setdefault(row.site, []).append(row)
        self.truncated = {site for site, log in logs.items() if [row.order for row in log] != list(range(len(log)))}
        self.logs = {site: logs[site] for site in sorted(logs) if site not in self.truncated}
        self.rows = [row for log in self.logs.values() for row in log]
        self.messages = sorted({message(row) for row in self.rows if row.event in ("broadcast", "deliver", "rollback")})
        self.used_groups = sorted({group for group, _, _ in self.messages})
        self.broadcasts = [row for row in self.rows if row.event == "broadcast"]
        self.sequences = {site: self.sequence(site) for site in self.logs}
        self.orders = {site: [message(row) for row in self.sequences[site]] for site in self.logs}
        self.total = sum(len(sequence) for sequence in self.sequences.values())
        self.has_broadcasts = any(row.event == "broadcast" for row in self.rows)
        self.has_deliveries = any(row.event == "deliver" for row in self.rows)

    # Words

    def cancelled(self, site: str) -> tuple[set[int], set[int], set[int]]:
        """Orders of cancelled deliveries, of deliveries on top of a standing one, of rollbacks of nothing."""
        cancelled: set[int] = set()
        repeated: set[int] = set()
        strays: set[int] = set()
        for row in self.logs[site]:
            if row.event not in ("deliver", "rollback"):
                continue
            standing = [
                other.order
                for other in self.logs[site]
                if other.event == "deliver"
                and other.order < row.order
                and message(other) == message(row)
                and other.order not in cancelled
            ]
            if row.event == "deliver" and standing:
                repeated.add(row.order)
            if row.event == "rollback":
                if standing:
                    cancelled.add(max(standing))
                else:
                    strays.add(row.order)
        return cancelled, repeated, strays

    def sequence(self, site: str) -> list[Row]:
        cancelled = self.cancelled(site)[0]
        found: list[Row] = []
        for row in self.logs[site]:
            if row.event == "deliver" and row.order not in cancelled:
                if message(row) not in [message(other) for other in found]:
                    found.append(row)
        return found

    def order_at(self, site: str) -> list[Message]:
        return self.orders[site]

    def up(self, site: str) -> bool:
        lives = [row.event for row in self.logs.get(site, []) if row.event in ("crash", "recover")]
        return not lives or lives[-1] != "crash"

    def broadcast_row(self, of: Message) -> Row | None:
        return next((row for row in self.broadcasts if message(row) == of), None)

    def listed(self, group: str) -> set[str]:
        if group in self.groups:
            return set(self.groups[group])
        if group == "all":
            return set(self.logs)
        return {row.site for row in self.rows if row.event in ("broadcast", "deliver") and row.group == group}

    def several(self) -> bool:
        return len({*self.used_groups, *self.groups}) > 1

    def views(self, group: str, site: str | None = None) -> list[Row]:
        rows = [row for row in self.rows if row.event == "view"]
        own = [row for row in rows if row.group == group] or [row for row in rows if row.group is None]
        return [row for row in own if site is None or row.site == site]

    def view_members(self, group: str, view: Row) -> set[str]:
        members = set(view.members or ())
        return members & self.listed(group) if view.group is None and self.several() else members

    def members_at(self, delivery: Row) -> set[str]:
        group = delivery.group or ""
        before = [row for row in self.views(group, delivery.site) if row.order < delivery.order]
        number = delivery.view
        if number is None and before:
            number = before[-1].view
        own = [row for row in before if row.view == number]
        anywhere = [row for row in self.views(group) if row.view == number]
        if number is None or not (own or anywhere):
            return self.listed(group)
        return self.view_members(group, own[-1] if own else anywhere[0])

    def last_members(self, group: str) -> set[str]:
        ends = [views[-1] for site in self.logs if self.up(site) and (views := self.views(group, site))]
        if not ends:
            return self.listed(group)
        number = max(row.view or 0 for row in ends)
        return {site for row in ends if row.view == number for site in self.view_members(group, row)}

    def stayed(self, site: str, group: str) -> bool:
        if site not in self.last_members(group):
            return False
        own = [row for row in self.views(group) if row.group == group]
        if not own:
            return True
        return site in self.listed(group) and all(site in (row.members or ()) for row in own if row.site == site)

    # Integrity and what is owed

    def integrity(self) -> Answer:
        rows = [row for row in self.rows if row.event in ("broadcast", "deliver", "rollback")]
        sizes: list[int] = []
        for row in rows:
            _, repeated, strays = self.cancelled(row.site)
            first = self.broadcast_row(message(row))
            needed: list[int] = []
            if row.event == "deliver" and self.has_broadcasts and not self.truncated:
                if first is None:
                    needed.append(1)
                elif first.site == row.site and first.order > row.order:
                    needed.append(2)
            if row.event == "deliver" and row.order in repeated:
                needed.append(2)
            if row.event == "rollback" and row.order in strays:
                needed.append(1)
            if row.event == "broadcast" and first != row:
                needed.append(2)
            if needed:
                sizes.append(min(needed))
        lacking = bool(self.truncated) or (self.has_deliveries and not self.has_broadcasts)
        return Answer(len(rows), len(sizes), min(sizes, default=None), lacking)

    def validity(self) -> Answer:
        checked = violations = 0
        for each in self.messages:
            row = self.broadcast_row(each)
            if row is None or not self.up(row.site) or not self.stayed(row.site, each[0]):
                continue
            checked += 1
            violations += each not in self.order_at(row.site)
        lacking = bool(self.truncated) or (self.has_deliveries and not self.has_broadcasts)
        return Answer(checked, violations, 1 if violations else None, lacking)

    def agreement(self) -> Answer:
        return self.agreement_of([site for site in self.logs if self.up(site)])

    def uniform_agreement(self) -> Answer:
        return self.agreement_of(list(self.logs))

    def agreement_of(self, sites: list[str]) -> Answer:
        checked = violations = 0
        for each in self.messages:
            deliveries = [row for site in sites for row in self.sequences[site] if message(row) == each]
            if not deliveries:
                continue
            checked += 1
            owing = set().union(*(self.members_at(row) for row in deliveries)) & self.last_members(each[0])
            owing = {site for site in owing if self.up(site) and site not in self.truncated}
            violations += any(site not in self.logs or each not in self.order_at(site) for site in owing)
        return Answer(checked, violations, 1 if violations else None, bool(self.truncated))

    # Order

    def fifo(self) -> Answer:
        violations = 0
        for site in self.logs:
            order = self.order_at(site)
            for place, (group, origin, seqno) in enumerate(order):
                violations += any(g == group and o == origin and n > seqno for g, o, n in order[:place])
        return Answer(self.total, violations, 2 if violations else None, bool(self.truncated))

    def direct_causes(self) -> set[tuple[Message, Message]]:
        found: set[tuple[Message, Message]] = set()
        for effect in self.messages:
            row = self.broadcast_row(effect)
            if row is None:
                continue
            for cause in self.messages:
                first = self.broadcast_row(cause)
                own = first is not None and first.site == row.site and first.order < row.order
                heard = any(message(d) == cause and d.order < row.order for d in self.sequences[row.site])
                if cause != effect and (own or heard):
                    found.add((cause, effect))
        return found

    def causal(self) -> Answer:
        links = dict.fromkeys(self.direct_causes(), 1)
        for middle in self.messages:  # Floyd and Warshall
            for one, other in permutations(self.messages, 2):
                if (one, middle) in links and (middle, other) in links:
                    through = links[one, middle] + links[middle, other]
                    links[one, other] = min(links.get((one, other), through), through)
        violations = 0
        shortest: list[int] = []
        for site in self.logs:
            order = self.order_at(site)
            for place, late in enumerate(order):
                lengths = [links[late, early] for early in order[:place] if (late, early) in links]
                violations += bool(lengths)
                shortest.extend(lengths)
        lacking = bool(self.truncated) or (self.has_deliveries and not self.has_broadcasts)
        return Answer(self.total, violations, 2 * min(shortest) + 2 if shortest else None, lacking)

    def inversions(self) -> Iterator[tuple[Message, Message]]:
        for one, other in combinations(self.logs, 2):
            first, second = self.order_at(one), self.order_at(other)
            for a, b in combinations(first, 2):
                if a in second and b in second and second.index(b) < second.index(a):
                    yield a, b

    def single_source(self) -> Answer:
        return self.order_answer(len({a[:2] for a, b in self.inversions() if a[:2] == b[:2]}))

    def multiple_source(self) -> Answer:
        return self.order_answer(len({a[0] for a, b in self.inversions() if a[0] == b[0]}))

    def multiple_group(self) -> Answer:
        return self.order_answer(len({frozenset((a[0], b[0])) for a, b in self.inversions()}))

    def order_answer(self, violations: int) -> Answer:
        return Answer(self.total, violations, 4 if violations else None, bool(self.truncated))

    def acyclic(self) -> Answer:
        before = {pair for site in self.logs for pair in combinations(self.order_at(site), 2)}
        lengths = dict.fromkeys(before, 1)
        for middle in self.messages:
            for one in self.messages:
                for other in self.messages:
                    if (one, middle) in lengths and (middle, other) in lengths:
                        through = lengths[one, middle] + lengths[middle, other]
                        lengths[one, other] = min(lengths.get((one, other), through), through)
        cycles = [lengths[each, each] for each in self.messages if (each, each) in lengths]
        return Answer(self.total, len(cycles), 2 * min(cycles) if cycles else None, bool(self.truncated))

    # Views

    def safe(self) -> Answer:
        receipts = [row for row in self.rows if row.event == "receive" and row.kind == "data"]
        receipts = [row for row in receipts if row.origin is not None and row.seqno is not None]
        if not receipts:
            return Answer(self.total, 0, None, bool(self.truncated) or self.has_deliveries)
        sizes: list[int] = []
        for site in self.logs:
            for delivery in self.sequences[site]:
                needed = [self.lacks(member, delivery, receipts) for member in self.members_at(delivery)]
                if any(needed):
                    sizes.append(min(filter(None, needed)))
        return Answer(self.total, len(sizes), min(sizes, default=None), bool(self.truncated))

    def lacks(self, member: str, delivery: Row, receipts: list[Row]) -> int:
        """0 if a member has the message in time; else how many rows show that it does not."""
        if member in self.truncated:
            return 0
        having = [row for row in receipts if row.site == member]
        having = [row for row in having if (row.origin, row.seqno) == (delivery.origin, delivery.seqno)]
        having = [row for row in having if row.group in (None, delivery.group)]
        having += [
            row
            for row in self.logs.get(member, [])
            if row.event in ("broadcast", "deliver") and message(row) == message(delivery)
        ]
        if not having:
            return 1
        return 2 if self.one_clock and min(row.time_us for row in having) > delivery.time_us else 0

    def view_synchrony(self) -> Answer:
        if not any(row.event == "view" for row in self.rows):
            return Answer(0, 0, None, bool(self.truncated) or self.has_deliveries)
        sets: dict[tuple[object, ...], list[set[Message]]] = {}
        for group in self.used_groups:
            for site in self.logs:
                views = self.views(group, site)
                if views and views[0].group is None and self.several() and site not in self.listed(group):
                    continue
                for old, new in pairwise(views):
                    key = (group, old.view, frozenset(old.members or ()), new.view, frozenset(new.members or ()))
                    between = [row for row in self.logs[site] if old.order < row.order < new.order]
                    if key[1:3] == key[3:5] or any(row.event == "crash" for row in between):
                        continue
                    if site not in (old.members or ()):
                        continue
                    delivered = [row for row in self.sequences[site] if row in between and row.group == group]
                    sets.setdefault(key, []).append({message(row) for row in delivered})
        shared = [found for found in sets.values() if len(found) > 1]
        broken = sum(any(each != found[0] for each in found) for found in shared)
        checked = sum(len(found) for found in shared)
        return Answer(checked, broken, 5 if broken else None, bool(self.truncated))
