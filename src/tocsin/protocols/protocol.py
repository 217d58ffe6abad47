"""What the rest of Tocsin knows about a protocol: how to make one, what it promises, and under which assumptions.

The swarm draws its scenarios inside `Assumptions` and checks `guarantees` in each; docs pages and `tocsin protocols`
are written from the same values, so that what is promised is what is tested.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from tocsin.core.codec import Codec
from tocsin.core.machine import Machine, Outbox, Setup
from tocsin.core.message import Message, Options, Record
from tocsin.protocols.limits import Limits

ONE_ORDER = (  # one causal order of all messages of all groups, which every correct site sees whole
    "integrity",
    "validity",
    "agreement",
    "uniform_agreement",
    "fifo",
    "causal",
    "single_source",
    "multiple_source",
    "multiple_group",
    "acyclic",
    "settled",
)


class Assumptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where a protocol's guarantees hold. What is not assumed away here, the swarm does to it."""

    sites_min: int = 2
    sites_max: int = 40  # the swarm's largest group; not a limit of the protocol
    loss_max: float = 0.3  # probability that a message is lost, in the safety phase
    duplication: bool = True  # messages may arrive twice
    reordering: bool = True  # messages may overtake one another
    crashes: str = "any"  # "none"; "minority" of the sites at once; "any" number at once
    crashes_recover: bool = False  # every crashed site comes back (its disk intact) …
    minority_stays_down: bool = False  # … but less than half of the sites may crash before anything else, for good
    partitions: bool = True
    one_way_cuts: bool = True  # links may work in one direction only
    pauses: bool = True  # processes may be stopped and continued
    lossy_disk: bool = True  # what was not yet synced may be lost in a crash
    joins: bool = False  # sites may join after the start
    leaves: bool = False  # sites may leave …
    returns: bool = False  # … and be started again, with their disks
    wipes: bool = True  # a crashed site may come back with an empty disk …
    restores: bool = True  # … or with its disk as it once was …
    damages: bool = True  # … or with a disk of which something synced cannot be read; a minority of the sites may:
    disks_lost: str = "still"  # "still": while nothing is under way; "any": at any time
    dead_links: bool = False  # links may stay dead for good, while everyone reaches everyone through others
    slow_sites: bool = True  # a site may receive only a tenth of what is sent to it
    clocks: bool = True  # clocks may drift, jump forward, and after a crash begin anew
    group_changes: bool = False  # the members of groups may change while running
    voter_changes: bool = False  # sites may be added to the voters and removed from them while running
    links_change: bool = False  # links of a topology may fail and be repaired while running
    several_groups: bool = True
    groups_max: int = 4  # the swarm's largest number of groups
    networks: tuple[str, ...] = ("mesh", "lan")
    detector: bool = False  # a perfect failure detector is at hand
    note: str = ""  # in words, what the fields cannot say


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the registry."""

    name: str
    title: str
    paper: str
    make: Callable[[Setup, Outbox], Machine]
    options: type[Options]
    messages: tuple[type[Message], ...]
    records: tuple[type[Record], ...]
    guarantees: tuple[str, ...]  # names of properties (tocsin.properties) that every run must keep
    guarantees_of_one_group: tuple[str, ...] = ()  # and those that hold besides where all sites are one group
    assumptions: Assumptions
    limits: Callable[[Any, int, int, int], Limits] | None = None  # from options, sites, groups, copies of a multicast
    neglects: tuple[str, ...] = ()  # duties that it does not keep yet: "duty: words of the why"; tests/known holds each
    liveness_us: int  # within this time after everything has healed, everything owed is delivered
    variations: dict[str, tuple[Any, ...]] = {}  # forms of the protocol: options, and the values the swarm draws from
    ranges: dict[str, tuple[int, int]] = {}  # options, and from where to where they may lie: the swarm draws inside
    small: dict[str, Any] = {}  # limits (windows, queues, records) so small that a short run passes each many times
    retention: dict[str, Any] = {}  # the same for what is kept for sites that are away
    has_views: bool = False  # whether members install views of the whole group, and wait for the first one
    parts_alone: bool = False  # parts that are cut off go on, and do not hand each other what they delivered meanwhile
    plans_reach: bool = False  # whether a broadcast may ask for a probability of reaching everybody
    expects: tuple[str, ...] = ()  # what must happen somewhere in a large swarm: "views", "rollbacks", "missed"

    def promised(self, groups: int) -> tuple[str, ...]:
        """What a run with so many groups must keep."""
        return (*self.guarantees, *self.guarantees_of_one_group) if groups == 1 else self.guarantees

    def has_common_order(self) -> bool:
        """Whether all members deliver in one order that is never taken back."""
        return "acyclic" in self.promised(1) and "rollbacks" not in self.expects and not self.parts_alone

    def codec(self) -> Codec:
        return Codec(self.messages)

    def record_codec(self) -> Codec:
        return Codec(self.records)
