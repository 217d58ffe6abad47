"""From tables to logs."""

import numpy as np
import pytest

from tests.properties.stories import differences, table_of
from tocsin.properties import PROPERTIES
from tocsin.properties.audit.tables import audit_table
from tocsin.properties.kernels import encode
from tocsin.properties.plain.check import check_rows
from tocsin.traces.rows import Row


@pytest.mark.parametrize("parts_max", [10, encode.MIXED_PARTS_MAX])
def test_sites_that_take_turns_row_by_row(parts_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer may write rows as they happen, whosever they are; each log is in its order all the same."""
    monkeypatch.setattr(encode, "MIXED_PARTS_MAX", parts_max)
    rows = [
        Row("run", site, order, order, "deliver", "g", "a", order ^ (site == "b"), view=None)
        for order in range(40)
        for site in "abc"
    ]
    parts = encode.encode(table_of(rows))
    assert len(parts) == (3 if parts_max == 10 else len(rows))
    assert all(np.all(np.diff(part.order) == 1) for part in parts)
    plain = check_rows(rows)
    assert plain["fifo"].violations == 20
    assert [*differences(plain, audit_table(table_of(rows), {}, False, PROPERTIES), rows)] == []
