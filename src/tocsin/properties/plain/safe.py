"""Safe delivery: when anyone delivers a message, all members of its view have it (docs/guarantees.md, section 5)."""

from tocsin.properties.obstacles import NO_RECEIPTS
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Log, Message, Run, text
from tocsin.properties.plain.members import Members, Sites
from tocsin.traces.rows import ROLLBACK, Row

Name = tuple[str | None, str | None, int | None]  # of a message in a receive row, which may name no group


def find_safe(run: Run, members: Members) -> Finding:
    obstacle = run.truncation or run.shortening
    if not any(log.receipts for log in run.logs.values()):
        return Finding(run.delivered, obstacle=obstacle or run.lacking(NO_RECEIPTS))
    having = {site: _first_rows(log) for site, log in run.logs.items()}
    lacking: dict[tuple[Message, Sites], tuple[str | None, Row | None]] = {}  # remembered
    violations = unasked = 0
    smallest: tuple[Row, ...] = ()
    why = ""
    for log in run.logs.values():
        for (message, row), at in zip(log.sequence.items(), members.at_deliveries(log), strict=True):
            key = (message, at)
            if key not in lacking:
                asked = [*filter(members.is_asked, at), *members.passed(message, at)]
                lacking[key] = _last_to_have(message, sorted(asked), having)
            site, late = lacking[key]
            unasked += site is None
            if site is None or (late is not None and not (run.one_clock and late.time_us > row.time_us)):
                continue
            violations += 1
            rows = (row,) if late is None else (row, late)
            if not smallest or len(rows) < len(smallest):
                smallest, why = rows, _tell(message, row, site, late)
    checked = run.delivered - unasked
    if not violations:
        return Finding(checked, obstacle=obstacle, unasked=unasked)
    return Finding(checked, violations, smallest, why, obstacle)


def _first_rows(log: Log) -> dict[Name, Row]:
    """By message: the row of a site that has it earliest."""
    found: dict[Name, Row] = {}
    for message, row in log.entries:
        if row.event != ROLLBACK:
            before = found.get(message)
            if before is None or row.time_us < before.time_us:
                found[message] = row
    for row in log.receipts:
        name = (row.group, row.origin, row.seqno)
        before = found.get(name)
        if before is None or row.time_us < before.time_us:
            found[name] = row
    return found


def _last_to_have(
    message: Message, sites: list[str], having: dict[str, dict[Name, Row]]
) -> tuple[str | None, Row | None]:
    """The site that has a message last, and by which row; or the first that never has it, and None. No site, if none
    is asked."""
    last: tuple[str | None, Row | None] = (None, None)
    last_us = 0
    nameless = (None, *message[1:])
    for site in sites:
        found = having.get(site)
        if found is None:
            return site, None
        row, other = found.get(message), found.get(nameless)
        if row is None or (other is not None and other.time_us < row.time_us):
            row = other
        if row is None:
            return site, None
        if last[1] is None or row.time_us > last_us:
            last, last_us = (site, row), row.time_us
    return last


def _tell(message: Message, delivery: Row, site: str, late: Row | None) -> str:
    if late is None:
        return f"site {delivery.site} delivered {text(message)}, which member {site} never received"
    return (
        f"site {delivery.site} delivered {text(message)} at {delivery.time_us} us, "
        f"member {site} had it only at {late.time_us} us"
    )
