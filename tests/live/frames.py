"""Frames for tests."""

from tocsin.live.packing import Packer


def large_message(size: int, number: int = 7) -> tuple[bytes, list[bytes]]:
    """A message of about this size, and its pieces."""
    message = bytes(range(256)) * (size // 256)
    packer = Packer()
    packer.put(message)
    frames: list[bytes] = []
    while len(packer):
        frames.append(packer.take(number)[0])
    return message, frames
