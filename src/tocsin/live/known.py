"""What members know of one another: a value that the log keeps and the wire carries."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, lt=1 << 60)]  # a peer may lie: what is added to it still fits
Life = Annotated[int, Meta(ge=-1, lt=1 << 60)]  # -1: none

NO_TABLE: Final = 0  # it is of a version that knows no producers
WHOLE_TABLE: Final = 1
PART_OF_TABLE: Final = 2  # it has missed something of the order, and cannot tell every repeat


class Known(msgspec.Struct, frozen=True, array_like=True, tag=12, gc=False):
    """What is known of a site: who it is, and how far it had come when it was heard of last. Members exchange it when
    they meet, and keep it."""

    site: Count
    incarnation: Count = 0  # 1 is a site's first; 0: it has none yet, or does not know it
    made: Count = 0  # when its folder was made: tells two folders of one incarnation apart
    life: Life = -1  # the last start that its log notes
    word: Count = 0  # of that life
    frames: Count = 0  # all numbers that it has given to frames are below …
    numbers: Count = 0  # … and to messages, in whichever incarnation
    writes: Count = 0  # operations that its log has noted, but for what it knows of others
    table: Count = 0  # of producers: NO_TABLE, WHOLE_TABLE or PART_OF_TABLE
