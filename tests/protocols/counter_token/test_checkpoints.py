"""Checkpoints stay rare when much is counted and not yet delivered: each is as long as what it keeps."""

from tests.protocols.counter_token.runs import scenario_of
from tocsin.core.records import RECORDS_MAX
from tocsin.protocols.counter_token.foundation import MESSAGE_OVERHEAD
from tocsin.protocols.counter_token.machine import CounterToken

SITES = 8


def test_checkpoints_cost_no_more_than_what_is_recorded() -> None:
    """A token held for long, thousands of messages a cycle: as the paper's simulations have it."""
    messages = 4 * RECORDS_MAX
    scenario = scenario_of(
        {
            "sites": SITES,
            "duration_us": 10**9,
            "options": {
                "classic": True,
                "token_hold_us": 400_000,
                "request_wait_us": 100_000,
                "request_us": 500_000,
                "reissue_us": 500_000,
                "buffer_bytes": 1 << 40,
                "overload_messages": 1 << 30,
            },
            "workload": {"messages": messages, "rate_per_site": 300.0, "size": 1},
            "network": {"model": "lan", "delay_us": 1_000},
        }
    )
    simulation = scenario.build(1, None)
    simulation.start()
    sites = simulation.world.sites
    last = [site.disk.records for site in sites]
    written = 0  # by checkpoints, in all
    held_bytes_max = 0
    while simulation.run(scenario.config.duration_us, 20):
        for place, site in enumerate(sites):
            assert isinstance(site.machine, CounterToken)
            held_bytes_max = max(held_bytes_max, site.machine._held_bytes)
            if site.disk.records is not last[place]:  # a checkpoint puts another list there
                last[place] = site.disk.records
                written += len(site.disk.records)
    assert held_bytes_max > RECORDS_MAX * MESSAGE_OVERHEAD, "more is held than is usual between two checkpoints"
    assert written <= 2 * SITES * messages, "every site records every message"
    assert simulation.world.tally.deliveries == SITES * messages
