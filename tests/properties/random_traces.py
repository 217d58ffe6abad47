"""Small random traces: sites that broadcast, deliver, roll back, crash and change views, rightly or wrongly.

Each trace draws how well its sites behave, so that every property passes in many traces and fails in many.
"""

from random import Random
from typing import NamedTuple

from tocsin.properties.terms import Patience, Terms
from tocsin.traces.calm import Calm
from tocsin.traces.rows import (
    BROADCAST,
    CRASH,
    DATA,
    DELIVER,
    DUPLICATE,
    LEAVE,
    LOST,
    MISSED,
    RECEIVE,
    RECOVER,
    RETAINED,
    ROLLBACK,
    SEND,
    VIEW,
    Row,
)

Message = tuple[str, str, int]


class RandomTrace(NamedTuple):
    rows: list[Row]
    groups: dict[str, list[str]]
    one_clock: bool
    calm: Calm | None = None
    patience: Patience | None = None


def terms_of(trace: RandomTrace) -> Terms:
    return Terms(trace.groups, trace.one_clock, trace.patience, trace.calm)


def random_trace(seed: int) -> RandomTrace:
    rng = Random(seed)
    sites = ["a", "b", "c", "d"][: rng.choice([2, 3, 3, 4])]
    names = rng.choice([["all"], ["all"], ["g"], ["g", "h"], ["g", "h", "k"], ["all", "g"]])
    members = {
        name: sites if name == "all" else sorted(rng.sample(sites, rng.randint(min(2, len(sites)), len(sites))))
        for name in names
    }
    given = {name: members[name] for name in names if rng.random() < 0.6}
    if given and rng.random() < 0.1:
        first = next(iter(given))
        given[first] = [*given[first], "silent"]
    rows: list[Row] = []
    one_clock = rng.random() < 0.6
    for run in range(rng.choice([1, 1, 1, 2])):
        rows += _Run(Random(rng.random()), f"run{run}", sites, members).rows()
    return RandomTrace(rows, given, one_clock)


class _Run:
    def __init__(self, rng: Random, run: str, sites: list[str], members: dict[str, list[str]]) -> None:
        self.rng = rng
        self.run = run
        self.sites = sites
        self.members = members
        self.logs: dict[str, list[Row]] = {site: [] for site in sites}
        self.time_us = 0
        self.history: list[Message] = []  # in the order of broadcasts
        self.numbers: dict[str, int] = {}
        self.view = 0
        self.last_view: dict[str, int] = {}
        self.standing: dict[str, list[Message]] = {site: [] for site in sites}
        self.mode = rng.choice(["total", "total", "fifo", "fifo", "any"])
        self.error = rng.choice([0.0, 0.0, 0.02, 0.1])  # how often a site does what it must not
        self.with_views = rng.random() < 0.4
        self.view_group = rng.choice([None, *members])
        self.with_receipts = rng.random() < 0.6
        self.receipt_groups = rng.random() < 0.3
        self.with_crashes = rng.random() < 0.4
        self.with_rollbacks = rng.random() < 0.25

    def rows(self) -> list[Row]:
        rng = self.rng
        if self.with_views:
            self.install(self.sites)
        for _ in range(rng.randint(0, 14)):
            self.step()
        if rng.random() < 0.6:
            self.finish()
        for site, log in self.logs.items():
            if rng.random() < 0.02 and len(log) > 1:
                del log[rng.randrange(len(log) - 1)]
            if rng.random() < 0.05:
                self.logs[site] = [row for row in log if row.event != BROADCAST]
                self.logs[site] = [row._replace(order=order) for order, row in enumerate(self.logs[site])]
        return [row for log in self.logs.values() for row in log]

    def note(self, site: str, event: str, of: Message | None = None, **more: object) -> None:
        self.time_us += self.rng.choice([0, 1, 1, 5])
        group, origin, seqno = of if of is not None else (None, None, None)
        row = Row(self.run, site, len(self.logs[site]), self.time_us, event, group, origin, seqno)
        self.logs[site].append(row._replace(**more))  # type: ignore[arg-type]

    def step(self) -> None:
        rng = self.rng
        site = rng.choice(self.sites)
        action = rng.random()
        if action < 0.35:
            self.broadcast(site)
        elif action < 0.8:
            self.deliver(site)
        elif action < 0.86 and self.with_rollbacks:
            if self.standing[site]:
                undone = rng.choice([self.standing[site][-1], rng.choice(self.standing[site])])
                self.standing[site].remove(undone)
                self.note(site, ROLLBACK, undone)
            elif self.history and rng.random() < self.error:
                self.note(site, ROLLBACK, rng.choice(self.history))
        elif action < 0.9 and self.with_crashes:
            self.note(site, rng.choice([CRASH, CRASH, RECOVER]))
        elif action < 0.96 and self.with_views:
            self.install(sorted(rng.sample(self.sites, rng.randint(1, len(self.sites)))))
        else:
            self.note(site, SEND, kind="token", peer=rng.choice(self.sites), size=8)

    def broadcast(self, site: str) -> None:
        group = self.rng.choice(list(self.members))
        number = self.numbers.get(site, -1) + 1
        if self.rng.random() < self.error:
            number = max(0, number - 1)
        self.numbers[site] = number
        message = (group, site, number)
        self.history.append(message)
        self.note(site, BROADCAST, message, size=10)
        if self.with_receipts:
            for other in self.members[group]:
                if other != site and self.rng.random() > self.error:
                    self.receive(other, message)

    def receive(self, site: str, message: Message) -> None:
        group = message[0] if self.receipt_groups else None
        self.note(site, RECEIVE, message, kind=self.rng.choice([DATA, DATA, DATA, DATA, "ack"]), peer=message[1])
        self.logs[site][-1] = self.logs[site][-1]._replace(group=group)

    def owed(self, site: str) -> list[Message]:
        return [m for m in self.history if site in self.members[m[0]] and m not in self.standing[site]]

    def deliver(self, site: str, message: Message | None = None) -> None:
        rng = self.rng
        owed = self.owed(site)
        if message is None:
            if self.history and rng.random() < self.error:
                message = rng.choice(self.history)
            elif rng.random() < self.error * 0.3:
                message = (rng.choice(list(self.members)), rng.choice(self.sites), 77)
            elif not owed:
                return
            elif self.mode == "total":
                message = owed[0]
            elif self.mode == "fifo":
                origin = rng.choice(owed)[1]
                message = next(owing for owing in owed if owing[1] == origin)
            else:
                message = rng.choice(owed)
        self.standing[site].append(message)
        view = self.last_view.get(site) if rng.random() < 0.8 else None
        if rng.random() < self.error:
            view = rng.randint(0, 3)
        position = len(self.standing[site]) - 1
        if self.with_receipts and message[1] != site and rng.random() < 0.3:
            self.receive(site, message)
        self.note(site, DELIVER, message, view=view, position=position)

    def install(self, members: list[str]) -> None:
        self.view += 1
        for site in members:
            if self.rng.random() > self.error:
                if self.rng.random() < 0.7:
                    self.catch_up(site)
                listed = members if self.rng.random() > self.error else self.sites[:1]
                self.last_view[site] = self.view
                self.note(site, VIEW, view=self.view, members=tuple(listed), group=self.view_group)

    def catch_up(self, site: str) -> None:
        for message in self.owed(site):
            self.deliver(site, message)

    def finish(self) -> None:
        for site in self.sites:
            if self.rng.random() > self.error:
                self.catch_up(site)


def live_trace(seed: int) -> RandomTrace:
    """A random trace with what only live members note: some leave, some rows are repeats, views of minorities, and
    retention has dropped the beginning of some logs."""
    trace = random_trace(seed)
    rng = Random(seed)
    logs: dict[tuple[str, str], list[Row]] = {}
    for row in trace.rows:
        logs.setdefault((row.run, row.site), []).append(row)
    rows: list[Row] = []
    for log in logs.values():
        for place in range(len(log) - 1, -1, -1):
            row, chance = log[place], rng.random()
            if row.event == VIEW and chance < 0.2:
                log[place] = row._replace(primary=chance < 0.1)
            elif row.event == DELIVER and chance < 0.05:
                log[place] = row._replace(event=DUPLICATE, producer="p", number=place)
            elif row.event == CRASH and chance < 0.5:
                log[place] = row._replace(event=LEAVE)
            elif row.event == SEND:
                log[place] = row._replace(event=rng.choice([MISSED, LOST]), kind=None, peer=None)
        if rng.random() < 0.1:
            log.append(Row(log[0].run, log[0].site, log[-1].order + 1, log[-1].time_us, LEAVE))
        if rng.random() < 0.15 and [row.order for row in log] == list(range(len(log))):
            dropped = rng.randrange(len(log))
            begins = rng.choice([0, max(0, dropped - 1)])  # its own order is its own, or that of the last it stands for
            log[:dropped] = [Row(log[0].run, log[0].site, begins, log[dropped].time_us, RETAINED)]
            log[1:] = [row._replace(order=row.order + 1) for row in log[1:]]
        rows += log
    return trace._replace(rows=rows)


def stopped_trace(seed: int) -> RandomTrace:
    """A random trace of a group that was stopped: all but a few leave in the end, and some have lost a delivery."""
    trace = random_trace(seed)
    rng = Random(f"stopped {seed}")
    careless = rng.choice([0.0, 0.0, 0.05])
    staying = rng.choice([0.0, 0.0, 0.3])
    logs: dict[tuple[str, str], list[Row]] = {}
    for row in trace.rows:
        if row.event != DELIVER or rng.random() >= careless:
            logs.setdefault((row.run, row.site), []).append(row)
    rows: list[Row] = []
    for log in logs.values():
        if rng.random() >= staying:
            log.append(Row(log[0].run, log[0].site, 0, log[-1].time_us, LEAVE))
        rows += [row._replace(order=order) for order, row in enumerate(log)]
    return trace._replace(rows=rows)


def calm_trace(seed: int) -> RandomTrace:
    """A random trace of which it is said since when faults were over, of members that may be running: some are told
    that they missed something or that a broadcast was lost, some have had another disk."""
    trace = live_trace(seed)
    rng = Random(f"calm {seed}")
    logs: dict[tuple[str, str], list[Row]] = {}
    for row in trace.rows:
        logs.setdefault((row.run, row.site), []).append(row)
    rows: list[Row] = []
    for log in logs.values():
        rows += _with_incarnations(rng, _with_gaps(rng, log) if rng.random() < 0.5 else log)
    last_us = max((row.time_us for row in rows), default=0)
    calm = Calm(
        rng.randint(0, last_us + 1),
        rng.choice([0, 3, 10, 100]),
        frozenset(site for site in "abcd" if rng.random() < 0.1),
        rng.choice([None, None, rng.randint(0, last_us + 1)]),
        rng.random() < 0.2,
    )
    patience = Patience(rng.choice([0, 2, 10]), rng.choice([None, last_us, last_us + 5, last_us + 100]))
    return trace._replace(
        rows=rows, calm=calm if rng.random() < 0.95 else None, patience=patience if rng.random() < 0.4 else None
    )


def _with_gaps(rng: Random, log: list[Row]) -> list[Row]:
    """Some deliveries are reported as missed, some broadcasts as lost; orders stay as they are."""
    found: list[Row] = []
    for row in log:
        chance = rng.random()
        size = rng.choice([1, 1, 2, 3, None])
        if row.event == DELIVER and chance < 0.15:
            seqno = rng.choice([row.seqno, None])
            origin = rng.choice([row.origin, None]) if seqno is None else row.origin
            row = row._replace(event=MISSED, size=size, seqno=seqno, origin=origin, view=None)
        elif row.event in (ROLLBACK, DUPLICATE) and chance < 0.3:
            row = row._replace(event=LOST)
        elif row.event == SEND and chance < 0.5:
            own = [each for each in log if each.event == BROADCAST]
            if own:
                lost = rng.choice(own)
                row = row._replace(event=LOST, kind=None, peer=None, group=lost.group, origin=lost.origin)
                row = row._replace(seqno=lost.seqno)
        found.append(row)
    return found


def _with_incarnations(rng: Random, log: list[Row]) -> list[Row]:
    """All rows of one incarnation, or the later ones of another, with their own orders."""
    chance = rng.random()
    if chance < 0.4:
        return log
    if chance < 0.7 or len(log) < 2:
        return [row._replace(incarnation="i") for row in log]
    half = rng.randrange(1, len(log))
    first, second = rng.choice([("i", "x"), ("x", "i"), (None, "i")])  # names say nothing about which was first
    early = [row._replace(incarnation=first) for row in log[:half]]
    late = [row._replace(incarnation=second, order=row.order - log[half].order) for row in log[half:]]
    return [*late, *early] if rng.random() < 0.5 else [*early, *late]


def scattered_trace(seed: int) -> RandomTrace:
    """Sites that each deliver a few messages of several groups: long cycles, and causes over several sites."""
    rng = Random(seed)
    sites = ["a", "b", "c", "d", "e", "f", "g", "h"][: rng.randint(3, 8)]
    groups = ["g", "h", "k", "l"][: rng.randint(1, 4)]
    relayed = rng.random() < 0.3  # each broadcast follows the one before it; only the last site is in disorder
    origins = sites[:-1] if relayed else [rng.choice(sites) for _ in range(rng.randint(2, 8))]
    messages = [(rng.choice(groups), origin, number) for number, origin in enumerate(origins)]
    few = rng.choice([2, 2, 2, 3, 5])
    disorder = rng.choice([0.0, 0.3, 1.0, 3.0])
    early = rng.choice([0.0, 0.0, 0.5])  # some deliveries come before their causes exist, which no real run has
    unknown = rng.choice([0.0, 0.0, 0.2])  # how many broadcasts are in no log
    rows: list[Row] = []
    for site in sites:
        own = [number for number, message in enumerate(messages) if message[1] == site]
        events = [(BROADCAST, number) for number in own if rng.random() >= unknown]
        if relayed and site != sites[-1]:
            events += [(DELIVER, number - 1) for _, number in events if number > 0]
        else:
            events += [(DELIVER, number) for number in rng.sample(range(len(messages)), min(few, len(messages)))]
        spread = 0.0 if relayed and site != sites[-1] else disorder * len(messages)
        places = {event: event[1] + (event[0] == DELIVER) * spread * (rng.random() - early) for event in events}
        events.sort(key=places.__getitem__)
        for order, (event, number) in enumerate(events):
            group, origin, seqno = messages[number]
            rows.append(Row("run", site, order, order, event, group, origin, seqno))
    return RandomTrace(rows, {}, False)
