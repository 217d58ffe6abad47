"""What each guarantee of docs/guarantees.md means, and whether a trace kept it: `check(paths, table or rows)`.

`plain` holds the definitions as that page has them, `kernels` the same over arrays, for traces of any size, and
`audit` the plan by which this process or Spark looks at such a trace piece by piece.
"""

from tocsin.properties.checking import check, check_by
from tocsin.properties.report import (
    AT_THE_END,
    FAIL,
    LEVELS,
    NOT_CHECKABLE,
    PASS,
    PROPERTIES,
    Report,
    Verdict,
    level_properties,
)

__all__ = [
    "AT_THE_END",
    "FAIL",
    "LEVELS",
    "NOT_CHECKABLE",
    "PASS",
    "PROPERTIES",
    "Report",
    "Verdict",
    "check",
    "check_by",
    "level_properties",
]
