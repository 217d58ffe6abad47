"""What can go wrong for an application in a live group, each with a name of its own."""

from typing import Final

import msgspec

from tocsin.core.errors import EnvironmentMissing, InputError, TocsinError

# What a decoder raises for bytes that are none of ours: text that is no text is a ValueError, none of msgspec's own.
UNDECODABLE: Final = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError)


class NotPrimary(TocsinError):
    """This member is cut off from the majority: nothing can be ordered here until it is healed."""


class TooLarge(InputError):
    """A message above the limit; nothing of it was sent."""


class TimedOut(TocsinError):
    """It has not come within the time that was given for it; it may still come."""


class NotSupported(InputError):
    """The group's protocol cannot do this; the text names one that can."""


class ConsumerLost(TocsinError):
    """This member no longer has what the consumer's place counts: its disk was lost, and it began anew. What the
    application has not handled of before is gone here; the text says how it begins again."""


class TooOld(TocsinError):
    """A producer's number from so long ago that nobody knows any more whether it was delivered."""


class Closed(TocsinError):
    """The member has left or was closed; join again to go on."""


class Unknown(TocsinError):
    """The member stopped before it learned what became of the message: it may be delivered, or never."""


class KeyMismatch(EnvironmentMissing):
    """Members answer, and none of what they send opens under our key."""


class PortTaken(EnvironmentMissing):
    """Another process has this member's address."""


class AlreadyRunning(EnvironmentMissing):
    """Another process uses this member's data folder."""


class StorageFailed(TocsinError):
    """The disk refused: the member has stopped, and everything that it acknowledged is kept."""


class Damaged(InputError):
    """What this member had synced is no longer as it was written. Nothing was changed; the text says what would be
    lost, and the cure. `lost` says it again: groups with the first position and the number of messages (-1: up to an
    unknown end); group -1 is the state of the protocol."""

    def __init__(self, text: str, lost: tuple[tuple[int, int, int], ...] = ()) -> None:
        super().__init__(text)
        self.lost = lost


class Regressed(TocsinError):
    """This member's data folder is older than what others know of it: an old copy was put back, or a disk has lost what
    it had kept. Nothing of it is taken. Started again where the others are, the member sets the folder aside and comes
    back as a new incarnation."""


class Removed(TocsinError):
    """The group has removed this site: it takes no part any more. Its folder stays as it is."""


class ProtocolFailed(TocsinError):
    """A fault in the protocol's own code: the member has stopped before anything of that step became visible."""
