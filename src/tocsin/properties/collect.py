"""From rows to histories, in one pass. Rows that contradict the format are refused here, with the cure."""

from collections.abc import Iterable

from tocsin.core.errors import InputError
from tocsin.properties.history import EVENT_CODES, NONE, History, Log, View
from tocsin.traces.rows import CRASH, DATA, RECEIVE, RECOVER, RETAINED, VIEW, Row


class Collection:
    """The histories of all runs, and how many rows they had."""

    def __init__(self) -> None:
        self.rows = 0
        self.histories: dict[str, History] = {}  # by run

    def site_count(self) -> int:
        return len({site for history in self.histories.values() for site in history.logs})


def collect(rows: Iterable[Row]) -> Collection:
    """Read all rows. The rows of a (run, site) come in their order; sites and runs may be interleaved."""
    collection = Collection()
    histories = collection.histories
    run_before: str | None = None
    site_before: str | None = None
    count = 0
    log = Log("")
    history = History("")
    for row in rows:
        count += 1
        run, site, order, time_us, event, group, origin, seqno, kind, peer, size, position, view = row[:13]
        if site != site_before or run != run_before:
            found = histories.get(run)
            if found is None:
                found = histories[run] = History(run)
            history = found
            log = history.logs.get(site) or history.logs.setdefault(site, Log(site))
            run_before, site_before = run, site
        if order != log.next_order:
            _note_jump(log, row)
        log.next_order = order + 1
        code = EVENT_CODES.get(event)
        try:
            if code is not None:
                if group is None or origin is None or seqno is None:
                    raise _bad(row, f"expected group, origin and seqno on a {event} row, found a null")
                log.messages.append(history.message(group, origin, seqno))
                log.events.append(code)
                log.orders.append(order)
                log.times.append(time_us)
                log.sizes.append(NONE if size is None else size)
                log.positions.append(NONE if position is None else position)
                log.view_numbers.append(NONE if view is None else view)
            elif event == RECEIVE:
                if kind == DATA and origin is not None and seqno is not None:
                    log.receipts.append(history.message(group, origin, seqno))
                    log.receipt_orders.append(order)
                    log.receipt_times.append(time_us)
                    log.receipt_sizes.append(NONE if size is None else size)
                    log.receipt_peers.append(peer)
            elif event == VIEW:
                if row.primary is not False:  # a minority that stops ordering installs no view
                    log.views.append(_view(row))
            elif event == CRASH:
                log.up = False
                log.crashes.append(order)
            elif event == RECOVER:
                log.up = True
            elif event == RETAINED:
                log.hole = log.hole or f"retention has dropped the rows before order {order}"
        except OverflowError:
            raise _bad(row, "expected numbers of at most 64 bits with a sign, found a larger one") from None
    collection.rows = count
    return collection


def _note_jump(log: Log, row: Row) -> None:
    if row.order < log.next_order:
        found = f"{row.order} after {log.next_order - 1}" if log.next_order else str(row.order)
        raise _bad(
            row,
            f"expected rows in the order 0, 1, 2, …, found {found}; "
            "sort the trace by run, site and order, and name each file once",
        )
    if log.hole is None:
        missing = row.order - log.next_order
        log.hole = f"{missing} row{'s' if missing > 1 else ''} missing before order {row.order}"


def _view(row: Row) -> View:
    if row.view is None or row.members is None:
        raise _bad(row, "expected view and members on a view row, found a null")
    return View(row.order, row.group, row.view, frozenset(row.members), row)


def _bad(row: Row, what: str) -> InputError:
    return InputError(f"trace, run {row.run}, site {row.site}, order {row.order}: {what}")
