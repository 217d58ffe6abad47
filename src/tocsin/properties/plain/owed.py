"""What is owed at the end: validity, agreement, uniform agreement (docs/guarantees.md, section 2)."""

from tocsin.properties.obstacles import NO_BROADCASTS
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Log, Message, Run, text
from tocsin.properties.plain.members import Members, Sites
from tocsin.traces.rows import Row


def find_validity(run: Run, members: Members) -> Finding:
    """A correct site delivers its own broadcasts."""
    checked = 0
    missing: list[tuple[Message, Row]] = []
    stayed: dict[tuple[str, str], bool] = {}
    for message, row in run.broadcasts.items():
        log = run.logs[row.site]
        key = (row.site, message[0])
        if key not in stayed:
            stayed[key] = log.is_up and members.stayed(log, message[0])
        if stayed[key]:
            checked += 1
            if message not in log.sequence and message not in log.duplicates:
                missing.append((message, row))
    obstacle = run.truncation
    if not run.broadcasts:
        obstacle = obstacle or run.lacking(NO_BROADCASTS)
    if not missing:
        return Finding(checked, obstacle=obstacle)
    message, row = min(missing, key=lambda each: (each[1].site, each[1].order))
    why = f"site {row.site}, up at the end, never delivered its own {text(message)}"
    return Finding(checked, len(missing), (row,), why, obstacle)


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
    for message, sites in owing.items():
        for site in members.obliged(message[0], sites):
            if message not in run.sequences.get(site, ()):
                lacking[message] = site
                break
    obstacle = run.truncation or run.shortening
    if not lacking:
        return Finding(len(owing), obstacle=obstacle)
    message, row = next(
        (message, row) for log in obliging for message, row in log.sequence.items() if message in lacking
    )
    site = lacking[message]
    silent = "" if site in run.logs else f" (it has no rows in run {run.name})"
    why = f"site {site}{silent}, up at the end and a member of {message[0]}, never delivered {text(message)}"
    return Finding(len(owing), len(lacking), (row,), why, obstacle)
