"""What `counter_token` can be told. Defaults are for real use; `PAPER` in the docs page lists the paper's own
values."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.message import Options


class CounterTokenOptions(Options, frozen=True):
    token_hold_us: Annotated[
        int,
        Meta(
            ge=1,
            description="The token-owner time T of the paper. With `pass_at_once` it is only waited for while there is "
            "nothing to do; it is then also the first step of the idle hold. 1 ms: an idle group of ten passes "
            "the token a hundred times a second before the hold grows.",
        ),
    ] = 1_000
    token_to: Annotated[
        Literal["all", "next"],
        Meta(
            description="The token is multicast to all (the paper; N - 1 messages where there is no multicast), or "
            "sent to the next owner, which acknowledges it: two messages whatever N, and commits up to a round later."
        ),
    ] = "all"
    pass_at_once: Annotated[
        bool,
        Meta(
            description="Pass the token as soon as it has been dealt with while anything changed in the last round. "
            "False is the paper: every owner keeps the token for `token_hold_us`."
        ),
    ] = True
    idle_hold_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Limit of the hold time of an idle group: min(idle_hold_us, token_hold_us * 2^(2k-1)) after "
            "k rounds in which nothing changed. 0: no growth (the paper). 100 ms: an idle group passes ten tokens a "
            "second; a lost token of an idle group is noticed within `idle_hold_us` more.",
        ),
    ] = 100_000
    hurry: Annotated[
        bool,
        Meta(
            description="The first message after idle makes the token go round at once: the owner passes it when the "
            "message arrives there, and is asked for it if it does not, again every `reissue_us`. False is the paper."
        ),
    ] = True
    order: Annotated[
        Literal["list", "rotating"],
        Meta(
            description="Order inside a cycle: always from the head of the token-passing-list, or from the next node "
            "in each cycle (section 2.3); rotating commits whole cycles."
        ),
    ] = "list"
    commit: Annotated[
        Literal["entry", "cycle"],
        Meta(
            description="Commit entry by entry, or only whole cycles as the paper does. The order is the same; "
            "entries come up to a cycle earlier."
        ),
    ] = "entry"
    quorum: Annotated[
        Literal["majority", "none"],
        Meta(
            description="A new list needs more than half of the last one (majority), or whoever answers in time "
            "(none: the paper, which assumes that the network never splits)."
        ),
    ] = "majority"
    requests: Annotated[
        Literal["ranges", "single"],
        Meta(
            description="Requests name ranges, and hush when another asks for the same (ranges); or each names one "
            "message (single: the paper)."
        ),
    ] = "ranges"
    request_on_gap: Annotated[
        bool,
        Meta(
            description="Do not wait for a missing message when a later one of its sender has arrived. False for "
            "networks that reorder much."
        ),
    ] = True
    request_wait_us: Annotated[
        int,
        Meta(
            ge=-1,
            description="How long a message that the token announces may be late before it is asked for: -1 adapts "
            "(twice the usual lag, at most `request_us`), 0 asks at once (the paper).",
        ),
    ] = -1
    request_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Time between a request and its repetition (doubling up to eight times that), and the upper "
            "limit of the adaptive wait, which is twice the usual lag of data behind the token. Take two round trips.",
        ),
    ] = 20_000
    reissue_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long after the next owner should have passed the token it is sent again; doubles with "
            "each reissue. Take two round trips.",
        ),
    ] = 20_000
    reissues: Annotated[
        int,
        Meta(
            ge=1,
            le=20,
            description="The paper's L: after so many unanswered reissues the next owner is taken for failed. "
            "Detection takes reissue_us * (2^(L+1) - 1): 620 ms by default.",
        ),
    ] = 4
    change_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long the coordinator of a new view waits for answers before it does without, and before "
            "it or another tries again (doubling up to sixteen times that).",
        ),
    ] = 100_000
    join_us: Annotated[
        int,
        Meta(ge=1, description="How often a site outside asks to be let in (doubling up to eight times that)."),
    ] = 200_000
    join_lag: Annotated[
        int,
        Meta(
            ge=0,
            description="A returning site that lacks more than so many deliveries of a group fetches them before it is "
            "let in, so that the group need not wait for it.",
        ),
    ] = 1_000
    window_bytes: Annotated[
        int,
        Meta(
            ge=0,
            description="Upper limit of what the whole group may have outstanding (sent, not yet committed), 512 "
            "bytes of overhead for each message included. Half of the present window is shared equally, half goes to "
            "those with most to send. It grows by an eighth a round under load and falls by a quarter on loss or a "
            "flag. 0: no window (the paper).",
        ),
    ] = 4 << 20
    window_min_bytes: Annotated[
        int,
        Meta(ge=1024, description="The window's start and lower limit: what the smallest receive buffer takes."),
    ] = 128 << 10
    buffer_bytes: Annotated[
        int,
        Meta(
            ge=4096,
            description="Payload that a site keeps of messages received and not delivered. From half of it on the "
            "site's local flag stops the senders; beyond it, new data is dropped and asked for later.",
        ),
    ] = 64 << 20
    overload_messages: Annotated[
        int,
        Meta(ge=1, description="Messages in the system state from which the owner sets the global flag."),
    ] = 200_000
    queue_messages: Annotated[
        int,
        Meta(ge=1, le=1 << 20, description="Own messages that may wait to be sent; more are held back (`room`)."),
    ] = 1_024
    log_messages: Annotated[
        int,
        Meta(
            ge=0,
            description="Deliveries of a group that are kept for sites that are away. While nobody is, the log is "
            "trimmed as soon as all members have delivered.",
        ),
    ] = 1_000_000
