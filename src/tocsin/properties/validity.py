"""Validity: a correct site delivers its own broadcasts (docs/guarantees.md, section 2)."""

from tocsin.properties.case import Case
from tocsin.properties.finding import Finding
from tocsin.properties.history import IS_BROADCAST
from tocsin.traces.rows import BROADCAST


def check_validity(case: Case) -> Finding:
    checked = 0
    violations = 0
    witness: tuple[int, int] | None = None  # log and place of the first broadcast that its site owes itself
    first_logs, first_places = case.broadcast_at
    streams = case.history.streams
    stream_of = case.history.stream_of
    for index, log in enumerate(case.logs):
        if not log.up or IS_BROADCAST not in log.events:
            continue
        delivered = set(case.sequences[index].messages)
        owes: dict[int, bool] = {}  # stream: whether this site has to deliver its messages
        for place, (event, message) in enumerate(zip(log.events, log.messages, strict=True)):
            if event != IS_BROADCAST or first_logs[message] != index or first_places[message] != place:
                continue
            stream = stream_of[message]
            if stream not in owes:
                owes[stream] = case.members.stayed(log, streams[stream].group or "")
            if not owes[stream]:
                continue
            checked += 1
            if message not in delivered:
                violations += 1
                if witness is None:
                    witness = (index, place)
    obstacle = case.truncation
    if obstacle is None and not case.has_broadcasts and case.has_deliveries:
        obstacle = case.lacking(BROADCAST)
    if witness is None:
        return Finding(checked, obstacle=obstacle)
    row = case.row(*witness)
    message = case.logs[witness[0]].messages[witness[1]]
    why = f"site {row.site}, up at the end, never delivered its own {case.text(message)}"
    return Finding(checked, violations, (row,), why, obstacle)
