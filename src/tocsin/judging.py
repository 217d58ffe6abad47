"""What people say about a trace or a live group besides its rows, as the checks take it (docs/guarantees.md)."""

import time
from collections.abc import Collection, Iterable
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Final

from tocsin.core.errors import InputError
from tocsin.live.storage.identity import read_identity
from tocsin.live.storage.site_folders import find_site_folders
from tocsin.properties.plain.members import ALL
from tocsin.properties.terms import Groups, Patience, Terms
from tocsin.traces.calm import BOUND_US, Calm

PATIENCE_S: Final = BOUND_US / 1e6  # of running members
_MICROSECONDS: Final = 1_000_000


def judged_by(
    paths: Iterable[str],
    groups: Groups | None = None,
    calm_since: int | datetime | None = None,
    down: Collection[str] = (),
    patience: float | None = None,
) -> Terms:
    """The terms of a check or an audit of these paths; ask before they are opened: a log ends when it is taken.

    `calm_since`: when faults were over, in microseconds as `time_us`, or as a time. `patience`, in seconds: what is
    younger is not owed yet; if nothing is said, that is so in data folders only, where members may be running. It is
    also the time in which a group settles; if nothing is said, a live group has what its protocol states."""
    if patience is not None and not 0 <= patience < inf:
        raise InputError(f"patience: expected at least 0 seconds, found {patience:g}")
    folders = [folder for path in paths if "://" not in path for folder in find_site_folders(Path(path))]
    calm = None
    if calm_since is not None:
        since_us = calm_since if isinstance(calm_since, int) else round(calm_since.timestamp() * _MICROSECONDS)
        calm = _as_stated(Calm(since_us), folders)
        if patience is not None:
            calm = calm._replace(bound_us=round(patience * _MICROSECONDS))
    if groups is None:
        groups = named_groups(folders)
    return Terms(groups, patience=_patience(bool(folders), patience), calm=calm, down=frozenset(down))


def named_groups(folders: Iterable[Path]) -> dict[str, list[str]]:
    """The groups that the members of some folders say they have, as far as their folders are among these: a member that
    is silent in its group is asked for what the others have. A group that they do not say alike is left out, and so is
    `all`, which is every site of the run."""
    identities = [read_identity(folder) for folder in folders]
    sites = {identity.site for identity in identities}
    found: dict[str, list[str]] = {}
    left_out = {ALL}
    for identity in identities:
        for group, members in identity.groups.items():
            if found.setdefault(group, members) != members:
                left_out.add(group)
    here = {group: [site for site in members if site in sites] for group, members in found.items()}
    return {group: members for group, members in here.items() if members and group not in left_out}


def _as_stated(calm: Calm, folders: list[Path]) -> Calm:
    """With what the protocols of live groups say about themselves."""
    if not folders:
        return calm
    from tocsin.protocols.registry import REGISTRY  # all protocols: only where somebody asks

    names = {read_identity(folder).protocol for folder in folders}
    protocols = [REGISTRY[name] for name in names if name in REGISTRY]
    bound_us = max((protocol.liveness_us for protocol in protocols), default=BOUND_US)
    return calm._replace(bound_us=bound_us, parts_alone=any(protocol.parts_alone for protocol in protocols))


def _patience(is_live: bool, seconds: float | None) -> Patience | None:
    if seconds is None and not is_live:
        return None
    us = round((PATIENCE_S if seconds is None else seconds) * _MICROSECONDS)
    return Patience(us, time.time_ns() // 1000 if is_live else None)
