"""The duties that are known to be neglected: each run fails as the list says, and the list may not grow."""

from pathlib import Path

import pytest

from tests.protocols.walks import Walk
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.duties.duties import neglected
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_seed

ENTRIES_MAX = 0  # when it was last shortened; it is empty when the protocols' issues are done

LINES = (Path(__file__).parent / "duties.txt").read_text().splitlines()
KNOWN = [tuple(part.strip() for part in line.split("|")) for line in LINES if not line.startswith("#")]


def test_the_list_does_not_grow_and_is_what_the_registry_says() -> None:
    assert len(KNOWN) <= ENTRIES_MAX
    named = {(protocol.name, entry) for protocol in REGISTRY.values() for entry in protocol.neglects}
    assert named == {(entry[0], entry[1]) for entry in KNOWN}


@pytest.mark.parametrize(
    ("name", "entry", "shown_by"), [known[:3] for known in KNOWN if known[2] != "findings"], ids=str
)
def test_it_fails_as_described(name: str, entry: str, shown_by: str) -> None:
    """When this fails because nothing is wrong any more: take the line and the entry of `neglects` out."""
    duty, words = entry.split(": ")
    found = shown(REGISTRY[name], shown_by)
    assert any(each.startswith(f"{duty}: ") and words in each for each in found), found


def shown(protocol: Protocol, shown_by: str) -> list[str]:
    """The duties that a run neglects."""
    way, *numbers = shown_by.split()
    if way == "swarm":
        outcome = run_seed(protocol, int(numbers[0]), only=EARLIER)
        assert outcome.violated is None
        return outcome.neglected
    sites, messages, seed = map(int, numbers)
    walk = Walk(protocol, sites, seed, messages)
    walk.run()
    return neglected(walk.duties)
