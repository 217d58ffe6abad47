"""What a door says is wrong, as our errors again; and whether another door may do better."""

import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.flight as flight

from tocsin.core.errors import EnvironmentMissing, InputError, TocsinError
from tocsin.door.link import error_of
from tocsin.live.errors import Closed, NotPrimary, NotSupported, TimedOut, TooOld, Unknown

# What Flight and gRPC put behind the text of a server.
_BEHIND: Final = re.compile(r"\. (Detail:|gRPC client debug context:|Client context:)", re.DOTALL)
_NAMED: Final = re.compile(r"([A-Z][A-Za-z]+): (.*)", re.DOTALL)

ELSEWHERE: Final = (Closed, NotPrimary, EnvironmentMissing, TimedOut, Unknown)  # of a read: ask another door
PERHAPS_ELSEWHERE: Final = (TooOld, NotSupported)  # one that has missed nothing may know more


def error_from(error: BaseException, url: str) -> TocsinError:
    """What is wrong, as an error of ours."""
    if isinstance(error, TocsinError):
        return error
    text = _BEHIND.split(str(error))[0].strip()
    named = _NAMED.search(text)
    if isinstance(error, flight.FlightUnauthenticatedError):
        return InputError(f"{url}: the door does not know this token")
    if isinstance(error, flight.FlightUnauthorizedError):
        return InputError(f"{url}: {named[2] if named else text}")
    if isinstance(error, flight.FlightUnavailableError) and (named is None or named[1] not in _OURS):
        return EnvironmentMissing(f"{url}: {_reason(str(error), text)}")
    if isinstance(error, (flight.FlightTimedOutError, flight.FlightCancelledError)):
        return TimedOut(f"{url}: {text}")
    if named is not None and named[1] in _OURS:
        return error_of(named[1], named[2])
    if isinstance(error, (flight.FlightError, pa.ArrowException, OSError)):
        return EnvironmentMissing(f"{url}: the door does not answer as one: {_reason(str(error), text)}")
    raise error


def _reason(whole: str, text: str) -> str:
    if "expired" in whole:
        return "the certificate of the door has expired; `tocsin keygen --door` makes another"
    if "certificate verify failed" in whole or "Peer name" in whole or "Hostname Verification" in whole:
        return "the certificate of the door is not trusted; give its fingerprint"
    if "TooMany" in whole:
        return text.partition("TooMany: ")[2]
    if "Ssl handshake failed" in whole or "Socket closed" in whole:
        return "one side uses TLS and the other does not (grpc+tls:// or grpc://?), or the door has just ended"
    if "failed to connect" in whole or "Connection refused" in whole:
        return "nobody opens; is the member running, and the address right?"
    return text or "no answer"


_OURS: Final = {
    "Closed",
    "Damaged",
    "InputError",
    "NotPrimary",
    "NotSupported",
    "StorageFailed",
    "TimedOut",
    "TocsinError",
    "TooLarge",
    "TooOld",
    "Unknown",
}


def error_told(told: dict[str, Any]) -> TocsinError:
    """Of the metadata that answers a batch."""
    name, text = str(told.get("error", "")), str(told.get("text", ""))
    return InputError(text) if name == "InputError" else error_of(name, text)
