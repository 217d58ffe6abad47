"""What the promises of a majority say about the next view."""

import msgspec

from tocsin.core.rangeset import RangeSet
from tocsin.protocols.counter_token.messages import Item, Promise, Seat, View, Voters
from tocsin.protocols.counter_token.seats import UNSEATED, Wish, seated
from tocsin.protocols.counter_token.views import decides, is_majority, is_sound_view, may_follow, propose, voting

A, B, C, D, E = range(5)
SITES = 5
PLACES = (200, 201, 202)
NOBODY = ((0,) * SITES,)


def numbers(first: int, count: int) -> tuple[int, ...]:
    found = RangeSet()
    found.add_range(first, first + count)
    return found.to_wire(8)


def voters(*sites: int) -> Voters:
    return tuple([(site, 1) for site in sites])


def view(ballot: int = 10, members: tuple[int, ...] = (A, B, C), **more: object) -> View:
    everyone = voters(*members)
    first = tuple([1 for _ in members])
    made = View(ballot, members, first, everyone, everyone, (), (), 0, 0, (0,), NOBODY, (), (), ())
    return msgspec.structs.replace(made, **more)


def promise(counted: str, last: View | None = None, ordered: int = 0, **more: object) -> Promise:
    """Entries at PLACES, each of two messages of a: `+` counted, `-` known and not counted, `.` unknown."""
    last = last or view()
    items = []
    for place, mark, index in zip(PLACES, counted, range(3), strict=True):
        if mark != "." and place >= ordered:
            items.append(Item(place, 0, A, mark == "+", numbers(2 * index, 2)))
    done = 2 * len([place for place in PLACES if place < ordered])
    front = ((done, 0, 0, 0, 0),)
    made = Promise(12, 1, False, last, last.ballot, ordered, (done,), front, tuple(items), False, 6)
    return msgspec.structs.replace(made, **more)


def proposed(promises: dict[int, Promise], last: View | None = None, wishes: list[Wish] | None = None) -> View:
    return propose(12, last or view(), promises, [], wishes or [], True, True)


def kept(promises: dict[int, Promise], last: View | None = None) -> tuple[int, list[int]]:
    following = proposed(promises, last)
    return following.start, [entry.place for entry in following.carried]


def test_what_all_who_promise_have_counted_may_have_been_delivered_and_is_kept() -> None:
    assert kept({A: promise("+++"), B: promise("++-")}) == (0, [200, 201])
    assert kept({A: promise("+++"), B: promise("+++"), C: promise("++-")}) == (0, [200, 201])


def test_what_a_member_has_ordered_was_counted_by_all() -> None:
    following = proposed({A: promise("+++", ordered=201), B: promise("++-")})
    assert following.start == 201
    assert [entry.place for entry in following.carried] == [201]
    assert following.positions == (2,)
    assert following.frontier[0][A] == 2


def test_an_entry_that_one_does_not_know_ends_it_with_all_that_follow() -> None:
    assert kept({A: promise("+++"), B: promise("+..")}) == (0, [200])
    assert kept({A: promise("+-+"), B: promise("+-+")}) == (0, [200])


def test_places_of_the_next_view_are_above_all_that_were_heard_of() -> None:
    assert proposed({A: promise("+++"), B: promise("...")}).base > 202


def test_those_who_voted_for_the_largest_view_say_what_is_kept_and_its_own_is_kept_uncounted() -> None:
    old = promise("+++", view(10))
    later = view(11, base=300, carried=proposed({A: promise("++-"), B: promise("++-")}).carried)
    undecided = promise("...", later, installed=10)  # it has voted for the later one, and not seen it begin
    assert kept({A: old, B: undecided}, later) == (0, [200, 201])


def test_who_voted_for_an_older_view_only_takes_nothing_away() -> None:
    """It was not there, and cannot know what the members of the last view have delivered."""
    last = view(11)
    assert kept({A: promise("+++", last), B: promise("...", view(10))}, last) == (0, [200, 201, 202])


def test_who_is_left_out_finds_how_its_view_ended() -> None:
    following = proposed({A: promise("+++", ordered=201), B: promise("++-")})
    mark = following.marks[-1]
    assert (mark.view, mark.members, mark.start, mark.kept) == (10, (A, B, C), 201, (201,))
    assert following.absent == (C,)


def test_a_majority_is_of_the_voters_and_of_their_incarnations() -> None:
    everyone = voters(A, B, C)
    assert is_majority(everyone, {A: 1, B: 1})
    assert not is_majority(everyone, {A: 1})
    assert not is_majority(everyone, {A: 1, B: 2, D: 1})
    assert not is_majority(voters(A, B), {A: 1})


def test_one_whose_log_is_in_doubt_has_no_vote() -> None:
    promises = {A: promise("..."), B: promise("...", in_doubt=True)}
    assert not decides(view(), voting(promises))
    assert decides(view(), voting({**promises, C: promise("...")}))


def test_a_change_of_voters_needs_the_majority_before_and_after() -> None:
    changed = view(before=voters(A, B, C), voters=voters(A, B, C, D, E))
    assert not decides(changed, {A: 1, D: 1, E: 1})
    assert not decides(changed, {A: 1, B: 1})
    assert decides(changed, {A: 1, B: 1, D: 1})


def test_voters_change_one_at_a_time() -> None:
    promises = {site: promise("...") for site in (A, B, C, D, E)}
    first = proposed(promises, wishes=[Wish(D, True), Wish(E, True)])
    assert (first.voters, first.before) == (voters(A, B, C, D), voters(A, B, C))
    second = proposed(promises, first, [Wish(D, True), Wish(E, True)])
    assert (second.voters, second.before) == (voters(A, B, C, D, E), voters(A, B, C, D))


def test_a_view_that_may_not_be_decided_keeps_both_sets_of_voters() -> None:
    changed = view(11, before=voters(A, B, C), voters=voters(A, B, C, D))
    promises = {site: promise("...", changed, installed=10) for site in (A, B, C, D)}
    following = propose(12, changed, promises, [], [Wish(A, False)], False, True)
    assert (following.voters, following.before) == (changed.voters, changed.before)


def test_a_voter_is_removed_only_if_a_majority_of_the_others_is_there() -> None:
    four = view(members=(A, B, C, D))
    removed = proposed(
        {A: promise("...", four), B: promise("...", four), C: promise("...", four)}, four, [Wish(D, False)]
    )
    assert removed.voters == voters(A, B, C)
    assert (removed.removed, removed.absent) == ((D,), ())
    refused = proposed({A: promise("...", four), B: promise("...", four)}, four, [Wish(B, False)])
    assert refused.voters == four.voters


def test_a_removed_site_is_not_added_again() -> None:
    gone = view(removed=(D,))
    assert proposed({site: promise("...", gone) for site in (A, B, C)}, gone, [Wish(D, True)]).voters == gone.voters


def test_a_new_incarnation_gets_its_vote_when_it_has_everything() -> None:
    behind = {A: promise("..."), B: promise("..."), C: promise("...", incarnation=2, lagging=True)}
    following = proposed(behind)
    assert following.voters == voters(A, B, C)
    assert following.incarnations == (1, 1, 2)
    whole = {**behind, C: promise("...", incarnation=2)}
    assert proposed(whole).voters == ((A, 1), (B, 1), (C, 2))


def test_two_voters_cannot_replace_a_disk() -> None:
    two = view(members=(A, B))
    promises = {A: promise("...", two), B: promise("...", two, incarnation=2)}
    assert not decides(two, voting(promises))


def test_what_follows_a_view_that_is_known_to_be_decided_is_for_its_own_voters() -> None:
    changed = view(before=voters(A, B, C), voters=((A, 1), (B, 1), (C, 2)))
    assert may_follow(changed, {B: 1, C: 2}, True)
    assert not may_follow(changed, {B: 1, C: 2}, False)


def test_seats_follow_one_another_and_come_by_wish() -> None:
    seats = tuple(Seat(site, "abc"[site], f"10.0.0.{site}:1", True) for site in (A, B, C))
    named = msgspec.structs.replace(view(), seats=seats)
    wishes = [Wish(UNSEATED, True, "d", "10.0.0.9:1"), Wish(B, False, "", "10.0.0.8:1")]
    made, gone = seated(named, wishes, 64)
    assert [(seat.site, seat.name, seat.address) for seat in made] == [
        (A, "a", "10.0.0.0:1"),
        (B, "b", "10.0.0.8:1"),
        (C, "c", "10.0.0.2:1"),
        (D, "d", "10.0.0.9:1"),
    ]
    assert not gone and seated(named, wishes[:1], 3)[0] == seats, "there is no number left"
    assert seated(named, [Wish(UNSEATED, True, "c", "")], 64)[0] == seats, "it is there"
    removed = msgspec.structs.replace(named, removed=(C,))
    assert seated(removed, [Wish(UNSEATED, True, "c", "10.0.0.2:1")], 64)[0][-1].site == D, "never the same number"
    assert is_sound_view(named, 1, 5) and not is_sound_view(msgspec.structs.replace(named, seats=seats[1:]), 1, 5)


def test_a_recovery_goes_on_with_the_voters_that_are_here() -> None:
    made = propose(1 << 41, view(), {A: promise("...", view())}, [], [], True, False, 5, True)
    assert made.members == (A,) and made.voters == made.before == ((A, 1),) and made.removed == ()
