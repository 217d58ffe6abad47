"""What `counter_token` can be told. Defaults are for real use; `classic` is the paper.

An option whose default depends on `classic` is None where it is not set; the methods tell what holds then. These can
be set one by one because somebody does: experiments of the paper vary `commit` and `request_wait_us`, the explored
scenarios hold the token, and the two limits and the quorum are for the owner of a network to choose.
"""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.message import Options

IDLE_HOLD_US = 100_000
WINDOW_BYTES = 4 << 20
ADAPTIVE = -1


class CounterTokenOptions(Options, frozen=True):
    classic: Annotated[
        bool,
        Meta(
            description="The protocol as the paper has it. Every owner keeps the token for `token_hold_us`, busy or "
            "idle, and nothing makes it hurry; whole cycles are committed; a request names one message, and is sent "
            "when the token names what is not here; there is no window; and those who answer in time make the next "
            "list, however few, since the paper assumes that the network never splits."
        ),
    ] = False
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
        bool | None,
        Meta(
            description="Pass the token as soon as it has been dealt with while anything changed in the last round, "
            "and make the first message after idle move it: the owner passes it when the message arrives there, and is "
            "asked for it if it does not, again every `reissue_us`. Not set: true; with `classic` false. False spends "
            "at most 1 / token_hold_us tokens a second, and up to two cycles a message."
        ),
    ] = None
    idle_hold_us: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="Limit of the hold time of an idle group: min(idle_hold_us, token_hold_us * 2^(2k-1)) after "
            "k rounds in which nothing changed. 0: no growth. Not set: 100 ms, with which an idle group passes ten "
            "tokens a second, and a lost token of an idle group is noticed so much later; with `classic` 0."
        ),
    ] = None
    order: Annotated[
        Literal["list", "rotating"],
        Meta(
            description="Order inside a cycle: always from the head of the token-passing-list, or from the next node "
            "in each cycle (section 2.3); rotating commits whole cycles."
        ),
    ] = "list"
    commit: Annotated[
        Literal["entry", "cycle"] | None,
        Meta(
            description="Commit entry by entry, or only whole cycles. The order is the same; entries come up to a "
            "cycle earlier. Not set: `entry`; with `classic` `cycle`."
        ),
    ] = None
    request_wait_us: Annotated[
        Annotated[int, Meta(ge=ADAPTIVE)] | None,
        Meta(
            description="How long a message that the token announces may be late before it is asked for. -1 adapts: "
            "twice the usual lag, at most `request_us`, and not at all when a later message of its sender has arrived. "
            "0 asks at once. Not set: -1; with `classic` 0. Networks that reorder much want a fixed time."
        ),
    ] = None
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
    quorum: Annotated[
        Literal["majority", "none"] | None,
        Meta(
            description="A new list needs more than half of the last one (`majority`), or whoever answers in time "
            "(`none`: the paper, which assumes that the network never splits). Not set: `majority`; with `classic` "
            "`none`."
        ),
    ] = None
    window_bytes: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="Upper limit of what the whole group may have outstanding (sent, not yet committed), 512 "
            "bytes of overhead for each message included. Half of the present window is shared equally, half goes to "
            "those with most to send. It grows by an eighth a round under load and falls by a quarter on loss or a "
            "flag. 0: no window. Not set: 4 MiB; with `classic` 0."
        ),
    ] = None
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

    def passes_at_once(self) -> bool:
        return not self.classic if self.pass_at_once is None else self.pass_at_once

    def idle_hold_us_max(self) -> int:
        if self.idle_hold_us is None:
            return 0 if self.classic else IDLE_HOLD_US
        return self.idle_hold_us

    def commits_cycles(self) -> bool:
        return self.classic if self.commit is None else self.commit == "cycle"

    def wait_us(self) -> int:
        """Before something that is missing is asked for; or ADAPTIVE."""
        if self.request_wait_us is None:
            return 0 if self.classic else ADAPTIVE
        return self.request_wait_us

    def needs_majority(self) -> bool:
        return not self.classic if self.quorum is None else self.quorum == "majority"

    def window_bytes_max(self) -> int:
        if self.window_bytes is None:
            return 0 if self.classic else WINDOW_BYTES
        return self.window_bytes


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "token_hold_us": (100, 5_000),
    "idle_hold_us": (0, 200_000),
    "request_us": (5_000, 50_000),
    "reissue_us": (5_000, 40_000),
    "reissues": (2, 5),
    "change_us": (30_000, 200_000),
    "join_us": (50_000, 400_000),
    "join_lag": (0, 1_000),
    "window_min_bytes": (1_024, 262_144),
    "queue_messages": (1, 1_024),
}
SMALL = {
    "records_max": 8,
    "queue_messages": 2,
    "window_bytes": 4_096,
    "window_min_bytes": 1_024,
    "overload_messages": 4,
}  # limits that a short run passes many times; the swarm runs with them, too
RETENTION = {"log_messages": 4, "join_lag": 0}  # what is kept for those who are away, as small
