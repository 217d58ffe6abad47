"""Named timers over one alarm: replacing, cancelling, firing in order, and no growth."""

from tocsin.live.clock import Alarm
from tocsin.live.timers import Timers


class FakeAlarm(Alarm):
    """Notes when it was set to ring."""

    def __init__(self) -> None:
        self.settings: list[int] = []

    def set(self, deadline_us: int) -> None:
        self.settings.append(deadline_us)


def test_setting_again_replaces_and_cancelling_forgets() -> None:
    timers = Timers(FakeAlarm())
    timers.set("A", 0, 100)
    timers.set("B", 1, 50)
    timers.set("A", 0, 10)
    timers.set("C", 2, 5)
    timers.cancel("C", 2)
    timers.cancel("C", 3)
    assert len(timers) == 2
    assert timers.next_due(9) is None
    assert timers.next_due(60) == ("A", 0)
    assert timers.next_due(60) == ("B", 1)
    assert timers.next_due(1000) is None and len(timers) == 0


def test_the_alarm_is_set_only_to_ring_earlier() -> None:
    alarm = FakeAlarm()
    timers = Timers(alarm)
    timers.arm()
    timers.set("A", 0, 100)
    timers.arm()
    timers.set("A", 0, 200)  # put off: the alarm at 100 will find nothing due, and be set again then
    timers.arm()
    assert alarm.settings == [100]
    timers.on_alarm()
    assert timers.next_due(100) is None
    timers.arm()
    timers.set("B", 0, 150)
    timers.arm()
    assert alarm.settings == [100, 200, 150]


def test_a_timer_that_is_put_off_for_ever_costs_no_memory() -> None:
    timers = Timers(FakeAlarm())
    for deadline in range(100_000):
        timers.set("A", 0, deadline)
    assert len(timers._heap) < 100
    assert timers.next_due(99_998) is None
    assert timers.next_due(99_999) == ("A", 0)
