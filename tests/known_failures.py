"""The known failures (known_failures.toml): what does not hold yet, by protocol and cause, and who will clear it.

`test_known_failures.py` holds that each entry fails as it says. The swarm's tests draw everything, the kinds of things
that are known to fail too; a seed that fails is excused only if `excuse` finds the entry that it is: the seed has kinds
of that entry, breaks a property that the entry is known to break, and holds once those kinds are left out. A failure
without such kinds, one of another property, or one that stays, fails the test.
"""

import tomllib
from collections.abc import Collection
from functools import cache
from pathlib import Path

import msgspec

from tocsin.core.config import Config, decode_config
from tocsin.core.files import read_document
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.swarm import Outcome, run_document, run_seed

HERE = Path(__file__).parent


class KnownFailure(Config, frozen=True):
    protocol: str
    cause: str  # a finding's name, or words
    kinds: list[str]  # of things that lead to it
    violated: str  # as the outcome's text begins
    repeat: (
        int | str
    )  # the swarm's seed, drawn with these kinds only; or a scenario in known/, whose name ends in a seed
    issue: int  # that will clear it
    beside: list[str] = []  # other kinds of things that the seed needs
    breaks: list[str] = []  # properties and duties that it is known to break beside that of `violated`
    seeds: list[int] = []  # of the whole draw that fail by it, where no kind of things is to blame
    stands: list[str] = []  # assumptions that the protocol does not make, and that its page makes for these options

    def outcome(self) -> Outcome:
        """What it comes to today."""
        protocol = REGISTRY[self.protocol]
        assumed = dict.fromkeys(self.stands, True)
        protocol = msgspec.structs.replace(
            protocol, assumptions=msgspec.structs.replace(protocol.assumptions, **assumed)
        )
        if isinstance(self.repeat, int):
            return run_seed(protocol, self.repeat, only=[*self.kinds, *self.beside])
        path = HERE / "known" / self.repeat
        return run_document(protocol, read_document(path), int(path.stem.rpartition("-")[2]))

    def may_break(self, violated: str) -> bool:
        """Whether a violation is of a property that it is known to break."""
        return _property(violated) in (_property(self.violated), *self.breaks)


class _File(Config, frozen=True):
    failures: list[KnownFailure] = []


@cache
def known_failures() -> list[KnownFailure]:
    path = HERE / "known_failures.toml"
    return decode_config(tomllib.loads(path.read_text()), _File, str(path)).failures


def known_of(protocol: str) -> list[KnownFailure]:
    return [each for each in known_failures() if each.protocol == protocol]


def left_out(protocol: str) -> frozenset[str]:
    """The kinds of things that a protocol is known not to stand yet. Where a test cannot tell whether they were to
    blame (walks, planted bugs), it leaves them out."""
    return frozenset(kind for each in known_of(protocol) for kind in each.kinds)


def excuse(protocol: Protocol, outcome: Outcome) -> list[KnownFailure]:
    """The known failures that a seed of the swarm fails by; none if it is not excused. Of several that the seed has
    kinds of, one is enough if the seed holds without it; else all together must be to blame."""
    assert outcome.violated is not None
    drawn = set(outcome.drawn)
    known = [each for each in known_of(protocol.name) if each.may_break(outcome.violated)]
    blamed = [each for each in known if drawn.intersection(each.kinds)]
    for each in known:
        if outcome.seed in each.seeds or (each in blamed and _holds(protocol, outcome.seed, each.kinds)):
            return [each]
    kinds = {kind for each in known_of(protocol.name) if drawn.intersection(each.kinds) for kind in each.kinds}
    return blamed if blamed and _holds(protocol, outcome.seed, kinds) else []


def assert_seeds_hold(protocol: Protocol, seeds: Collection[int]) -> list[Outcome]:
    """Run seeds with everything drawn; none may fail but for a known cause."""
    outcomes, failed = unexcused(protocol, seeds)
    assert not failed, f"{failed[0].violated}; repeat: tocsin swarm {protocol.name} --seeds {failed[0].seed}"
    return outcomes


def unexcused(protocol: Protocol, seeds: Collection[int]) -> tuple[list[Outcome], list[Outcome]]:
    """The outcomes of seeds with everything drawn, and those among them that fail for no known cause."""
    outcomes = [run_seed(protocol, seed) for seed in seeds]
    failed = [each for each in outcomes if each.violated is not None and not excuse(protocol, each)]
    return outcomes, failed


def _holds(protocol: Protocol, seed: int, without: Collection[str]) -> bool:
    return run_seed(protocol, seed, without).violated is None


def _property(violated: str) -> str:
    return violated.partition(":")[0]
