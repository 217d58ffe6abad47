"""What a token says about flow control (section 3.2 of the paper), and the window beyond it."""

from tocsin.protocols.counter_token.context import Context
from tocsin.protocols.counter_token.messages import StateEntry, Token
from tocsin.protocols.counter_token.receiving import Receiving
from tocsin.protocols.counter_token.ring import messages_in
from tocsin.protocols.counter_token.sending import Sending


class Flow:
    """This site's part of the flow control, when it passes the token."""

    def __init__(self, context: Context, sending: Sending, receiving: Receiving) -> None:
        self._context = context
        self._site = context.site
        self._sending = sending
        self._receiving = receiving

    def local_flags(self, old: Token | None, cycle: int) -> tuple[tuple[int, int], ...]:
        """Set or clear this site's entry of the local and localC fields."""
        flags = [] if old is None else [(site, at) for site, at in old.local if site != self._site]
        if 2 * self._receiving.held_bytes() >= self._context.options.buffer_bytes:
            flags.append((self._site, cycle))
        return tuple(sorted(flags))

    def overload(self, state: tuple[StateEntry, ...], cycle: int) -> int:
        """globalC, while the state speaks of too many messages."""
        return cycle if messages_in(state) >= self._context.options.overload_messages else 0

    def next_window(
        self, old: Token | None, turn: int, cycle: int, local: tuple[tuple[int, int], ...]
    ) -> tuple[int, int]:
        """An eighth more after a round without trouble and with the shared half in use; a quarter less on trouble."""
        options = self._context.options
        most = self._sending.window_max
        if most == 0 or old is None:
            return (options.window_min_bytes if most > 0 else 0), 0
        window: int = old.window
        shrunk: int = old.shrunk
        trouble = self._receiving.losses or (len(local) > 0 and local[0][0] == self._site)
        self._receiving.losses = False
        if trouble:
            if cycle > shrunk:
                window = max(options.window_min_bytes, window - window // 4)
                shrunk = cycle + 1  # at most once a round
        elif turn % self._context.ring.size == 0 and cycle > shrunk + 1 and 4 * old.used >= window:
            window = min(max(most, options.window_min_bytes), window + window // 8)
        return window, shrunk
