"""Golden transcripts as judges of mutants: a planted bug that acts a story otherwise is caught by it."""

from pathlib import Path

from tocsin.core.errors import InputError
from tocsin.protocols.protocol import Protocol
from tocsin.sim.transcript import perform

STORIES = Path(__file__).parent.parent / "golden"


def acts_otherwise(mutant: Protocol, story: str) -> bool:
    """Whether a mutant acts the story `PROTOCOL/NAME` otherwise than it is written, or cannot act it to the end."""
    written = (STORIES / f"{story}.txt").read_text()
    try:
        return perform(written, mutant) != written
    except InputError:
        return True  # what should be in flight, or set, is not
