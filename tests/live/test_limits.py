"""What a live member costs: memory while many messages go through it, CPU while nothing happens."""

import pytest

from benchmarks.live_limits import IDLE_BAR, MEMORY_BAR_BYTES, idle, memory

pytestmark = [pytest.mark.xdist_group("live"), pytest.mark.long]  # ports and cores are shared: one after the other


def test_ten_million_messages_fit_in_300_megabytes() -> None:
    members = memory(10_000_000)
    assert [member["delivered"] for member in members] == [members[0]["delivered"]] * 3
    assert members[0]["delivered"] > 9_990_000
    assert max(member["memory_bytes_max"] for member in members) < MEMORY_BAR_BYTES


def test_an_idle_member_of_five_takes_less_than_a_hundredth_of_a_core() -> None:
    assert idle(10.0) < IDLE_BAR
