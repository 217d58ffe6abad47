"""A scenario file (docs/formats.md) as structs. `scenario.py` checks what spans several keys and builds the run."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from tocsin.core.config import Config

Time = Annotated[int, Meta(ge=0, le=10**15)]  # microseconds; the limit is thirty years
Span = Annotated[int, Meta(ge=1, le=10**15)]
Probability = Annotated[float, Meta(ge=0.0, lt=1.0)]
Count = Annotated[int, Meta(ge=1, le=10**9)]
Size = Annotated[int, Meta(ge=0, le=64 * 1024 * 1024)]
Names = Annotated[list[str], Meta(min_length=1)]
Pairs = Annotated[list[Annotated[list[str], Meta(min_length=2, max_length=2)]], Meta(min_length=1)]

SITES_MAX = 1_000_000
DRIFT_MAX = 500_000  # parts per million: a clock that is half as fast, or half as fast again


class DelayConfig(Config, frozen=True):
    """A delay distribution other than constant or uniform."""

    shape: Literal["exponential", "long_tail"]
    low_us: Time  # always there; of a long tail the smallest delay
    mean_us: Time = 0  # exponential: mean of what comes on top


class NetworkConfig(Config, frozen=True):
    model: Literal["mesh", "lan", "switched", "lossy"] = "mesh"
    delay_us: Time | Annotated[list[Time], Meta(min_length=2, max_length=2)] | DelayConfig = 1_000
    loss: Probability = 0.0
    duplicate: Probability = 0.0
    reorder: Probability = 0.0  # probability that a copy is held up …
    reorder_us: Time = 10_000  # … by up to this much
    process_us: Time = 0  # mesh: how long sending occupies the sender
    medium_us: Time = 0  # lan: how long a message occupies the medium
    receive_us: Time | dict[str, Time] = 0  # processing time per received message, for all or by site
    receive_buffer: Annotated[int, Meta(ge=0, le=10**7)] = 0  # messages that may wait for it; 0: 100,000
    detect_us: Time | None = None  # a perfect failure detector of this delay


class DiskConfig(Config, frozen=True):
    sync_us: Time = 0  # how long a sync takes; what a crash finds unsynced may be lost


class WorkloadConfig(Config, frozen=True):
    messages: Annotated[int, Meta(ge=0, le=10**9)]
    rate_per_site: Annotated[float, Meta(ge=1e-9, le=1e9)] | None = None  # Poisson, per second
    every_us: Span | None = None  # periodic
    burst: Count = 1  # broadcasts per turn
    outstanding: Annotated[int, Meta(ge=1, le=100_000)] | None = None  # closed loop: own messages under way
    senders: Names | None = None  # default: every site
    groups: Names | None = None  # default: every group; drawn uniformly
    inside: bool = False  # a sender broadcasts only to groups that it is in
    size: Size | Annotated[list[Size], Meta(min_length=2, max_length=2)] = 100
    start_us: Time = 0
    still_us: Annotated[list[Time], Meta(min_length=2, max_length=2)] | None = None  # nobody broadcasts: from, to


class FaultConfig(Config, frozen=True):
    at_us: Time
    crash: Names | None = None
    recover: Names | None = None
    restart: Names | Literal["*"] | None = None  # crash and recover in one instant; "*": everybody
    wipe: Names | None = None
    save: Names | None = None
    restore: Names | None = None
    tear: Names | None = None
    damage: Names | None = None
    partition: Annotated[list[Names], Meta(min_length=1)] | None = None
    cut: Pairs | None = None
    dead: Pairs | None = None  # a cut that nothing heals
    heal: Literal[True] | None = None
    calm: Literal[True] | None = None  # no more loss, duplication and reordering from here on
    fail: Names | None = None
    repair: Names | None = None
    pause: Names | None = None
    resume: Names | None = None
    leave: Names | None = None
    join: Names | None = None
    slow: Names | None = None
    quick: Names | None = None
    change: dict[str, list[str]] | None = None  # group = new members, none to disband it
    add: Names | None = None
    remove: Names | None = None
    by: str | None = None  # change, add, remove: the site that is asked; default: the first that is up
    jump: dict[str, Annotated[int, Meta(ge=-(10**12), le=10**12)]] | None = None  # site = microseconds

    def things(self) -> list[str]:
        """The keys of what happens: one, in a good file."""
        return [key for key in self.__struct_fields__ if key not in ("at_us", "by") and getattr(self, key) is not None]


class ScenarioConfig(Config, frozen=True):
    protocol: str
    sites: Annotated[int, Meta(ge=1, le=SITES_MAX)] | Names | None = None
    founders: Names | None = None  # default: all but those that join or are added
    topology: str | dict[str, Any] | None = None  # a file's name, or a generated shape
    groups: dict[str, str | list[str]] | None = None
    duration_us: Span = 60_000_000
    options: dict[str, Any] = {}
    workload: WorkloadConfig = WorkloadConfig(messages=100, rate_per_site=10.0)
    network: NetworkConfig = NetworkConfig()
    disk: DiskConfig = DiskConfig()
    clocks: dict[str, Annotated[int, Meta(ge=-DRIFT_MAX, le=DRIFT_MAX)]] = {}  # site = drift in parts per million
    faults: list[FaultConfig] = []
