"""What `counter_token` holds and sends at the most; docs/protocols/counter_token.md has the same in words."""

from tocsin.protocols.counter_token.context import MESSAGE_OVERHEAD
from tocsin.protocols.counter_token.options import CounterTokenOptions
from tocsin.protocols.limits import Limits, per_second


def limits_of(options: CounterTokenOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    token = multicast if options.token_to == "all" else 2  # to all, or to the next owner, which answers
    hold_us = max(options.idle_hold_us_max(), options.token_hold_us)
    in_bytes = options.buffer_bytes // MESSAGE_OVERHEAD  # a message counts for at least so much
    return Limits(
        held=in_bytes + options.queue_messages,
        records=options.records_max + 4 * (in_bytes + options.queue_messages),
        first=multicast + 4 * sites * token,  # two rounds to commit, and two that grow idle
        again_per_second=4 * others * per_second(options.request_us) + token * per_second(options.token_hold_us),
        idle_per_second=2 * token * per_second(hold_us) / sites,  # a turn in hold_us, in the end
        round_dead_per_second=2 * others * per_second(hold_us) / sites,  # one token of a round, over others
        troubled_per_second=4 * others * per_second(options.change_us),  # a view is sought, and asked to be let into
        lost=8,  # requested, sent again; the token again, to everybody
        upset=8 * sites * sites,  # a view: prepared, promised, accepted, decided, and what is fetched
        rest_us=2_000_000,  # the hold grows to its limit
    )
