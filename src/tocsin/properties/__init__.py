"""The properties of docs/guarantees.md, decided over trace rows in plain Python: `check(rows)`."""

from tocsin.properties.properties import AT_THE_END, PROPERTIES, check
from tocsin.properties.report import (
    FAIL,
    LEVELS,
    NOT_CHECKABLE,
    PASS,
    Report,
    Verdict,
    failed_properties,
    level_holds,
    level_properties,
    unchecked_properties,
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
    "failed_properties",
    "level_holds",
    "level_properties",
    "unchecked_properties",
]
