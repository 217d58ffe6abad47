"""Names and messages as 64-bit numbers that look random, the same in every process.

Sets and sequences of messages are compared by sums of such numbers. Two different sets of messages of a trace
have the same count and sum with probability 2 to the -64; nobody chooses messages so that they collide.
"""

from hashlib import blake2b
from typing import Final

import numpy as np

from tocsin.properties.kernels.arrays import Codes, Hashes, Ints
from tocsin.properties.kernels.streams import Stream

# The constants of splitmix64 (Steele, Lea, Flood 2014), a permutation of 64-bit numbers.
STEP: Final = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR: Final = np.uint64(0x94D049BB133111EB)


def hash_stream(stream: Stream) -> int:
    group, origin = stream
    text = f"{'' if group is None else len(group)}:{group or ''}:{origin}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def hash_messages(stream_hashes: Hashes, stream: Codes, seqno: Ints) -> Hashes:
    """By message: its number; `stream` are indices into `stream_hashes`."""
    mixed = seqno.view(np.uint64) * STEP
    mixed += stream_hashes[stream]
    mixed ^= mixed >> np.uint64(30)
    mixed *= FIRST_FACTOR
    mixed ^= mixed >> np.uint64(27)
    mixed *= SECOND_FACTOR
    mixed ^= mixed >> np.uint64(31)
    return mixed
