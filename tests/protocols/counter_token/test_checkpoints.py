"""Checkpoints stay rare when much is counted and not yet delivered: each is as long as what it keeps. And they lose no
promise."""

import msgspec

from tests.protocols.counter_token.runs import scenario_of
from tocsin.core.config import decode_config
from tocsin.core.effects import sent
from tocsin.core.message import RECORDS_MAX
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.protocols.counter_token.context import MESSAGE_OVERHEAD
from tocsin.protocols.counter_token.machine import CounterToken
from tocsin.protocols.counter_token.messages import Prepare, Refuse
from tocsin.protocols.counter_token.records import Agreed, Installed, Promised, Summary
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite

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
            held_bytes_max = max(held_bytes_max, site.machine._receiving.held_bytes())
            if site.disk.records is not last[place]:  # a checkpoint puts another list there
                last[place] = site.disk.records
                written += len(site.disk.records)
    assert held_bytes_max > RECORDS_MAX * MESSAGE_OVERHEAD, "more is held than is usual between two checkpoints"
    assert written <= 2 * SITES * messages, "every site records every message"
    assert simulation.world.tally.deliveries == SITES * messages


def test_a_vote_in_a_checkpoint_takes_no_later_promise_back() -> None:
    """Site 0 voted in ballot 4 of site 1, promised ballot 11 of site 2, wrote a checkpoint, crashed, and is back."""
    options = decode_config({}, PROTOCOL.options, "test")
    site = ManualSite(0, PROTOCOL, options, 3, [0, 1, 2], [[0, 1, 2]], None, 0)
    site.apply(Input(manual_site.START, 0))
    founded = next(record for record in site.disk.records if isinstance(record, Agreed))
    voted = msgspec.structs.replace(founded.view, ballot=4)
    site.disk.records = [Summary(0), founded, Installed(0), Agreed(voted), Promised(11)]
    site.apply(Input(manual_site.CRASH, 0))
    site.apply(Input(manual_site.START, 0))
    asked = Input(manual_site.RECEIVE, 0)
    asked.peer = 1
    asked.message = Prepare(7, 1)
    answers = [message for _, message in sent(site.apply(asked))]
    assert answers == [Refuse(7, 11)]
