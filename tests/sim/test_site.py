"""A site: timers, crashes, pauses, slow receivers, and a disk that takes time to sync."""

from tests.sim.worlds import Kept, SmallWorld, Word


def test_setting_a_timer_again_replaces_it() -> None:
    small = SmallWorld(2, "mesh")
    outbox = small.outbox(0)
    outbox.set_timer("T", 1, 50)
    outbox.set_timer("T", 1, 70)
    outbox.set_timer("T", 2, 60)
    outbox.set_timer("U", 1, 65)
    outbox.cancel_timer("U", 1)
    outbox.cancel_timer("U", 9)
    small.run()
    assert small.told(0) == ["60 T/2", "70 T/1"]


def test_a_crash_loses_memory_and_timers_but_not_the_disk() -> None:
    small = SmallWorld(2, "mesh")
    outbox = small.outbox(0)
    outbox.persist(Kept("one"))
    outbox.set_timer("T", 1, 50)
    small.outbox(1).send(0, Word("too late"))
    small.simulation.crash(0, 0)
    small.run(20)
    small.simulation.recover(20, 0)
    small.run()
    assert small.scribe(0).told == ["20 start one"]
    assert small.world.tally.drops == {"down": 1}
    assert small.events(0)[:2] == ["0 crash", "20 recover"]


def test_a_checkpoint_replaces_earlier_records() -> None:
    small = SmallWorld(2, "mesh")
    outbox = small.outbox(0)
    outbox.persist(Kept("one"))
    outbox.checkpoint([Kept("sum")])
    outbox.persist(Kept("two"))
    small.simulation.crash(0, 0)
    small.simulation.recover(0, 0)
    assert small.scribe(0).told == ["0 start sum two"]


def test_a_stopped_process_finds_its_messages_and_timers_later() -> None:
    small = SmallWorld(2, "mesh")
    small.outbox(0).set_timer("T", 1, 5)
    small.outbox(1).send(0, Word("x"))
    small.simulation.pause(0)
    small.run(100)
    assert small.told(0) == []
    small.kernel.now = 100
    small.simulation.resume(100, 0)
    assert small.told(0) == ["100 T/1", "100 x from 1"]


def test_a_slow_receiver_takes_its_time_and_loses_what_does_not_fit() -> None:
    small = SmallWorld(2, "mesh")
    small.world.sites[1].receive_us = 100
    small.world.sites[1].receive_buffer = 2
    for word in ("a", "b", "c"):
        small.outbox(0).send(1, Word(word))
    small.run()
    assert small.told(1) == ["110 a from 0", "210 b from 0"]
    assert small.world.tally.drops == {"buffer": 1}


def step(small: SmallWorld, site: int, at: int, *requests: tuple[str, str]) -> None:
    small.scribe(site).next_step = list(requests)
    small.outbox(site).set_timer("GO", at, at)


def test_durable_before_visible() -> None:
    small = SmallWorld(2, "mesh", sync_us=100)
    step(small, 0, 5, ("send", "before"), ("persist", "vote"), ("send", "vote"), ("deliver", "7"))
    small.run()
    assert small.told(1) == ["15 before from 0", "115 vote from 0"]
    assert "105 deliver" in small.events(0)


def test_a_step_survives_a_crash_as_a_whole_or_not_at_all() -> None:
    """Whatever the crash leaves of the unsynced steps, records and deliveries of a step stay together, in order."""
    seen: set[tuple[int, ...]] = set()
    for attempt in range(40):
        small = SmallWorld(2, "mesh", sync_us=100)
        for _ in range(attempt):
            small.world.sites[0]._rng.bits()  # another crash
        for number in range(3):
            step_at = 5 + number
            small.run(step_at - 1)
            step(small, 0, step_at, ("persist", str(number)), ("deliver", str(number)), ("send", "never"))
            small.run(step_at)
        small.simulation.crash(50, 0)
        small.run()
        small.simulation.recover(1_000, 0)
        kept = [int(word) for word in small.scribe(0).told[0].split()[2:]]
        delivered = [row.seqno for row in small.trace.rows() if row.event == "deliver"]
        assert kept == delivered == list(range(len(kept)))
        assert small.told(1) == []
        seen.add(tuple(kept))
    assert len(seen) == 4, "every prefix was seen: none, one, two, all three"


def test_a_broadcast_is_noted_before_its_own_delivery_and_only_when_durable() -> None:
    small = SmallWorld(2, "mesh", sync_us=100)
    small.world.sites[0].broadcast(0, 0, b"x")
    small.run()
    assert small.events(0) == ["100 broadcast", "100 deliver"]
