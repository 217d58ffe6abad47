"""Sets of places as peers send them, and what is believed of them."""

from typing import Final

from tocsin.core.errors import DecodeError
from tocsin.core.rangeset import RangeSet, rangeset_from_wire

RESEND_MAX: Final = 64  # messages sent again in one visit of the token, or for one request
AHEAD_MAX: Final = 1 << 20  # no honest place is so far beyond what is here


def ranges_of(flat: tuple[int, ...]) -> RangeSet:
    """A set from the wire; what is no set is empty."""
    try:
        return rangeset_from_wire(flat)
    except DecodeError:
        return RangeSet()
