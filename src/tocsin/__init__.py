"""Tocsin: reliable, ordered broadcast for groups of Python processes.

Run a group (`join`), choose its protocol by simulating it (`simulate`, `sweep`), prove what was delivered (`check`,
`audit`). These names, and those below, are the library; everything in its folders may change.
"""

from __future__ import annotations

import importlib

import tocsin._sources  # noqa: F401  (first: decides between compiled and interpreted modules)

TYPE_CHECKING = False  # typing's own would take half of the time of `import tocsin`
if TYPE_CHECKING:
    from typing import Any

    from tocsin import recipes, sync
    from tocsin.choosing import SimulationResult, simulate, sweep
    from tocsin.connecting import aconnect, connect
    from tocsin.core.errors import EnvironmentMissing, InputError, TocsinError
    from tocsin.door.async_client import AsyncClient
    from tocsin.door.client import Client
    from tocsin.live.errors import (
        AlreadyRunning,
        Closed,
        ConsumerLost,
        Damaged,
        KeyMismatch,
        NotPrimary,
        NotSupported,
        PortTaken,
        ProtocolFailed,
        Regressed,
        Removed,
        StorageFailed,
        TimedOut,
        TooLarge,
        TooOld,
        Unknown,
    )
    from tocsin.live.events import Batch, Delivery, Missed, Rollback, View
    from tocsin.live.joining import join
    from tocsin.live.member import Member
    from tocsin.live.receipts import Receipt
    from tocsin.properties.report import Report, Verdict
    from tocsin.proving import audit, check
    from tocsin.spark.sweep.experiment import Experiment
    from tocsin.state.replica import Replica, replicate

__version__ = "0.2.0.dev0"

_HOMES = {  # imported when first asked for: `import tocsin` stays light
    "tocsin.choosing": ("SimulationResult", "simulate", "sweep"),
    "tocsin.connecting": ("aconnect", "connect"),
    "tocsin.core.errors": ("EnvironmentMissing", "InputError", "TocsinError"),
    "tocsin.door.async_client": ("AsyncClient",),
    "tocsin.door.client": ("Client",),
    "tocsin.live.errors": (
        "AlreadyRunning",
        "Closed",
        "ConsumerLost",
        "Damaged",
        "KeyMismatch",
        "NotPrimary",
        "NotSupported",
        "PortTaken",
        "ProtocolFailed",
        "Regressed",
        "Removed",
        "StorageFailed",
        "TimedOut",
        "TooLarge",
        "TooOld",
        "Unknown",
    ),
    "tocsin.live.events": ("Batch", "Delivery", "Missed", "Rollback", "View"),
    "tocsin.live.joining": ("join",),
    "tocsin.live.member": ("Member",),
    "tocsin.live.receipts": ("Receipt",),
    "tocsin.properties.report": ("Report", "Verdict"),
    "tocsin.proving": ("audit", "check"),
    "tocsin.spark.sweep.experiment": ("Experiment",),
    "tocsin.state.replica": ("Replica", "replicate"),
}
_MODULES = ("recipes", "sync")  # public modules
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AlreadyRunning",
    "AsyncClient",
    "Batch",
    "Client",
    "Closed",
    "ConsumerLost",
    "Damaged",
    "Delivery",
    "EnvironmentMissing",
    "Experiment",
    "InputError",
    "KeyMismatch",
    "Member",
    "Missed",
    "NotPrimary",
    "NotSupported",
    "PortTaken",
    "ProtocolFailed",
    "Receipt",
    "Regressed",
    "Removed",
    "Replica",
    "Report",
    "Rollback",
    "SimulationResult",
    "StorageFailed",
    "TimedOut",
    "TocsinError",
    "TooLarge",
    "TooOld",
    "Unknown",
    "Verdict",
    "View",
    "aconnect",
    "audit",
    "check",
    "connect",
    "join",
    "recipes",
    "replicate",
    "simulate",
    "sweep",
    "sync",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tocsin.{name}")
    home = _WHERE.get(name)
    if home is None:
        raise AttributeError(f"module 'tocsin' has no attribute '{name}'")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value  # the next time it is found without asking here
    return value
