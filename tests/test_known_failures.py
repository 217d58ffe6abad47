"""Every known failure fails as its entry says, none is forgotten when it is mended, and there are not more of them."""

import pytest

from tests.known_failures import HERE, KnownFailure, known_failures
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.kinds import stood_by

MOST = 0  # never more than this; empty when the issues that they name are done
ISSUES = (19, 20, 22)


def _name(entry: KnownFailure) -> str:
    return f"{entry.protocol}-{entry.cause.partition(':')[0]}-{'-'.join(entry.kinds)}"


@pytest.mark.parametrize("entry", known_failures(), ids=_name)
def test_it_fails_as_described(entry: KnownFailure) -> None:
    violated = entry.outcome().violated
    assert violated is not None, "mended: take the entry out of tests/known_failures.toml"
    assert violated.startswith(entry.violated)


@pytest.mark.parametrize("entry", known_failures(), ids=_name)
def test_it_names_what_there_is(entry: KnownFailure) -> None:
    assert entry.protocol in REGISTRY and entry.issue in ISSUES and entry.cause
    assert set(entry.kinds) | set(entry.beside) <= set(stood_by(REGISTRY[entry.protocol]))


def test_the_list_does_not_grow() -> None:
    assert len(known_failures()) <= MOST


def test_every_kept_scenario_is_an_entry() -> None:
    files = {path.name for path in (HERE / "known").glob("*.json")}
    assert files == {entry.repeat for entry in known_failures() if isinstance(entry.repeat, str)}
