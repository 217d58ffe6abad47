"""Who is owed what where groups change: the first delivery says which members a message belongs to."""

from tocsin.sim.dues import Dues

EVERYBODY = {0, 1, 2}


def dues() -> tuple[Dues, list[list[int]]]:
    groups = [[0, 1], [1, 2]]
    return Dues(groups, 3), groups


def test_a_message_is_owed_until_all_members_have_it() -> None:
    kept, _ = dues()
    kept.on_broadcast(0, 2, 7)
    assert kept.is_owed(EVERYBODY) and kept.is_owed({0}) and not kept.is_owed({2})
    kept.on_deliver(0, 0, 2, 7)
    assert kept.is_owed(EVERYBODY) and not kept.is_owed({0, 2})
    kept.on_deliver(1, 0, 2, 7)
    assert not kept.is_owed(EVERYBODY)


def test_before_a_change_or_after_it() -> None:
    """1 leaves the group and 2 joins it: the one who delivers first has seen the change, or has not."""
    for changed, owes in ((False, 1), (True, 2)):
        kept, groups = dues()
        kept.on_broadcast(0, 0, 0)
        groups[0] = [0, 2]
        for site in (0, 2) if changed else ():
            kept.on_group(site, 0, [0, 2])
        kept.on_deliver(0, 0, 0, 0)
        assert [site for site in range(3) if kept.is_owed({site})] == [owes]
        kept.on_deliver(owes, 0, 0, 0)
        assert not kept.is_owed(EVERYBODY)


def test_a_new_group() -> None:
    kept, groups = dues()
    groups.append([0])
    kept.on_broadcast(2, 1, 4)
    assert kept.is_owed(EVERYBODY)
    kept.on_group(0, 2, [0])
    kept.on_deliver(0, 2, 1, 4)
    assert not kept.is_owed(EVERYBODY)


def test_what_is_taken_back_is_owed_again_and_may_go_to_others() -> None:
    kept, groups = dues()
    kept.on_broadcast(0, 0, 0)
    for site in (0, 1):
        kept.on_deliver(site, 0, 0, 0)
    kept.on_rollback(1, 0, 0, 0)
    assert kept.is_owed({1}) and not kept.is_owed({0, 2})
    kept.on_rollback(0, 0, 0, 0)
    groups[0] = [0, 2]
    assert kept.is_owed({0}) and kept.is_owed({2}) and not kept.is_owed({1})
    for site in (0, 2):
        kept.on_group(site, 0, [0, 2])
        kept.on_deliver(site, 0, 0, 0)
    assert not kept.is_owed(EVERYBODY)


def test_what_a_site_missed_for_good_is_not_owed_to_it() -> None:
    kept, _ = dues()
    for seqno in range(2):
        kept.on_broadcast(0, 0, seqno)
        kept.on_deliver(0, 0, 0, seqno)
    kept.on_missed(1, 1)
    assert kept.is_owed({1})
    kept.on_missed(1, 1)
    assert not kept.is_owed({1})
