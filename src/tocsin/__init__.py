"""Tocsin: reliable, ordered broadcast for groups of Python processes.

Run a group, choose its protocol by simulating it, prove what was delivered.
"""

import tocsin._sources  # noqa: F401  (first: decides between compiled and interpreted modules)

__version__ = "0.1.0"
