"""Software checks on a broadcast network: section 4.2."""

from tocsin.planning.broadcast_network import (
    needless_checks,
    software_checks,
    transmissions,
    unicasts,
)
from tocsin.planning.propagation import propagation_forest


def test_a_multicast_is_checked_by_everybody_and_a_unicast_by_nobody() -> None:
    """Figure 5's groups: b sends alpha's messages to a and from there they go on to c, d, e."""
    forest = propagation_forest(8, [[0, 1, 2, 3, 4], [1, 5, 6, 7], [0, 1]])
    assert transmissions(forest) == [[4], [3], [1]] and software_checks(forest) == 2
    assert needless_checks(forest) == (7 - 4) + (7 - 3)
    assert unicasts(forest) == 3 + 2
