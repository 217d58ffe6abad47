"""What a door takes at the most; each limit has a name, and what is beyond it is refused by that name."""

from typing import Final

CALLS_MAX: Final = 256  # at the same time, over all clients; each holds a thread, a follower as long as it follows
COMMAND_BYTES_MAX: Final = 64 << 10  # of a ticket, a descriptor or the body of an action
MEMORY_BYTES_MAX: Final = 6 << 30  # of the door's process, beyond which it ends, and starts again

PUBLISH_ROWS_MAX: Final = 8192  # of one word to the member …
PUBLISH_BYTES_MAX: Final = 1 << 20  # … and its payloads; a larger message goes alone
UNANSWERED_BYTES_MAX: Final = 8 << 20  # of one client's payloads on their way; beyond it its batches are not read
UNANSWERED_MAX: Final = 64  # batches of one client on their way
ROWS_MAX: Final = 1 << 20  # of a batch that a client sends
BATCH_BYTES_MAX: Final = 256 << 20  # of a batch that a client sends

WINDOW_BYTES_MAX: Final = 64 << 20  # of the newest rows, kept in memory for those who follow
READ_ROWS_MAX: Final = 16_384  # of a batch that a reader gets …
READ_BYTES_MAX: Final = 4 << 20  # … unless one row is larger

LOOK_SECONDS: Final = 5.0  # for the member to answer a question that changes nothing
SILENT_SECONDS_MAX: Final = 5.0  # without a sign of the member: then what waits is given up, and followers go elsewhere
CANCEL_SECONDS: Final = 0.05  # between two looks whether a client that waits is still there
CLOSE_SECONDS: Final = 3.0  # for what is under way to end when the door closes

WRONG_TOKENS_MAX: Final = 10  # in WRONG_SECONDS; beyond it every call waits before its token is looked at
WRONG_SECONDS: Final = 1.0
WRONG_WAIT_SECONDS: Final = 0.5
TOKENS_MAX: Final = 10_000  # lines of a token file
TOKEN_CHARACTERS_MAX: Final = 1024
SHORT_TOKEN_CHARACTERS: Final = 16  # shorter ones are warned of
TOKENS_LOOK_SECONDS: Final = 1.0  # between two looks whether the token file has changed
