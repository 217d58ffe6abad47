"""Where docs/guarantees.md could be read in two ways, or an engine could go its own: each decided, for both."""

import pytest

from tests.properties.stories import table_of, told, verdict
from tocsin.core.errors import InputError
from tocsin.properties import FAIL, NOT_CHECKABLE, PROPERTIES
from tocsin.properties.audit.tables import audit_table
from tocsin.properties.plain.check import check_rows

LOWEST = -(1 << 63)


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (f"a view view={LOWEST} members=a", f"expected a view number above {LOWEST}"),
        (f"a view view={LOWEST} members=a primary=no", f"expected a view number above {LOWEST}"),
        (f"a duplicate g:a/0 view={LOWEST}", f"expected a view number above {LOWEST}"),
        (f"a deliver g:a/0 view={LOWEST}", f"expected a view number above {LOWEST}"),
        ("a view view=1", "expected view and members on a view row, found a null"),
        ("a view members=a", "expected view and members on a view row, found a null"),
        ("a deliver g:a/0 order=-1", "expected an order of at least 0, found -1"),
        ("a duplicate a/0", "expected group, origin and seqno on a duplicate row"),
        ("a deliver g:a/0 \n a deliver g:a/1 order=0", "found 0 after 0; sort the trace"),
        ("a deliver g:a/0 \n a retained", "expected a retained row only as the first of its log"),
    ],
)
def test_both_refuse_the_same_rows_in_the_same_words(story: str, expected: str) -> None:
    rows = told(story)
    with pytest.raises(InputError) as plain:
        check_rows(rows)
    with pytest.raises(InputError) as arrays:
        audit_table(table_of(rows), {}, False, PROPERTIES)
    assert expected in str(plain.value) and str(plain.value) == str(arrays.value)


def test_a_delivery_before_its_own_broadcast_stands_beside_a_truncated_log() -> None:
    """Whatever the missing rows are: if another site was first, then this broadcast has used a number again."""
    story = "a deliver g:a/0 \n a broadcast g:a/0 \n c send kind=token order=1"
    found = verdict("integrity", story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 2, 1)
    nobody = "a broadcast g:a/0 \n a deliver g:a/0 \n a deliver g:z/0 \n c send kind=token order=1"
    assert verdict("integrity", nobody).verdict == NOT_CHECKABLE  # c may have broadcast it


def test_a_group_with_views_and_no_message_has_no_passages() -> None:
    views = "".join(f"{site} view group=g view={view} members=a,b \n" for view in (1, 2) for site in "ab")
    found = verdict("view_synchrony", views)
    assert (found.verdict, found.checked) == (NOT_CHECKABLE, 0)
    assert found.why == "there is nothing to check in this trace"
    assert verdict("view_synchrony", views + "a broadcast g:a/0").checked == 2


def test_whether_a_member_has_rows_is_decided_run_by_run() -> None:
    rows = told("a deliver g:a/0 \n b deliver g:a/0", "one") + told("a deliver g:a/0", "two")
    for groups, violations in (({"g": ["a", "b"]}, 1), ({}, 0)):
        found = check_rows(rows, groups)["agreement"]
        assert found.violations == violations
        assert violations == 0 or "site b (it has no rows in run two)" in (found.why or "")
        assert audit_table(table_of(rows), groups, False, PROPERTIES)["agreement"] == found


def test_a_run_with_deliveries_is_one_even_if_all_were_rolled_back() -> None:
    found = verdict("safe", "a broadcast g:a/0 \n a deliver g:a/0 \n a rollback g:a/0")
    assert (found.verdict, found.checked) == (NOT_CHECKABLE, 0)
    assert found.why == "run story: no receive events of kind data that name their message"
    assert verdict("safe", "a broadcast g:a/0").why == "there is nothing to check in this trace"


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_run_of_which_only_a_truncated_log_is_left(name: str) -> None:
    found = verdict(name, "a deliver g:a/0 order=1 \n a deliver g:a/0")
    assert (found.verdict, found.checked, found.violations) == (NOT_CHECKABLE, 0, 0)
    assert found.why == "run story: the log of site a is truncated (1 row missing before order 1)"


def test_safe_has_looked_at_the_deliveries_even_without_receives() -> None:
    found = verdict("safe", "a broadcast g:a/0 \n a deliver g:a/0")
    assert (found.verdict, found.checked) == (NOT_CHECKABLE, 1)


@pytest.mark.parametrize(
    "story",
    [
        "a broadcast g:a/3 \n a deliver g:a/4 \n a deliver g:a/3 \n a broadcast g:a/4",
        """
        a deliver h:b/1 \n a deliver k:a/1 \n a deliver g:b/2 \n a broadcast k:a/1
        b broadcast g:b/2 \n b broadcast h:b/1
        """,
    ],
)
def test_a_late_delivery_that_is_itself_the_cause_is_shown_once(story: str) -> None:
    """Site a delivers an effect, then its cause, and broadcasts the effect only then: three rows show it."""
    found = verdict("causal", story)
    assert found.verdict == FAIL and found.evidence is not None and len(found.evidence) == 3


def test_a_longer_chain_may_begin_with_the_late_delivery_too() -> None:
    found = verdict(
        "causal",
        """
        a broadcast g:a/0 \n a deliver g:b/0 \n a deliver g:a/0 \n a broadcast g:a/1
        b deliver g:a/1 \n b broadcast g:b/0
        """,
    )
    assert found.verdict == FAIL and found.evidence is not None and len(found.evidence) == 5
