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


def test_lines_with_a_reach(tmp_path: Path) -> None:
    options = "[options]\nheartbeat_us = 5000\nsettle_us = 5000000\nmessages_per_site_max = 5\n"
    with LiveGroup(tmp_path, "reliability_tree", tail=options) as group:
        group.start_all("--reach", "0.5")
        group.send("a", ["likely", "and again"])
        group.wait_delivered(2)
        group.kill("c")
        group.start("c", "--reach", "0.9999999999999")
        group.wait_answering("c")
        group.send("c", ["surely"])
        assert group.wait_gone("c") == 2, "what cannot be promised ends the member, which says why"
        assert "needs more than the budget of 10 messages" in group.errors("c")
        assert len(group.errors("c").splitlines()) == 1


@pytest.mark.parametrize(
    ("protocol", "reach", "says"),
    [
        ("counter_token", "0.9", "--reach: counter_token does not plan it; see reliability_tree"),
        ("reliability_tree", "1.5", "--reach: expected a probability in (0, 1), found 1.5"),
        ("reliability_tree", "nan", "--reach: expected a probability in (0, 1), found nan"),
    ],
)
def test_a_reach_that_makes_no_sense_is_refused_before_joining(
    protocol: str, reach: str, says: str, tmp_path: Path
) -> None:
    with LiveGroup(tmp_path, protocol) as group:
        group.start("a", "--reach", reach)
        assert group.wait_gone("a") == 2
        assert group.errors("a") == f"tocsin join: {says}\n"
        assert not group.data.exists(), "nothing was touched"
