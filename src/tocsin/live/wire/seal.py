"""Sealing: one AEAD seal over each packet, under a key that no two sessions share.

Keys. A member's start is a *session*: a number that grows from start to start (the greater of the wall clock and the
last one kept on disk, plus one) and 32 random bits. From the group's key, its identity, the sender and the session,
HKDF makes the session's own AES-256-GCM key; the nonce is the packet's counter in its session. So a nonce cannot repeat
over restarts, even when a disk is restored from a backup and the clock was set back: the random bits differ.

Replay. Per sender only the newest session is taken, and in it each counter once, by a sliding window. The newest
session of each sender is kept on disk: a restart does not open the door to an older one. Within the window of one
receiver's restart a packet of the present session can be replayed once; to a protocol that is a late duplicate, which
every protocol here expects.

The header's identity and key id are hints that let foreign datagrams be dropped cheaply; they prove nothing. What
proves is the seal, over header and content.
"""

import hashlib
import os
import struct
import zlib
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# identity, key id, sender, version, session number, session's random bits, counter, length of the sealed packet
HEADER: Final = struct.Struct("!4s4sHHQ4sQI")
VERSION: Final = 1
WINDOW: Final = 8192  # counters behind the newest that may still arrive: 8 s of a thousand packets a second
TAG_BYTES: Final = 16  # that a seal adds
PLAIN_KEY_ID: Final = b"\0\0\0\0"

Session = tuple[int, bytes]  # number, random bits


class _Cipher(Protocol):
    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes: ...


class _Checksum:
    """Stands for the cipher where the file says `plaintext = true`: finds accidents, stops nobody."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes:
        check = zlib.crc32(data, zlib.crc32(nonce + (associated_data or b"")))
        return b"".join((data, check.to_bytes(4, "big")))

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes:
        body, check = data[:-4], data[-4:]
        if zlib.crc32(body, zlib.crc32(nonce + (associated_data or b""))).to_bytes(4, "big") != check:
            raise InvalidTag
        return body


class Keyring:
    """The group's keys, and the session keys made of them."""

    def __init__(self, identity: bytes, keys: list[bytes]) -> None:
        self.tag = hashlib.blake2b(identity, digest_size=4, person=b"tocsin group").digest()
        self._identity = identity
        self._keys: dict[bytes, bytes] = {}  # by key id; empty: plaintext
        self.sealing_id = PLAIN_KEY_ID
        self.replace(keys)

    def replace(self, keys: list[bytes]) -> None:
        """Take new keys: the first seals, all open."""
        self._keys = {hashlib.blake2b(key, digest_size=4, person=b"tocsin key id").digest(): key for key in keys}
        self.sealing_id = next(iter(self._keys)) if self._keys else PLAIN_KEY_ID

    def knows(self, key_id: bytes) -> bool:
        return key_id in self._keys or (not self._keys and key_id == PLAIN_KEY_ID)

    def session_cipher(self, key_id: bytes, sender: int, session: Session) -> _Cipher:
        if not self._keys:
            return _Checksum()
        info = b"tocsin session" + struct.pack("!HQ4s", sender, session[0], session[1])
        salt = hashlib.blake2b(self._identity, digest_size=32).digest()
        derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=info).derive(self._keys[key_id])
        return AESGCM(derived)


class Sealer:
    """Seals what this member sends in this session."""

    def __init__(self, keyring: Keyring, sender: int, session_number: int) -> None:
        self.session: Session = (session_number, os.urandom(4))
        self._keyring = keyring
        self._sender = sender
        self._counter = 0  # next; never used twice with one session key
        self.key_id = keyring.sealing_id
        self._cipher = keyring.session_cipher(self.key_id, sender, self.session)

    def rekey(self) -> None:
        """Seal with the keyring's first key from now on; the counter goes on."""
        self.key_id = self._keyring.sealing_id
        self._cipher = self._keyring.session_cipher(self.key_id, self._sender, self.session)

    def seal(self, content: bytes) -> tuple[bytes, bytes]:
        """The header (36 bytes, the same in every datagram) and the sealed packet."""
        counter = self._counter
        self._counter = counter + 1
        number, bits = self.session
        length = len(content) + (TAG_BYTES if self.key_id != PLAIN_KEY_ID else 4)
        header = HEADER.pack(self._keyring.tag, self.key_id, self._sender, VERSION, number, bits, counter, length)
        return header, self._cipher.encrypt(b"\0\0\0\0" + counter.to_bytes(8, "big"), content, header)


class ReplayWindow:
    """Which counters of a session were taken: the newest, and a bitmap of those just behind it."""

    def __init__(self) -> None:
        self._next = 0  # above the newest counter taken
        self._taken = 0  # bit i: counter next - 1 - i was taken

    def refuses(self, counter: int) -> bool:
        behind = self._next - 1 - counter
        return behind >= WINDOW or (behind >= 0 and (self._taken >> behind) & 1 == 1)

    def take(self, counter: int) -> None:
        ahead = counter - self._next + 1
        if ahead > 0:
            self._taken = 1 if ahead >= WINDOW else ((self._taken << ahead) | 1) & ((1 << WINDOW) - 1)
            self._next = counter + 1
        else:
            self._taken |= 1 << -ahead


class _Peer:
    """The newest session of one sender."""

    def __init__(self, key_id: bytes, session: Session, cipher: _Cipher) -> None:
        self.key_id = key_id
        self.session = session
        self.cipher = cipher
        self.window = ReplayWindow()


class Opener:
    """Opens what arrives. Every answer that is not content is the reason for the drop."""

    def __init__(self, keyring: Keyring, newest: dict[int, int]) -> None:
        self.newest = newest  # by sender: the greatest session number ever taken; the owner keeps it on disk
        self._keyring = keyring
        self._peers: dict[int, _Peer] = {}

    def has_taken(self, sender: int, number: int, bits: bytes, counter: int) -> bool:
        """Whether a packet is known to be taken already, or too old; for datagrams, before memory is spent on them."""
        peer = self._peers.get(sender)
        if peer is not None and peer.session == (number, bits):
            return peer.window.refuses(counter)
        return number < self.newest.get(sender, 0)

    def open(self, header: bytes, sealed: bytes) -> tuple[bytes | None, str]:
        """The content and "", or None and why not. `header` was checked for identity and length by the caller."""
        return self.open_fields(header, HEADER.unpack(header), sealed)

    def open_fields(self, header: bytes, fields: tuple[Any, ...], sealed: bytes) -> tuple[bytes | None, str]:
        """As `open`, with the header's fields."""
        _, key_id, sender, _, number, bits, counter, _ = fields
        peer = self._peers.get(sender)
        session = (number, bits)
        fresh = peer is None or peer.session != session or peer.key_id != key_id
        if fresh:
            if not self._keyring.knows(key_id):
                return None, "key"
            if number < self.newest.get(sender, 0):
                return None, "session"
            window = peer.window if peer is not None and peer.session == session else None
            peer = _Peer(key_id, session, self._keyring.session_cipher(key_id, sender, session))
            if window is not None:
                peer.window = window  # the same session under another key: counters go on
        assert peer is not None
        if peer.window.refuses(counter):
            return None, "replay"
        try:
            content = peer.cipher.decrypt(b"\0\0\0\0" + counter.to_bytes(8, "big"), sealed, header)
        except InvalidTag:
            return None, "seal"
        peer.window.take(counter)
        if fresh:
            self._peers[sender] = peer
            self.newest[sender] = number
        return content, ""
