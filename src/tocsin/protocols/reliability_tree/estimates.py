"""A few estimates as bytes and back, number by number: compiled, quicker than arrays for what most heartbeats hold.

The form is that of `news.py`, which does the same for many at once.
"""

from typing import Final

from tocsin.protocols.reliability_tree.messages import EVIDENCE_MAX, VERSION_MAX

FIELDS: Final = 5
DISTORTION_MAX: Final = 255
NUMBER_BITS_MAX: Final = 63

Columns = tuple[list[int], list[int], list[int]]  # keys, evidence, ranks: see knowledge.py


def write_few(columns: list[list[int]]) -> bytes:
    """Columns keys (increasing), successes, failures, versions, distortions to bytes."""
    keys, successes, failures, versions, distortions = columns
    out = bytearray()
    before = 0
    for row in range(len(keys)):
        key = keys[row]
        for number in (key - before, successes[row], failures[row], versions[row], distortions[row]):
            left = number
            while left >= 0x80:
                out.append(left & 0x7F | 0x80)
                left >>= 7
            out.append(left)
        before = key
    return bytes(out)


def read_few(data: bytes, sites: int) -> Columns | None:
    """The estimates of some bytes, or None for what no process of ours sends."""
    numbers = _numbers(data)
    if not numbers or len(numbers) % FIELDS:
        return None
    keys: list[int] = []
    evidence: list[int] = []
    ranks: list[int] = []
    key = 0
    for at in range(0, len(numbers), FIELDS):
        step, successes, failures, version, distortion = numbers[at : at + FIELDS]
        if (step == 0 and at > 0) or successes > EVIDENCE_MAX or failures > EVIDENCE_MAX:
            return None
        key += step
        if not _is_key(key, sites) or version > VERSION_MAX or distortion > DISTORTION_MAX:
            return None
        keys.append(key)
        evidence.append(successes << 16 | failures)
        ranks.append(version << 16 | DISTORTION_MAX - min(distortion + 1, DISTORTION_MAX))  # one hand further
    return keys, evidence, ranks


def _is_key(key: int, sites: int) -> bool:
    """Of a process, or of a link between two different ones."""
    link = key - sites
    return link < 0 or (link // sites != link % sites and link < sites * sites)


def _numbers(data: bytes) -> list[int] | None:
    """Varints; None if the last is cut off or one is too long."""
    numbers: list[int] = []
    value = 0
    shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            numbers.append(value)
            value = 0
            shift = 0
        else:
            shift += 7
            if shift >= NUMBER_BITS_MAX:
                return None
    return numbers if shift == 0 else None
