"""FIFO order: what one origin sends to one group comes in the order of its numbers (docs/guarantees.md, section 4)."""

from tocsin.properties.case import Case
from tocsin.properties.finding import Finding


def check_fifo(case: Case) -> Finding:
    violations = 0
    witness: tuple[int, int, int] | None = None  # log, message with the higher number, late message
    stream_of = case.history.stream_of
    seqno_of = case.history.seqno_of
    for index, sequence in enumerate(case.sequences):
        highest: dict[int, int] = {}  # stream: its message with the highest number so far
        for message in sequence.messages:
            stream = stream_of[message]
            before = highest.get(stream)
            if before is None or seqno_of[message] > seqno_of[before]:
                highest[stream] = message
            else:
                violations += 1
                if witness is None:
                    witness = (index, before, message)
    if witness is None:
        return Finding(case.delivered, obstacle=case.truncation)
    index, before, late = witness
    rows = (case.delivery_row(index, before), case.delivery_row(index, late))
    why = f"site {rows[0].site} delivered {case.text(late)} after {case.text(before)}"
    return Finding(case.delivered, violations, rows, why, case.truncation)
