"""What one member does in one step, where only an unlikely run of several would show it: each with its planted bug."""

from collections.abc import Callable

import pytest

from tests.mutation import mutated
from tocsin.core.config import decode_config
from tocsin.core.data import Data
from tocsin.core.effects import Deliver, Effect, Multicast, Persist, sent
from tocsin.core.effects import View as Installed
from tocsin.core.message import Message
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.protocols.counter_token.messages import (
    Accept,
    Accepted,
    Carried,
    Decided,
    Join,
    Mark,
    Prepare,
    Promise,
    StateEntry,
    Token,
    View,
)
from tocsin.protocols.counter_token.records import Kept
from tocsin.protocols.protocol import Protocol
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite

A, B, C = range(3)
BALLOT = 5  # c's first
SMALLER = 3  # a's
PLACE = 192  # of what a announces in cycle 1: (1 * 3 + 0) * 64
ENTRY = StateEntry(A, 1, 0, 0, 0, (0, 1))


class Member:
    """b of a, b and c, in the first view."""

    def __init__(self, protocol: Protocol) -> None:
        options = decode_config({}, protocol.options, "test")
        self._site = ManualSite(B, protocol, options, 3, [A, B, C], [[A, B, C]], None, 0)
        self._site.apply(Input(manual_site.START, 0))

    def receive(self, source: int, message: Message) -> list[Effect]:
        happening = Input(manual_site.RECEIVE, 1_000)
        happening.peer = source
        happening.message = message
        return self._site.apply(happening)

    def receive_entry(self) -> list[Effect]:
        """a's message, and the token that announces it: it is b's turn."""
        self.receive(A, Data(0, A, 0, b"m"))
        return self.receive(A, Token(0, 1, 1, (ENTRY,), (), 0, 1 << 20, 0, 0, 4, 0, 0, ()))


def tokens(effects: list[Effect]) -> list[Token]:
    return [message for _, message in sent(effects) if isinstance(message, Token)]


def counts_what_is_on_disk(protocol: Protocol) -> bool:
    effects = Member(protocol).receive_entry()
    assert tokens(effects)[0].state[0].counter == 1
    kept = [
        place for place, effect in enumerate(effects) if isinstance(effect, Persist) and isinstance(effect.record, Kept)
    ]
    passed = [place for place, effect in enumerate(effects) if isinstance(effect, Multicast)]
    return len(kept) == 1 and kept[0] < passed[0]


def promises_tell_all_entries(protocol: Protocol) -> bool:
    """Also those that, as far as it knows, not all have counted: another may have delivered them."""
    member = Member(protocol)
    member.receive_entry()
    answers = [message for _, message in sent(member.receive(C, Prepare(BALLOT, 1)))]
    (items,) = [promise.items for promise in answers if isinstance(promise, Promise)]
    return [(item.place, item.counted) for item in items] == [(PLACE, True)]


def counts_nothing_after_a_promise(protocol: Protocol) -> bool:
    member = Member(protocol)
    member.receive(C, Prepare(BALLOT, 1))
    return not tokens(member.receive_entry())


def votes_in_no_smaller_ballot(protocol: Protocol) -> bool:
    """c makes a view from b's promise; a's, in a smaller ballot, would have to have what b says of nothing to c."""
    member = Member(protocol)
    member.receive(A, Prepare(SMALLER, 1))
    member.receive(C, Prepare(BALLOT, 1))
    voters = ((A, 1), (B, 1), (C, 1))
    view = View(SMALLER, (A, B), (1, 1), voters, voters, (), (C,), 0, 256, (0,), ((0, 0, 0),), (), (), ((A, 0), (B, 0)))
    votes = [message for _, message in sent(member.receive(A, Accept(view))) if isinstance(message, Accepted)]
    installed = [effect for effect in member.receive(A, Decided(view)) if isinstance(effect, Installed)]
    return not votes and not installed


def what_a_view_takes_over_waits(protocol: Protocol) -> bool:
    """Of the new view's members perhaps not all have it."""
    member = Member(protocol)
    member.receive_entry()
    voters = ((A, 1), (B, 1), (C, 1))
    carried = (Carried(PLACE, 0, A, (0, 1)),)
    marks = (Mark(0, (A, B, C), 0, (PLACE,)),)
    frontier = ((0, 0, 0),)
    floors = ((B, 0), (C, 0))
    view = View(BALLOT, (C, B), (1, 1), voters, voters, (), (A,), 0, 256, (0,), frontier, carried, marks, floors)
    effects = member.receive(C, Decided(view))
    assert [effect for effect in effects if isinstance(effect, Installed)], "it is installed"
    return not [effect for effect in effects if isinstance(effect, Deliver)]


def goes_on_without_who_begins_anew(protocol: Protocol) -> bool:
    """a, before b in the list, comes back with another disk: the token may have gone with the old one."""
    answers = sent(Member(protocol).receive(A, Join(-1, -1, 0, 2, 0, False)))
    return len([message for _, message in answers if isinstance(message, Prepare)]) > 0


PLANTED: dict[str, tuple[Callable[[Protocol], bool], str, str, str]] = {
    "counts what it has not on disk": (
        counts_what_is_on_disk,
        "receiving",
        "                    self._store.keep(held[seqno])\n",
        "                    pass\n",
    ),
    "a promise forgets entries": (
        promises_tell_all_entries,
        "voting",
        "            items.append(",
        "            if slot.full:\n                items.append(",
    ),
    "goes on counting after a promise": (
        counts_nothing_after_a_promise,
        "changing",
        "            return False\n        self._installing.freeze()\n        if prepare.ballot >",
        "            return False\n        if prepare.ballot >",
    ),
    "votes below its promise": (
        votes_in_no_smaller_ballot,
        "changing",
        "        if prepare.ballot > self._voting.promised:\n",
        "        if False:\n",
    ),
    "waits for a token that went with a lost disk": (
        goes_on_without_who_begins_anew,
        "joining",
        "                self._go_on_without(now, source)\n",
        "                pass\n",
    ),
    "delivers at once what a view takes over": (
        what_a_view_takes_over_waits,
        "installing",
        "            if place in carried or (place >= mark.start and place not in kept):",
        "            if place >= mark.start and place not in kept:",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_step_is_right_and_its_planted_bug_is_caught(name: str) -> None:
    holds, module, old, new = PLANTED[name]
    assert holds(PROTOCOL)
    assert not holds(mutated(PROTOCOL, f"tocsin.protocols.counter_token.{module}", old, new))
