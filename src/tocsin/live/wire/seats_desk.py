"""Asking and telling who is in the group: also of and to somebody who does not know its own number.

Questions and answers are sealed under the group's key as those of nobody in particular, as the probes of `doctor` are,
and single datagrams. A question is as large as an answer can be, and holds a random word that the answer repeats.
"""

import os
from collections.abc import Iterable
from typing import Final

from tocsin.live.errors import UNDECODABLE
from tocsin.live.group_config import Address, Group
from tocsin.live.register import Register
from tocsin.live.seating import Seat, Seating, text_of
from tocsin.live.wire.seal import Keyring, Sealer
from tocsin.live.wire.sending import Sender
from tocsin.live.wire.wire_messages import (
    PROBER,
    SEATS,
    SEATS_ASK,
    SEATS_BYTES,
    SeatsAsk,
    SeatsPart,
    decode_seats,
    decode_seats_ask,
    encode,
)

WORD_BYTES: Final = 8
ASKED_MAX: Final = 1024  # words of questions that may still be answered


class SeatsDesk:
    """One member's."""

    def __init__(self, group: Group, register: Register, keyring: Keyring, sender: Sender) -> None:
        self._group = group
        self._register = register
        self._keyring = keyring
        self._sender = sender
        self._sealer: Sealer | None = None
        self.view = -1  # that has decided the seats here
        self.answers = False  # whether this member knows them from the group, and not from a file
        self.heard: Seating | None = None  # the newest that was told in answer
        self.heard_of = b""  # the id of the group that it is of
        self._asked: dict[bytes, Address] = {}
        self._parts: dict[tuple[bytes, int], dict[int, Seat]] = {}  # by group and view: seats told so far

    def _send(self, kind: int, body: bytes, address: Address) -> None:
        if self._sealer is None:
            self._sealer = Sealer(self._keyring, PROBER)
        self._sender.send_once(self._sealer, kind, body, address)

    def ask(self, addresses: list[Address]) -> None:
        self._asked.clear()
        for address in addresses:
            self._ask(address, 0)

    def _ask(self, address: Address, first: int) -> None:
        if len(self._asked) < ASKED_MAX:
            word = os.urandom(WORD_BYTES)
            self._asked[word] = address
            body = encode(SeatsAsk(word, first))
            self._send(SEATS_ASK, encode(SeatsAsk(word, first, bytes(max(0, SEATS_BYTES - len(body) - 2)))), address)

    def take(self, kind: int, body: memoryview, address: Address) -> None:
        """A question, or an answer."""
        try:
            if kind == SEATS_ASK:
                if self.answers and len(body) >= SEATS_BYTES - 8:
                    self._answer(decode_seats_ask(body), address)
            else:
                self._hear(decode_seats(body), address)
        except UNDECODABLE:
            return

    def _answer(self, ask: SeatsAsk, address: Address) -> None:
        group = self._group
        seats: list[tuple[str, str, bool]] = []
        answer = b""
        for number in range(ask.first, len(group.sites)):
            seats.append((group.sites[number], text_of(group.addresses[number]), number in group.removed))
            longer = encode(self._part(ask, seats))
            if len(longer) > SEATS_BYTES:
                break
            answer = longer
        if answer:
            self._send(SEATS, answer, address)

    def _part(self, ask: SeatsAsk, seats: list[tuple[str, str, bool]]) -> SeatsPart:
        group, register = self._group, self._register
        return SeatsPart(
            ask.word,
            register.group_id,
            register.epoch,
            self.view,
            group.numbers_max,
            bits_of(group.founders),
            len(group.sites),
            ask.first,
            seats,
        )

    def _hear(self, part: SeatsPart, address: Address) -> None:
        if self._asked.pop(part.word, None) != address or not part.group_id:
            return
        if self._register.group_id not in (b"", part.group_id):
            return
        known = self._parts.setdefault((part.group_id, part.view), {})
        for place, (name, where, removed) in enumerate(part.seats):
            known[part.first + place] = Seat(name, where, removed)
        missing = [number for number in range(part.count) if number not in known]
        if missing:
            if part.seats:
                self._ask(address, missing[0])
            return
        if self.heard is None or part.view > self.heard.view:
            seats = [known[number] for number in range(part.count)]
            self.heard_of = part.group_id
            founders = sites_of(part.founders)
            self.heard = Seating(part.view, part.numbers_max, founders, seats, -1, part.epoch)


def bits_of(sites: Iterable[int]) -> bytes:
    bits = sum([1 << site for site in sites])
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def sites_of(bits: bytes) -> list[int]:
    number = int.from_bytes(bits, "little")
    return [site for site in range(number.bit_length()) if number >> site & 1]
