"""What a live machine is told at birth."""

import os

from tocsin.core.machine import Setup, SiteId
from tocsin.core.rng import Rng
from tocsin.live.group_config import Group
from tocsin.live.seat_keeping import machine_groups, machine_seats
from tocsin.live.storage.log import Log


def setup_of(group: Group, site: SiteId, log: Log) -> Setup:
    return Setup(
        site,
        group.numbers_max,
        list(group.founders),
        [list(members) for members in machine_groups(group)],
        group.options,
        Rng(int.from_bytes(os.urandom(6), "big")).fork("machine"),
        log.frames,
        None,
        log.incarnation,
        log.life + 1,
        log.knowledge.first_frame,
        bool(log.in_doubt),
        machine_seats(group),
    )
