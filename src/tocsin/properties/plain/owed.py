"""What is owed at the end: validity, agreement, uniform agreement (docs/guarantees.md, section 2)."""

from collections.abc import Callable

from tocsin.properties.obstacles import NO_BROADCASTS, tell_owing
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Log, Message, Run, text
from tocsin.properties.plain.members import Members, Sites
from tocsin.traces.rows import Row


def find_validity(run: Run, members: Members) -> Finding:
    """A correct site delivers its own broadcasts; those of a correct outside source are delivered by somebody."""
    checked = 0
    missing: list[tuple[Message, Row]] = []
    owes: dict[tuple[str, str], Callable[[Log, Message], bool] | None] = {}  # by log and group: who delivers it
    for message, row in run.broadcasts.items():
        log = run.sources[message]
        key = (log.name, message[0])
        if key not in owes:
            owes[key] = _owing(run, members, log, message[0])
        has = owes[key]
        if has is None:
            continue
        if has(log, message):
            checked += 1
        elif not run.is_young(row.time_us, log.site):
            checked += 1
            missing.append((message, row))
    obstacle = run.truncation
    if not run.broadcasts:
        obstacle = obstacle or run.lacking(NO_BROADCASTS)
    if not missing:
        return Finding(checked, obstacle=obstacle)
    message, row = min(missing, key=lambda each: (each[1].site, each[1].order))
    if members.is_outside(row.site, message[0]):
        why = f"no member of {message[0]} that is up delivered {text(message)}, of site {row.site}, which is up too"
    else:
        why = f"site {row.site}, up at the end, never delivered its own {text(message)}"
    return Finding(checked, len(missing), (row,), why, obstacle)


def _owing(run: Run, members: Members, log: Log, group: str) -> Callable[[Log, Message], bool] | None:
    """What is asked of the broadcasts of a site to a group; None for nothing."""
    if not log.is_up:
        return None
    if members.stayed(log, group):
        return _has
    if not log.has_left and members.is_outside(log.site, group) and members.has_stable_member(group):
        up = [each for each in run.logs.values() if each.is_up]
        return lambda _, message: any(_has(each, message) for each in up)
    return None


def _has(log: Log, message: Message) -> bool:
    return message in log.sequence or message in log.duplicates


def find_agreement(run: Run, members: Members) -> Finding:
    """What a correct site delivered, every correct member delivered."""
    return _agreement(run, members, [log for log in run.logs.values() if log.is_up])


def find_uniform_agreement(run: Run, members: Members) -> Finding:
    """What any site delivered, every correct member delivered."""
    return _agreement(run, members, list(run.logs.values()))


def _agreement(run: Run, members: Members, obliging: list[Log]) -> Finding:
    """`obliging`: the logs whose deliveries oblige the others."""
    owing: dict[Message, Sites] = {}  # O(m)
    for log in obliging:
        for message, at in zip(log.sequence, members.at_deliveries(log), strict=True):
            before = owing.get(message)
            if before is not at:
                owing[message] = at if before is None else before | at
    lacking: dict[Message, str] = {}  # the first site that lacks a message
    checked = unasked = 0
    for message, sites in owing.items():
        obliged = members.obliged_for(message, sites)
        if not obliged:
            unasked += 1
            continue
        checked += 1
        without = [site for site in obliged if message not in run.sequences.get(site, ())]
        without = [site for site in without if not _was_told(run, site, message)]
        owed = [site for site in without if _is_due(run, members, obliging, message, site)]
        if owed:
            lacking[message] = owed[0]
        elif without:
            checked -= 1  # nothing is owed yet
    obstacle = run.truncation or run.shortening
    if not lacking:
        return Finding(checked, obstacle=obstacle, unasked=unasked)
    message, row = next(
        (message, row) for log in obliging for message, row in log.sequence.items() if message in lacking
    )
    site = lacking[message]
    why = tell_owing(site, message[0], text(message), run.name, site in run.logs, members.is_asked(site))
    return Finding(checked, len(lacking), (row,), why, obstacle)


def _was_told(run: Run, site: str, message: Message) -> bool:
    """Whether a `missed` row in the site's log names the message by its number."""
    log = run.logs.get(site)
    if log is None or not log.gaps:
        return False
    group, origin, seqno = message
    numbers = run.numbers(group, origin)
    mine = [gap for gap in log.gaps if gap.group == group and not gap.by_position]
    return any(gap.covers(origin, seqno, None, numbers) for gap in mine)


def _is_due(run: Run, members: Members, obliging: list[Log], message: Message, site: str) -> bool:
    """Whether a delivery that obliges a site is old enough."""
    if run.patience is None:
        return True
    for log in obliging:
        row = log.sequence.get(message)
        if row is not None and not run.is_young(row.time_us, site):
            at = members.at_deliveries(log)[list(log.sequence).index(message)]
            if site in at:
                return True
    return False
