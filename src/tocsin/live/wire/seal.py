"""Sealing: one AEAD seal over each packet, under a key that no two sessions share.

Keys. A member's start is a *session*: twelve random bytes. From the group's key, its name, the sender and the session,
keyed BLAKE2b makes the session's own AES-256-GCM key; the nonce is the packet's counter in its session. No clock and no
file is needed for that: a nonce cannot repeat over restarts, whatever disk or clock the member comes back with. A
process that forks has one session twice: the child's seals nothing.

Replay. Packets count only when their session has proved that it lives now (`meeting.py`), and then each counter once,
by a sliding window. So nothing that was recorded opens, neither after a restart of its sender nor of its receiver.

Marks. The header's tag and key id let foreign datagrams be dropped cheaply; they prove nothing. What proves is the
seal, over header and content. But before the seal can be looked at, a key may have to be derived, or memory kept for
the rest of the packet; so a header carries a *mark*, a short keyed hash of it under a key that is derived once. Who has
no key cannot make a receiver do either.
"""

import hashlib
import os
import struct
import zlib
from collections import OrderedDict
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tocsin.live.errors import Closed

# group's tag, key id, sender, version, session, counter, length of the sealed packet, mark
HEADER: Final = struct.Struct("!4s4sHH12sQI8s")
UNMARKED: Final = struct.Struct("!4s4sHH12sQI")
VERSION: Final = 2  # of the wire; 1 (Tocsin 0.1) had session numbers and no marks
VERSIONS: Final = (2, VERSION)  # the oldest and the newest that this member understands
SESSION_BYTES: Final = 12
MARK_BYTES: Final = 8
WINDOW: Final = 8192  # counters behind the newest that may still arrive: 8 s of a thousand packets a second
TAG_BYTES: Final = 16  # that a seal adds
PLAIN_KEY_ID: Final = b"\0\0\0\0"
UNMET_MAX: Final = 32  # sessions of one sender whose keys are kept though they have not proved to live


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


class _Forked:
    """Stands for the cipher in a process that was forked: two processes must not seal with one key and counter."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes:
        raise Closed("this process was forked from a member's, and is no member; join again here")

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes:
        raise InvalidTag


class Keyring:
    """The group's keys, and what is made of them."""

    def __init__(self, name: bytes, keys: list[bytes]) -> None:
        self.tag = hashlib.blake2b(name, digest_size=4, person=b"tocsin group").digest()
        self._salt = hashlib.blake2b(name, digest_size=32).digest()
        self._keys: dict[bytes, bytes] = {}  # by key id; empty: plaintext
        self._marking: dict[bytes, bytes] = {}  # by key id: the key of marks
        self.sealing_id = PLAIN_KEY_ID
        self.replace(keys)

    def replace(self, keys: list[bytes]) -> None:
        """Take new keys: the first seals, all open."""
        self._keys = {hashlib.blake2b(key, digest_size=4, person=b"tocsin key id").digest(): key for key in keys}
        self._marking = {
            key_id: hashlib.blake2b(self._salt, key=key, digest_size=32, person=b"tocsin marks").digest()
            for key_id, key in self._keys.items()
        }
        self.sealing_id = next(iter(self._keys)) if self._keys else PLAIN_KEY_ID

    def knows(self, key_id: bytes) -> bool:
        return key_id in self._keys or (not self._keys and key_id == PLAIN_KEY_ID)

    def mark(self, key_id: bytes, unmarked: bytes) -> bytes:
        """Of a header's other fields, under a key that is known."""
        return hashlib.blake2b(unmarked, key=self._marking.get(key_id, b""), digest_size=MARK_BYTES).digest()

    def has_mark(self, header: bytes, key_id: bytes) -> bool:
        """Whether a header was made by a holder of the key, whoever sends it now."""
        return self.mark(key_id, header[:-MARK_BYTES]) == header[-MARK_BYTES:]

    def session_cipher(self, key_id: bytes, sender: int, session: bytes) -> _Cipher:
        if not self._keys:
            return _Checksum()
        info = self._salt + struct.pack("!H12s", sender, session)
        derived = hashlib.blake2b(info, key=self._keys[key_id], digest_size=32, person=b"tocsin session").digest()
        return AESGCM(derived)


class Sealer:
    """Seals what this member sends in this session."""

    def __init__(self, keyring: Keyring, sender: int) -> None:
        self.session: bytes = os.urandom(SESSION_BYTES)
        self.version = VERSION  # of what is sealed from now on
        self._keyring = keyring
        self._sender = sender
        self._counter = 0  # next; never used twice with one session key
        self.key_id = keyring.sealing_id
        self._cipher = keyring.session_cipher(self.key_id, sender, self.session)

    def rekey(self) -> None:
        """Seal with the keyring's first key from now on; the counter goes on."""
        self.key_id = self._keyring.sealing_id
        self._cipher = self._keyring.session_cipher(self.key_id, self._sender, self.session)

    def forbid(self) -> None:
        """In a process that was forked."""
        self._cipher = _Forked()

    def seal(self, content: bytes) -> tuple[bytes, bytes]:
        """The header (the same in every datagram) and the sealed packet."""
        counter = self._counter
        self._counter = counter + 1
        key_id = self.key_id
        length = len(content) + (TAG_BYTES if key_id != PLAIN_KEY_ID else 4)
        unmarked = UNMARKED.pack(self._keyring.tag, key_id, self._sender, self.version, self.session, counter, length)
        header = unmarked + self._keyring.mark(key_id, unmarked)
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

    def close_behind(self) -> None:
        """Take nothing any more that is older than the newest."""
        self._taken = (1 << WINDOW) - 1


class _Session:
    """One session of a sender. Its counters go on when the sender changes its key."""

    def __init__(self, session: bytes, key_id: bytes, cipher: _Cipher) -> None:
        self.session = session
        self.key_id = key_id
        self.cipher = cipher
        self.window = ReplayWindow()


class Opener:
    """Opens what arrives. Every answer that is not content is the reason for the drop."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._met: dict[int, _Session] = {}  # by sender: the session that lives
        self._unmet: dict[int, OrderedDict[bytes, _Session]] = {}  # by sender: others that opened, oldest first

    def has_met(self, sender: int, session: bytes) -> bool:
        met = self._met.get(sender)
        return met is not None and met.session == session

    def knows(self, sender: int, session: bytes) -> bool:
        """Whether its key is still kept; of many others that came at once it may have given way."""
        return self.has_met(sender, session) or (sender in self._unmet and session in self._unmet[sender])

    def meet(self, sender: int, session: bytes) -> None:
        """This session, which is known, has just proved that it lives: from now on it alone counts, and of it only what
        is newer than what has come: the older may have been recorded before."""
        if not self.has_met(sender, session):
            found = self._unmet[sender].pop(session)
            found.window.close_behind()
            self._met[sender] = found

    def part(self, sender: int) -> None:
        """The session that was met does not count any more."""
        self._met.pop(sender, None)

    def may_begin(self, header: bytes, fields: tuple[Any, ...]) -> bool:
        """Whether a datagram that holds a part of a packet may be kept: its header is a member's, of a session that
        lives, and the packet was not taken."""
        _, key_id, sender, _, session, counter, _, _ = fields
        met = self._met.get(sender)
        if met is None or met.session != session or met.window.refuses(counter):
            return False
        return self._keyring.has_mark(header, key_id)

    def open(self, header: bytes, sealed: bytes) -> tuple[bytes | None, str]:
        """The content and "", or None and why not. `header` was checked for tag and length by the caller."""
        return self.open_fields(header, HEADER.unpack(header), sealed)

    def open_fields(self, header: bytes, fields: tuple[Any, ...], sealed: bytes) -> tuple[bytes | None, str]:
        """As `open`, with the header's fields."""
        _, key_id, sender, _, session, counter, _, _ = fields
        found = self._met.get(sender)
        if found is None or found.session != session:
            found = self._unmet[sender].get(session) if sender in self._unmet else None
        fresh = found is None
        if found is not None and found.window.refuses(counter):
            return None, "replay"  # before a key is derived for it
        if found is None or found.key_id != key_id:
            if not self._keyring.knows(key_id):
                return None, "key"
            if not self._keyring.has_mark(header, key_id):
                return None, "mark"
            cipher = self._keyring.session_cipher(key_id, sender, session)
            if found is None:
                found = _Session(session, key_id, cipher)
            else:
                found.key_id = key_id
                found.cipher = cipher
        try:
            content = found.cipher.decrypt(b"\0\0\0\0" + counter.to_bytes(8, "big"), sealed, header)
        except InvalidTag:
            return None, "seal"
        finally:
            if fresh:
                self._remember(sender, found)  # also when it does not open: the next try costs no derivation
        found.window.take(counter)
        return content, ""

    def _remember(self, sender: int, session: _Session) -> None:
        others = self._unmet.setdefault(sender, OrderedDict())
        others[session.session] = session
        if len(others) > UNMET_MAX:
            others.popitem(last=False)
