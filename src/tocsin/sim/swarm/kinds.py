"""The kinds of things that a scenario may have, by name: which protocols stand each, how often, and what shows it.

A kind is drawn from random numbers of its own: leaving one out changes nothing else in a seed's scenario.
"""

from collections.abc import Callable

from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Assumptions, Protocol
from tocsin.sim.swarm import disks, requests, stopping, surroundings
from tocsin.sim.swarm.plan import Plan
from tocsin.sim.swarm.settings import FORMS, SETTINGS, has_setting


class Special:
    """A kind that some scenarios have beside the usual faults."""

    def __init__(
        self,
        stood: Callable[[Assumptions], bool],
        draw: Callable[[Plan, Rng], None],
        shows: tuple[str, ...] = (),
        chance: float = 0.08,
        of_reach: bool = False,
    ) -> None:
        self.stood = stood  # whether a protocol is made for it
        self.draw = draw  # adds it to a plan, where the plan has room for it
        self.shows = shows  # faults that are counted when it happens
        self.chance = chance  # of a scenario to have it
        self.of_reach = of_reach  # only where a reach is promised


USUAL: dict[str, Callable[[Assumptions], bool]] = {  # drawn in most scenarios, several at a time
    "loss": lambda assume: assume.loss_max > 0,
    "duplicate": lambda assume: assume.duplication,
    "reorder": lambda assume: assume.reordering,
    "groups": lambda assume: assume.several_groups,
    "outsiders": lambda assume: assume.several_groups,  # broadcasts to groups that their sender is not in
    "sync": lambda assume: assume.lossy_disk,
    "crash": lambda assume: assume.crashes != "none",
    "stay_down": lambda assume: assume.crashes != "none" and not assume.crashes_recover,
    "minority": lambda assume: assume.minority_stays_down,
    "restart": lambda assume: assume.crashes == "any",
    "partition": lambda assume: assume.partitions,
    "cut": lambda assume: assume.one_way_cuts,
    "pause": lambda assume: assume.pauses,
    "leave": lambda assume: assume.leaves,
    "join": lambda assume: assume.joins,
    "change": lambda assume: assume.group_changes,
    "links": lambda assume: assume.links_change,
}

SPECIAL: dict[str, Special] = {
    "wipe": Special(lambda a: a.wipes, lambda plan, rng: disks.lose_disk(plan, rng, "wipe"), ("wipe",)),
    "restore": Special(lambda a: a.restores, lambda plan, rng: disks.lose_disk(plan, rng, "restore"), ("restore",)),
    "damage": Special(lambda a: a.damages, lambda plan, rng: disks.lose_disk(plan, rng, "damage"), ("damage",)),
    "tear": Special(lambda a: a.lossy_disk and a.crashes == "any", disks.tear, ("tear",)),
    "return": Special(lambda a: a.leaves and a.returns, stopping.return_of_leavers, ("leave", "restart")),
    "all_stop": Special(lambda a: (a.leaves and a.returns) or a.crashes == "any", stopping.all_stop),
    "again": Special(lambda a: a.crashes == "any", stopping.crash_again, ("crash", "recover")),
    "crash_leave": Special(lambda a: a.leaves and a.returns, stopping.crash_while_leaving, ("leave", "crash")),
    "crash_change": Special(lambda a: a.crashes == "any", stopping.crash_while_changing, ("crash",)),
    "at_once": Special(lambda a: a.crashes == "any", stopping.at_once, ("crash", "restart")),
    "dead": Special(lambda a: a.dead_links, surroundings.dead_links, ("dead",)),
    "flap": Special(lambda a: a.one_way_cuts, surroundings.flapping_link, ("cut",)),
    "slow": Special(lambda a: a.slow_sites, surroundings.slow_sites, ("slow", "quick")),
    "long_pause": Special(lambda a: a.pauses, surroundings.long_pause, ("pause", "resume")),
    "clock": Special(lambda a: a.clocks, surroundings.own_clocks, ("jump",)),
    "asked": Special(lambda a: a.group_changes, requests.ask_any_site, ("change",)),
    "disband": Special(lambda a: a.group_changes, requests.disband, ("change",)),
    "voters": Special(lambda a: a.voter_changes, requests.change_voters, ("add", "remove")),
    "crash_voters": Special(lambda a: a.voter_changes, stopping.crash_while_voting),
    "emptied": Special(lambda a: a.several_groups and a.crashes == "any", requests.empty_group),
    "outside": Special(lambda a: a.several_groups, requests.send_from_outside),
    "single": Special(lambda a: a.several_groups, requests.group_of_one),
    "empty": Special(lambda a: True, requests.empty_messages),
    "huge": Special(lambda a: True, requests.huge_messages, chance=0.04),
    "burst": Special(lambda a: True, requests.burst, chance=0.04),
    "steady": Special(lambda a: True, surroundings.steady, chance=0.04, of_reach=True),
    "late": Special(lambda a: True, requests.broadcast_late, chance=0.5),
}

LOST_DISKS = ("wipe", "restore", "damage")  # where a protocol stands them in a still time only, the run is made for one
KINDS: tuple[str, ...] = (*USUAL, *SETTINGS, *SPECIAL)
EARLIER: frozenset[str] = frozenset({*USUAL, FORMS})  # what there was before the special ones: those seeds still hold


def stood_by(protocol: Protocol) -> list[str]:
    """The kinds that a protocol is made for: what the swarm intends to do to it."""
    assume = protocol.assumptions
    return [
        *[kind for kind, stood in USUAL.items() if stood(assume)],
        *[kind for kind in SETTINGS if has_setting(protocol, kind)],
        *[
            kind
            for kind, special in SPECIAL.items()
            if special.stood(assume) and protocol.plans_reach >= special.of_reach
        ],
    ]
