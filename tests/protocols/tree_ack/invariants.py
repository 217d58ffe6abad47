"""P1 to P8 of section 3.2, read off the states of all machines and the messages in transit.

The paper proves them for processors that stay down once they fail, over links that lose nothing. `failed(p)` here is
the truth (the site is down), not what a machine believes. A site that was down and came back has lost its ackto and may
lack messages; the paper's invariants do not speak of it, so it counts as failed for what was promised about it, and its
own promises still count from what it holds now. With a window, P4 speaks of the numbers that the root has declared
complete. One group of all sites is assumed.
"""

from tocsin.protocols.tree_ack.instance import Instance
from tocsin.protocols.tree_ack.machine import TreeAck
from tocsin.protocols.tree_ack.messages import Ack, Data
from tocsin.protocols.tree_ack.stream import Stream
from tocsin.sim.networks.carrier import Arrival
from tocsin.sim.simulation import Simulation

Flight = tuple[int, int, int, int]  # from, to, origin, number


class Invariants:
    """Checks a running simulation; `step` runs one event and checks."""

    def __init__(self, simulation: Simulation) -> None:
        self.checked = 0  # instances looked at
        self.in_doubt = 0  # of them, those waiting for acknowledgements
        self.taken_over = 0  # of them, those with r = b
        self.sent: dict[tuple[int, int], int] = {}  # by message: copies and acknowledgements sent so far
        self._simulation = simulation
        self._was_down: set[int] = set()
        self._flown: dict[int, Arrival] = {}  # every copy that was ever under way, by its identity

    def step(self) -> bool:
        """Run one event; whether there was one."""
        kernel = self._simulation.kernel
        if kernel.pending() == 0:
            return False
        kernel.run(1 << 60, 1)
        self.check()
        return True

    # What is true

    def _machine(self, site: int) -> TreeAck | None:
        machine = self._simulation.world.sites[site].machine
        assert machine is None or isinstance(machine, TreeAck)
        return machine

    def _failed(self, site: int) -> bool:
        """Down, or back from it: nothing is promised about it."""
        return site in self._was_down

    def _received(self, site: int, stream: Stream, seqno: int) -> bool:
        machine = self._machine(site)
        if machine is None:
            return False
        other = machine._broadcasts.streams.get(stream.origin)
        return other is not None and other.has(seqno)

    def _below(self, stream: Stream, sites: list[int]) -> set[int]:
        """SUCC* of the sites."""
        found: set[int] = set()
        ahead = list(sites)
        while ahead:
            site = ahead.pop()
            found.add(site)
            ahead.extend(stream.successors(site))
        return found

    def _established(self, site: int, stream: Stream, seqno: int) -> bool:
        """B(site, m)."""
        return all(self._failed(below) or self._received(below, stream, seqno) for below in self._below(stream, [site]))

    def _transit(self) -> tuple[set[Flight], set[Flight]]:
        """Messages and acknowledgements on their way."""
        messages: set[Flight] = set()
        acks: set[Flight] = set()
        for _, _, event in self._simulation.kernel._heap:
            if isinstance(event, Arrival) and isinstance(event.message, Data | Ack):
                flights = messages if isinstance(event.message, Data) else acks
                message = (event.message.origin, event.message.seqno)
                flights.add((event.source, event.target, *message))
                if id(event) not in self._flown:
                    self._flown[id(event)] = event
                    self.sent[message] = self.sent.get(message, 0) + 1
        return messages, acks

    # The checks

    def check(self) -> None:
        for site in self._simulation.world.sites:
            if site.machine is None and site.life > 0:
                self._was_down.add(site.site)
        messages, acks = self._transit()
        for site in self._simulation.world.sites:
            machine = self._machine(site.site)
            if machine is None:
                continue
            for stream in machine._broadcasts.streams.values():
                self._check_p4(stream)
                for seqno, instance in stream.instances.items():
                    if not instance.waiting:
                        self._check_instance(site.site, stream, seqno, instance)
                        self._check_p8(site.site, stream, seqno, instance, messages, acks)

    def _check_p4(self, stream: Stream) -> None:
        """What the root has declared complete is complete; the last few numbers stand for all."""
        for seqno in range(max(0, stream.done - 3), stream.done):
            assert self._established(stream.origin, stream, seqno), f"P4: {stream.origin}:{seqno} is not complete"

    def _check_instance(self, site: int, stream: Stream, seqno: int, instance: Instance) -> None:
        self.checked += 1
        self.in_doubt += bool(instance.ackfrom)
        self.taken_over += instance.whole
        label = f"{stream.origin}:{seqno} at {site}"
        pending = {other for other in {*instance.sendto, *instance.ackfrom} if not self._failed(other)}
        own = self._below(stream, [site]) - {site}
        everybody = self._below(stream, [stream.origin])
        assert stream.has(seqno), f"P1: {label}"
        allowed = own if not instance.whole else everybody - own
        if site == stream.origin:
            allowed = everybody
        assert pending <= allowed, f"P2: {label}: {sorted(pending)}"
        for other in pending:
            under = self._below(stream, [other]) - {other}
            assert not under & pending, f"P3: {label}: {sorted(pending)}"
        served = self._below(stream, [*instance.sendto, *instance.ackfrom])
        for other in sorted(everybody if instance.whole else own):
            fine = other in served or self._failed(other) or self._established(other, stream, seqno)
            assert fine, f"{'P7' if instance.whole else 'P5'}: {label}: nobody sees to {other}"
        if instance.whole and site != stream.origin:
            assert self._established(site, stream, seqno), f"P6: {label}: its own subtree is not served"
            assert instance.sender < 0 or self._failed(instance.sender) or self._failed(stream.origin), f"P6: {label}"

    def _check_p8(
        self,
        site: int,
        stream: Stream,
        seqno: int,
        instance: Instance,
        messages: set[Flight],
        acks: set[Flight],
    ) -> None:
        if self._failed(site):
            return
        for other in stream.participants:
            if other == site or self._failed(other):
                continue
            machine = self._machine(other)
            assert machine is not None
            theirs = machine._broadcasts.streams.get(stream.origin)
            their_instance = None if theirs is None else theirs.instances.get(seqno)
            owes = their_instance is not None and site in their_instance.ackto
            under_way = (site, other, stream.origin, seqno) in messages
            answered = (other, site, stream.origin, seqno) in acks
            waits = other in instance.ackfrom
            assert waits == (under_way or owes or answered), (
                f"P8: {stream.origin}:{seqno}: {site} waits for {other}: {waits}; message under way: {under_way}, "
                f"owed: {owes}, acknowledgement under way: {answered}"
            )
