"""Range sets as peers send them."""

from tocsin.core.errors import DecodeError
from tocsin.core.rangeset import RangeSet, rangeset_from_wire
from tocsin.protocols.coordinator_tree.messages import RANGES_MAX


def ranges_from_wire(flat: tuple[int, ...]) -> RangeSet | None:
    """A peer's range set; None where it is not one."""
    try:
        return rangeset_from_wire(flat, RANGES_MAX)
    except DecodeError:
        return None
