"""The known failures (known_failures.toml): what does not hold yet, by protocol and cause, and who will clear it.

The swarm's tests leave the kinds of things out that are known to fail; `test_known_failures.py` holds that each entry
fails as it says. Nothing else is left out anywhere.
"""

import tomllib
from functools import cache
from pathlib import Path

from tocsin.core.config import Config, decode_config
from tocsin.core.files import read_document
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.swarm import Outcome, run_document, run_seed

HERE = Path(__file__).parent


class KnownFailure(Config, frozen=True):
    protocol: str
    cause: str  # a finding's name, or words
    kinds: list[str]  # of things that lead to it: the swarm's tests leave them out
    violated: str  # as the outcome's text begins
    repeat: (
        int | str
    )  # the swarm's seed, drawn with these kinds only; or a scenario in known/, whose name ends in a seed
    issue: int  # that will clear it
    beside: list[str] = []  # other kinds of things that the seed needs, and that are not left out

    def outcome(self) -> Outcome:
        """What it comes to today."""
        protocol = REGISTRY[self.protocol]
        if isinstance(self.repeat, int):
            return run_seed(protocol, self.repeat, only=[*self.kinds, *self.beside])
        path = HERE / "known" / self.repeat
        return run_document(protocol, read_document(path), int(path.stem.rpartition("-")[2]))


class _File(Config, frozen=True):
    failures: list[KnownFailure]


@cache
def known_failures() -> list[KnownFailure]:
    path = HERE / "known_failures.toml"
    return decode_config(tomllib.loads(path.read_text()), _File, str(path)).failures


def left_out(protocol: str) -> frozenset[str]:
    """The kinds of things that a protocol is known not to stand yet."""
    return frozenset(kind for each in known_failures() if each.protocol == protocol for kind in each.kinds)


def is_known(protocol: str, violated: str) -> bool:
    """Whether a violation is one that is known of a protocol."""
    return any(each.protocol == protocol and violated.startswith(each.violated) for each in known_failures())
