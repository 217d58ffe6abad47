"""Hostile messages: well formed, sealed by a holder of the key, and meant to do harm.

Three members of a group do their ordinary work. In between, messages that no member would send arrive: of every kind,
with numbers at the ends of what their types allow, or genuine ones with a field changed. A machine must drop what makes
no sense: nothing may raise, and whatever a machine sends, keeps or delivers because of it must be something that can be
encoded, sent and kept, and read back at a restart.
"""

from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from tocsin.core.codec import Codec
from tocsin.core.effects import Checkpoint, Effect, Persist, sent
from tocsin.core.errors import DecodeError
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Protocol
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite

SITES: Final = 3
NEAR: Final = (0, 0, 1, 1, 2, 2, 3, 4, 5, 7, 64)
FAR: Final = (
    100,
    1 << 16,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 62) - 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    -1,
    -2,
    -(1 << 62),
)
HOSTILE_SHARE: Final = 0.7  # of all inputs
GENUINE_MAX: Final = 200  # remembered, to be changed
LIFE_INPUTS: Final = 400  # then the group begins anew


class Arena:
    """A group under attack."""

    def __init__(self, protocol: Protocol, seed: int) -> None:
        self.hostile = 0  # messages that arrived and no member had sent
        self._rng = Rng(seed).fork("hostile")
        self._protocol = protocol
        self._codec: Codec = protocol.codec()
        self._records: Codec = protocol.record_codec()
        groups = [[0, 1, 2], [0, 2]] if protocol.assumptions.several_groups else [[0, 1, 2]]
        self._groups = len(groups)
        everybody = list(range(SITES))
        options = protocol.options()
        self._sites = [ManualSite(site, protocol, options, SITES, everybody, groups, None, seed) for site in everybody]
        self._genuine: list[tuple[int, int, Message]] = []  # source, target; not yet arrived
        self._seen: list[Message] = []
        self._now = 0

    def attack(self, messages: int) -> None:
        for site in range(SITES):
            self._act(site, Input(manual_site.START, 0))
        while self.hostile < messages:
            self._now += self._rng.below(2_000)
            if self._rng.chance(HOSTILE_SHARE):
                self._throw()
            else:
                self._go_on()
        for site in range(SITES):  # and what is on disk can be read
            self._act(site, Input(manual_site.CRASH, self._now))
            self._act(site, Input(manual_site.START, self._now))

    def _throw(self) -> None:
        rng = self._rng
        target = rng.below(SITES)
        source = (target + 1 + rng.below(SITES - 1)) % SITES
        if self._seen and rng.chance(0.5):
            message = self._changed(self._seen[rng.below(len(self._seen))])
        else:
            kinds = self._protocol.messages
            message = anything(kinds[rng.below(len(kinds))], rng)
        try:
            decoded = self._codec.decode(self._codec.encode(message))
        except (DecodeError, OverflowError):
            return  # it does not get past the codec
        self.hostile += 1
        self._receive(source, target, decoded)

    def _changed(self, message: Message) -> Message:
        """A genuine message with one field as it should not be."""
        fields = message.__struct_fields__
        if not fields:
            return message
        field = fields[self._rng.below(len(fields))]
        hints = get_type_hints(type(message), include_extras=True)
        return msgspec.structs.replace(message, **{field: anything(hints[field], self._rng)})

    def _go_on(self) -> None:
        """The ordinary work: a message arrives, a timer comes due, somebody broadcasts."""
        rng = self._rng
        way = rng.below(4)
        site = rng.below(SITES)
        host = self._sites[site]
        if way < 2 and self._genuine:
            source, target, message = self._genuine.pop(rng.below(len(self._genuine)))
            self._receive(source, target, message)
        elif way == 2 and host.timers:
            (timer, key), at = min(host.timers.items(), key=lambda each: (each[1], each[0]))
            self._now = max(self._now, at)
            happening = Input(manual_site.TIMER, self._now)
            happening.timer, happening.number = timer, key
            self._act(site, happening)
        elif host.machine is not None and host.machine.room() > 0:
            happening = Input(manual_site.BROADCAST, self._now)
            happening.number = rng.below(self._groups)
            happening.payload = b"mine"
            self._act(site, happening)

    def _receive(self, source: int, target: int, message: Message) -> None:
        happening = Input(manual_site.RECEIVE, self._now)
        happening.peer = source
        happening.message = message
        self._act(target, happening)

    def _act(self, site: int, happening: Input) -> None:
        effects = self._sites[site].apply(happening)
        for target, message in sent(effects):
            decoded = self._codec.decode(self._codec.encode(message))
            self._seen.append(decoded)
            self._genuine.append((site, target, decoded))
        del self._seen[:-GENUINE_MAX]
        del self._genuine[:-GENUINE_MAX]
        self._check_kept(effects)

    def _check_kept(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Persist):
                self._records.decode(self._records.encode(effect.record))
            elif isinstance(effect, Checkpoint):
                for record in effect.records:
                    self._records.decode(self._records.encode(record))


def anything(hint: Any, rng: Rng) -> Any:
    """A value of a field's type: mostly small numbers, sometimes the ends of what there is."""
    if get_origin(hint) is Annotated:
        return anything(get_args(hint)[0], rng)
    if get_origin(hint) in (tuple, list):
        parts = get_args(hint)
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(anything(parts[0], rng) for _ in range(rng.below(5)))
        return tuple(anything(part, rng) for part in parts)
    if get_origin(hint) is Literal:
        return get_args(hint)[rng.below(len(get_args(hint)))]
    if get_origin(hint) is Union or str(get_origin(hint)) == "<class 'types.UnionType'>":
        return anything(get_args(hint)[rng.below(len(get_args(hint)))], rng)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = get_type_hints(hint, include_extras=True)
        return hint(*[anything(hints[field], rng) for field in hint.__struct_fields__])
    if hint is bool:
        return rng.chance(0.5)
    if hint is bytes:
        return (b"", b"?", bytes(300))[rng.below(3)]
    if hint is float:
        return (0.0, 0.5, 1.0, -1.0, 1e308, float("inf"), float("nan"))[rng.below(7)]
    if hint is type(None):
        return None
    if hint is str:
        return ("", "a", "\u0000")[rng.below(3)]
    return FAR[rng.below(len(FAR))] if rng.chance(0.15) else NEAR[rng.below(len(NEAR))]


def attack(protocol: Protocol, messages: int, seed: int) -> None:
    """So many hostile messages, at groups that begin anew now and then."""
    left = messages
    while left > 0:
        part = min(left, LIFE_INPUTS)
        Arena(protocol, seed).attack(part)
        left -= part
        seed += 1
