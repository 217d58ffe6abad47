"""A site: timers, crashes, pauses, slow receivers, and a disk that takes time to sync."""

from tests.sim.worlds import Kept, Stage, Word


def test_setting_a_timer_again_replaces_it() -> None:
    stage = Stage(2, "mesh")
    outbox = stage.scribe(0).outbox
    outbox.set_timer("T", 1, 50)
    outbox.set_timer("T", 1, 70)
    outbox.set_timer("T", 2, 60)
    outbox.set_timer("U", 1, 65)
    outbox.cancel_timer("U", 1)
    outbox.cancel_timer("U", 9)
    stage.run()
    assert stage.told(0) == ["60 T/2", "70 T/1"]


def test_a_crash_loses_memory_and_timers_but_not_the_disk() -> None:
    stage = Stage(2, "mesh")
    outbox = stage.scribe(0).outbox
    outbox.persist(Kept("one"))
    outbox.set_timer("T", 1, 50)
    stage.scribe(1).outbox.send(0, Word("too late"))
    stage.simulation.crash(0, 0)
    stage.run(20)
    stage.simulation.recover(20, 0)
    stage.run()
    assert stage.scribe(0).told == ["20 start one"]
    assert stage.world.tally.drops == {"down": 1}
    assert stage.events(0)[:2] == ["0 crash", "20 recover"]


def test_a_checkpoint_replaces_earlier_records() -> None:
    stage = Stage(2, "mesh")
    outbox = stage.scribe(0).outbox
    outbox.persist(Kept("one"))
    outbox.checkpoint([Kept("sum")])
    outbox.persist(Kept("two"))
    stage.simulation.crash(0, 0)
    stage.simulation.recover(0, 0)
    assert stage.scribe(0).told == ["0 start sum two"]


def test_a_stopped_process_finds_its_messages_and_timers_later() -> None:
    stage = Stage(2, "mesh")
    stage.scribe(0).outbox.set_timer("T", 1, 5)
    stage.scribe(1).outbox.send(0, Word("x"))
    stage.simulation.pause(0)
    stage.run(100)
    assert stage.told(0) == []
    stage.kernel.now = 100
    stage.simulation.resume(100, 0)
    assert stage.told(0) == ["100 T/1", "100 x from 1"]


def test_a_slow_receiver_takes_its_time_and_loses_what_does_not_fit() -> None:
    stage = Stage(2, "mesh")
    stage.world.sites[1].receive_us = 100
    stage.world.sites[1].receive_buffer = 2
    for word in ("a", "b", "c"):
        stage.scribe(0).outbox.send(1, Word(word))
    stage.run()
    assert stage.told(1) == ["110 a from 0", "210 b from 0"]
    assert stage.world.tally.drops == {"buffer": 1}


def step(stage: Stage, site: int, at: int, *requests: tuple[str, str]) -> None:
    stage.scribe(site).next_step = list(requests)
    stage.scribe(site).outbox.set_timer("GO", at, at)


def test_durable_before_visible() -> None:
    stage = Stage(2, "mesh", sync_us=100)
    step(stage, 0, 5, ("send", "before"), ("persist", "vote"), ("send", "vote"), ("deliver", "7"))
    stage.run()
    assert stage.told(1) == ["15 before from 0", "115 vote from 0"]
    assert "105 deliver" in stage.events(0)


def test_a_step_survives_a_crash_as_a_whole_or_not_at_all() -> None:
    """Whatever the crash leaves of the unsynced steps, records and deliveries of a step stay together, in order."""
    seen: set[tuple[int, ...]] = set()
    for attempt in range(40):
        stage = Stage(2, "mesh", sync_us=100)
        for _ in range(attempt):
            stage.world.sites[0]._rng.bits()  # another crash
        for number in range(3):
            step_at = 5 + number
            stage.run(step_at - 1)
            step(stage, 0, step_at, ("persist", str(number)), ("deliver", str(number)), ("send", "never"))
            stage.run(step_at)
        stage.simulation.crash(50, 0)
        stage.run()
        stage.simulation.recover(1_000, 0)
        kept = [int(word) for word in stage.scribe(0).told[0].split()[2:]]
        delivered = [row.seqno for row in stage.trace.rows() if row.event == "deliver"]
        assert kept == delivered == list(range(len(kept)))
        assert stage.told(1) == []
        seen.add(tuple(kept))
    assert len(seen) == 4, "every prefix was seen: none, one, two, all three"


def test_a_broadcast_is_noted_before_its_own_delivery_and_only_when_durable() -> None:
    stage = Stage(2, "mesh", sync_us=100)
    stage.world.sites[0].broadcast(0, 0, b"x")
    stage.run()
    assert stage.events(0) == ["100 broadcast", "100 deliver"]
