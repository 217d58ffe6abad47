"""Rows that contradict the format are refused, by both engines in the same words (docs/guarantees.md, section 1)."""

from typing import Final

from tocsin.core.errors import InputError

LOWEST: Final = -(1 << 63)  # numbers have 64 bits; as the number of a view this one is refused: kernels use it for none
HIGHEST: Final = (1 << 63) - 1

UNNAMED: Final = "expected group, origin and seqno on a {event} row, found a null"
NO_VIEW: Final = "expected view and members on a view row, found a null"
NULL_MEMBER: Final = "expected names of sites as members, found a null among them"
LOWEST_VIEW: Final = f"expected a view number above {LOWEST}, found it"
NEGATIVE: Final = "expected an order of at least 0, found {order}"
NOT_FIRST: Final = "expected a retained row only as the first of its log, found one after others"
UNSORTED: Final = (
    "expected rows in the order 0, 1, 2, …, found {order} after {before}; "
    "sort the trace by run, site and order, and name each file once"
)


def bad_row(run: str, site: str, order: int, what: str) -> InputError:
    return InputError(f"trace, run {run}, site {site}, order {order}: {what}")


def describe_hole(expected: int, found: int) -> str:
    missing = found - expected
    return f"{missing} row{'s' if missing > 1 else ''} missing before order {found}"
