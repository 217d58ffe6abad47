"""Tests of the package, and what they share. A package, so that no other `tests` on Python's path hides it."""
