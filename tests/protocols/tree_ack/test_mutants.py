"""Planted bugs in `tree_ack`: the explorer, or a bounded swarm, finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.tree_ack.small import TREES, small
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.tree_ack import PROTOCOL
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.swarm.swarm import first_failure, run_document

FOLDER = "tocsin.protocols.tree_ack."

Place = tuple[int, str, int, Limits]  # sites, tree, broadcasts, what may go wrong
CHAIN: Place = (4, "chain", 1, Limits(crashes=2, recoveries=0))
BRANCHED: Place = (4, "deep first", 1, Limits(crashes=2, recoveries=0))
BACK: Place = (3, "", 1, Limits(crashes=1, recoveries=1))
BACK_AMONG_CRASHES: Place = (3, "", 1, Limits(crashes=2, recoveries=1))
PAIR: Place = (2, "", 2, Limits(losses=1, crashes=1, recoveries=1))

# By name: where it shows, the module, the text, what it becomes
EXPLORED: dict[str, tuple[Place, str, str, str]] = {
    "acknowledges early": (
        CHAIN,
        "instance",
        "return not self.waiting and (self.whole or (not self.ackfrom and not self.sendto))",
        "return True",
    ),
    "forgets SUCC of a site that fails": (
        BRANCHED,
        "broadcasts",
        "                    instance.sendto.extend(stream.successors(site))\n",
        "",
    ),
    "forgets SUCC of a site that had failed before": (
        BRANCHED,
        "broadcasts",
        "                sendto.extend(stream.successors(site))\n            else:",
        "            else:",
    ),
    "forgets to watch the sender": (
        BRANCHED,
        "broadcasts",
        "                    instance.orphaned = True\n",
        "                    pass\n",
    ),
    "does not look whether the sender has failed already": (
        BRANCHED,
        "broadcasts",
        "watched < 0 or watched in self._peers.failed",
        "watched < 0",
    ),
    "takes over for nobody": (
        BRANCHED,
        "broadcasts",
        "                instance.sendto.append(stream.origin)\n",
        "",
    ),
    "does not wait for acknowledgements": (
        BRANCHED,
        "broadcasts",
        "if not instance.ackfrom and not instance.waiting and not instance.whole:",
        "if not instance.waiting and not instance.whole:",
    ),
    "does not tell a site that is back what there is": (
        BACK,
        "machine",
        "            self._back(now, site)\n            self._greet(now, site)\n",
        "            self._peers.failed.discard(site)\n",
    ),
    "does not notice a quick restart": (
        PAIR,
        "machine",
        "        if self._peers.perfect:\n            if site not in",
        "        if self._peers.perfect and site in self._peers.failed:\n            if site not in",
    ),
    "uses a number again after a crash": (
        PAIR,
        "restart",
        "                self._store.numbers.recall(entry.seqno)\n",
        "                pass\n",
    ),
    "forgets after a crash what it has delivered": (
        BACK,
        "restart",
        "            stream.step_to(entry.seqno)\n",
        "",
    ),
    "names nobody whom it left out": (
        BACK_AMONG_CRASHES,
        "broadcasts",
        "tuple(sorted(instance.skipped))",
        "()",
    ),
}
# By name: the module, the text, what it becomes
SWARMED = {
    "delivers out of order": ("store", "if data.previous <= stream.last:", "if True:"),
    "never delivers what came too early": ("store", "        while stream.held:", "        while False:"),
    "never sends again": (
        "broadcasts",
        "                        self._outbox.send(site, instance.message)\n",
        "                        pass\n",
    ),
    "does not ask for what it lacks": (
        "pulls",
        "            self._outbox.set_timer(PULL, stream.group, now + self._patience_us)\n",
        "            pass\n",
    ),
    "asks one site only": (
        "pulls",
        "        self._peers.watch(now, catchup.helper)\n        self._set_pull(now, group)\n",
        "        self._peers.watch(now, catchup.helper)\n        self._outbox.cancel_timer(PULL, group)\n",
    ),
    "believes for ever that a site has failed": (
        "peers",
        "        return not self.perfect and site in self.failed",
        "        return False",
    ),
    "tells nobody that it is back": (
        "machine",
        "                self._greet(now, site)\n        self._restart",
        "                pass\n        self._restart",
    ),
}


def violated(protocol: Protocol, place: Place) -> bool:
    sites, tree, messages, limits = place
    options = {"tree": TREES[tree]} if tree else {"shape": "chain"}
    return explore(small(sites, messages, protocol, **options), limits).violation is not None


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if "names" in name else ()) for name in EXPLORED]
)
def test_the_explorer_catches(name: str) -> None:
    place, module, old, new = EXPLORED[name]
    assert violated(mutated(PROTOCOL, FOLDER + module, old, new), place)


ONLY_HOLDER = {
    "protocol": "tree_ack",
    "sites": 3,
    "duration_us": 2_000_000,
    "options": {"detector": "perfect", "shape": "chain"},
    "workload": {"messages": 1, "every_us": 1_000_000, "senders": ["a"]},
    "network": {"delay_us": 1_000, "detect_us": 100},
    "faults": [
        {"at_us": 500, "crash": ["c"]},
        {"at_us": 1_500, "crash": ["a", "b"]},
        {"at_us": 2_500, "recover": ["c"]},
        {"at_us": 5_000, "recover": ["b"]},
    ],
}


def test_restarting_without_broadcasting_again_is_caught() -> None:
    """b alone has the message when it comes back. It broadcasts it again, and tells of it: either alone is enough."""
    silent = (
        "broadcasts",
        "            if stream.last >= 0:\n",
        "            if stream.last >= 0 and not stream.instances:\n",
    )
    lacks = "if self._somebody_lacks(key, stream, seqno) or not self._broadcasts.is_held(stream, instance):"
    idle = ("restart", lacks, "if False:")
    for changes, caught in (([], False), ([silent], False), ([idle], False), ([idle, silent], True)):
        mutant = PROTOCOL
        if changes:
            (module, old, new), *more = [(FOLDER + module, old, new) for module, old, new in changes]
            mutant = mutated(PROTOCOL, module, old, new, *more)
        outcome = run_document(mutant, ONLY_HOLDER, 0)
        assert outcome.happened["deliveries"] == (2 if caught else 3)
        assert (outcome.violated is not None) == caught


def test_nothing_is_caught_without_a_bug() -> None:
    assert not any(violated(PROTOCOL, place) for place in (BRANCHED, BACK))


@pytest.mark.parametrize("name", SWARMED)
def test_the_swarm_catches(name: str) -> None:
    module, old, new = SWARMED[name]
    outcome = first_failure(mutated(PROTOCOL, FOLDER + module, old, new), range(120))
    assert outcome is not None
