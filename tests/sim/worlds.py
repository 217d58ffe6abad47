"""A world whose machines only write down what happened to them: for tests of sites and networks."""

from collections.abc import Callable
from typing import ClassVar

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Options, Record
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.protocols.protocol import Assumptions, Protocol
from tocsin.sim.conditions import Conditions, Constant
from tocsin.sim.kernel import Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.networks.carrier import Carrier
from tocsin.sim.networks.lan import Lan
from tocsin.sim.networks.links import Links
from tocsin.sim.networks.lossy import Lossy
from tocsin.sim.networks.mesh import Mesh
from tocsin.sim.networks.switched import Switched
from tocsin.sim.simulation import Simulation
from tocsin.sim.site import Site
from tocsin.sim.world import World
from tocsin.traces.buffer import TraceBuffer


class Word(Message, frozen=True):
    kind: ClassVar[str] = "data"
    text: str


class Kept(Record, frozen=True):
    text: str


class Scribe(Machine):
    """Writes down; requests what tests tell it to through `outbox`."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        self.setup = setup
        self.outbox = outbox
        self.told: list[str] = []
        self.next_step: list[tuple[str, str]] = []  # requests of the next timer's step

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self.told.append(f"{now} start " + " ".join(record.text for record in records if isinstance(record, Kept)))

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        assert isinstance(message, Word)
        self.told.append(f"{now} {message.text} from {source}")

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        self.told.append(f"{now} {site} is incarnation {incarnation}")
        self.outbox.persist(Kept(f"{site}:{incarnation}"))

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        self.told.append(f"{now} {timer}/{key}")
        for what, text in self.next_step:
            if what == "send":
                self.outbox.send(1 - self.setup.site, Word(text))
            elif what == "persist":
                self.outbox.persist(Kept(text))
            elif what == "deliver":
                self.outbox.deliver(0, self.setup.site, int(text), b"")
        self.next_step = []

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        self.outbox.deliver(group, self.setup.site, 0, payload)
        return 0


SCRIBE = Protocol(
    name="scribe",
    title="",
    paper="",
    make=Scribe,
    options=Options,
    messages=(Word,),
    records=(Kept,),
    guarantees=(),
    assumptions=Assumptions(),
    liveness_us=0,
)


class Requests:
    """A machine's requests, made by a test: each is a step of its own."""

    def __init__(self, site: Site, kernel: Kernel) -> None:
        self._site = site
        self._kernel = kernel

    def __getattr__(self, name: str) -> Callable[..., None]:
        def request(*arguments: object) -> None:
            getattr(self._site.outbox, name)(*arguments)
            self._site.end_step(self._kernel.now)

        return request


class SmallWorld:
    """A running world with scribes on it."""

    def __init__(
        self, sites: int, model: str, topology: Topology | None = None, delay_us: int = 10, **extra: int
    ) -> None:
        names = [f"s{site}" for site in range(sites)]
        self.kernel = Kernel()
        self.world = World(self.kernel, names, ["all"], [list(range(sites))])
        self.trace = TraceBuffer("test", names)
        self.world.record(self.trace)
        self.world.add_sites(Rng(1))
        self.conditions = Conditions(sites, Constant(delay_us), Rng(2))
        self.network = self._network(model, topology, extra)
        self.simulation = Simulation(SCRIBE, Options(), self.world, self.kernel, Rng(3), topology)
        self.simulation.set_network(self.network)
        for site in self.world.sites:
            site.sync_us = extra.get("sync_us", 0)
        self.simulation.start()

    def _network(self, model: str, topology: Topology | None, extra: dict[str, int]) -> Network:
        carrier = Carrier(self.kernel, self.world, self.world.sites, self.conditions)
        if model == "mesh":
            return Mesh(carrier, len(self.world.sites), extra.get("process_us", 0))
        if model == "lan":
            return Lan(carrier, extra.get("medium_us", 0))
        assert topology is not None
        return Switched(carrier, topology) if model == "switched" else Lossy(carrier, topology)

    @property
    def links(self) -> Links:
        assert self.network.links is not None
        return self.network.links

    def scribe(self, site: int) -> Scribe:
        machine = self.world.sites[site].machine
        assert isinstance(machine, Scribe)
        return machine

    def outbox(self, site: int) -> Requests:
        return Requests(self.world.sites[site], self.kernel)

    def run(self, until: int = 1_000_000) -> None:
        self.kernel.run(until, 1_000_000)

    def told(self, site: int) -> list[str]:
        """What the site heard since its start."""
        return self.scribe(site).told[1:]

    def events(self, site: int) -> list[str]:
        return [f"{row.time_us} {row.event}" for row in self.trace.rows() if row.site == f"s{site}"]
