"""Every protocol as real processes on loopback: loss, kill -9 and return, within its assumptions."""

from pathlib import Path

import pytest

from tests.live.harness import LiveGroup
from tocsin.protocols.registry import REGISTRY

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

OPTIONS = {"tree_ack": 'detector = "timeout"'}  # live, there is no perfect one
RECEIVES = '[journal]\nreceives = true\ndurability = "process"\n'


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_protocol_lives(name: str, tmp_path: Path) -> None:
    protocol = REGISTRY[name]
    tail = RECEIVES + f"[options]\n{OPTIONS.get(name, '')}\n"
    faults = "loss=0.05,duplicate=0.01,delay_us=0-1000" if protocol.assumptions.loss_max >= 0.05 else "delay_us=0-1000"
    with LiveGroup(tmp_path, name, tail=tail) as group:
        group.start_all("--inject", faults)
        for site in "abc":
            group.send(site, [f"{site} {number}" for number in range(200)])
        if protocol.assumptions.crashes == "none":
            group.wait_delivered(600)
        else:
            group.wait_delivered(150, "c")
            group.kill("c")
            for site in "ab":
                group.send(site, [f"{site} again {number}" for number in range(100)])
            group.start("c", "--inject", faults)
            group.wait_answering("c")
            if protocol.has_views:
                group.wait_together()
            group.wait_quiet()
            before = {site: group.delivered(site) for site in "abc"}
            group.send("c", ["c is back"])
            for site, count in before.items():
                group.wait_delivered(count + 1, site)
        group.wait_quiet()
        # views of single groups come with changes of groups, and there are none here
        promised = tuple(name for name in protocol.guarantees if protocol.has_views or name != "view_synchrony")
        verdicts = group.verdicts(promised)
    assert set(verdicts.values()) == {"pass"}, verdicts
