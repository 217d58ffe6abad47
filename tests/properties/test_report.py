"""What a report says as a whole: truncated traces, several runs, rows that are refused, levels."""

import re

import pytest

from tests.properties.stories import told, verdict
from tocsin.core.errors import InputError
from tocsin.properties import (
    FAIL,
    LEVELS,
    NOT_CHECKABLE,
    PASS,
    PROPERTIES,
    check,
)
from tocsin.traces.calm import Calm

GOOD = """
    a view view=1 members=a,b
    b view view=1 members=a,b
    a broadcast all:a/0
    b receive a/0 kind=data
    a deliver all:a/0 position=0
    b deliver all:a/0 position=0
    b broadcast all:b/0
    a receive b/0 kind=data
    a deliver all:b/0 position=1
    b deliver all:b/0 position=1
    a view view=2 members=a,b,c
    b view view=2 members=a,b,c
    c view view=2 members=a,b,c
    c missed group=all position=0 size=2
"""


def test_a_good_story_passes_everything() -> None:
    report = check(told(GOOD), one_clock=True, calm=Calm(0))
    assert {name: found.verdict for name, found in report.properties.items()} == dict.fromkeys(PROPERTIES, PASS)
    assert (report.rows, report.runs, report.sites) == (14, 1, 3)
    assert report.properties["integrity"].checked == 6
    assert report.properties["validity"].checked == 2
    assert report.properties["agreement"].checked == 2
    assert report.properties["fifo"].checked == 4
    assert report.properties["view_synchrony"].checked == 2
    assert all(report.holds(level) for level in LEVELS)


def test_a_truncated_log_makes_a_pass_uncheckable() -> None:
    report = check(told(GOOD + "\n b crash order=20"), one_clock=True, calm=Calm(0))
    for name in PROPERTIES:
        found = report.properties[name]
        assert found.verdict == NOT_CHECKABLE, name
        assert found.why == "run story: the log of site b is truncated (14 rows missing before order 20)"


def test_a_truncated_log_does_not_hide_what_the_others_show() -> None:
    story = "a deliver g:x/0 \n a deliver g:y/0 \n b deliver g:y/0 \n b deliver g:x/0 \n c send kind=token order=1"
    found = verdict("multiple_source", story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 4, 1)
    assert verdict("agreement", story).verdict == NOT_CHECKABLE  # c may well have delivered both


def test_runs_are_judged_one_by_one_and_added_up() -> None:
    inverted = "a deliver g:x/1 \n b deliver g:x/2 \n a deliver g:x/2 \n b deliver g:x/1"
    rows = told("a deliver g:x/1 \n a deliver g:x/2", "one") + told("a deliver g:x/2 \n a deliver g:x/1", "two")
    report = check(rows)
    assert (report.runs, report.sites) == (2, 1)
    found = report.properties["fifo"]
    assert (found.verdict, found.checked, found.violations) == (FAIL, 4, 1)
    assert found.evidence is not None and {row.run for row in found.evidence} == {"two"}
    assert report.properties["single_source"].verdict == PASS
    assert check(told(inverted, "one") + told(inverted, "two")).properties["single_source"].violations == 2


def test_an_empty_trace_proves_nothing() -> None:
    report = check([])
    assert (report.rows, report.runs, report.sites) == (0, 0, 0)
    assert {found.verdict for found in report.properties.values()} == {NOT_CHECKABLE}


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("a deliver all:a/0 order=1 \n a deliver all:a/1 order=1", "found 1 after 1"),
        ("a deliver all:a/0 order=-1", "found -1"),
        ("a deliver a/0", "expected group, origin and seqno on a deliver row"),
        ("a broadcast", "expected group, origin and seqno on a broadcast row"),
        ("a view view=1", "expected view and members on a view row"),
        ("a deliver all:a/9223372036854775808", "expected numbers of at most 64 bits"),
    ],
)
def test_rows_that_contradict_the_format_are_refused(story: str, expected: str) -> None:
    with pytest.raises(InputError) as error:
        check(told(story))
    assert str(error.value).startswith("trace, run story, site a, order ") and expected in str(error.value)


def test_levels_grow() -> None:
    assert list(LEVELS) == ["basic", "fifo", "causal", "agreed", "safe"]
    for smaller, larger in zip(LEVELS.values(), list(LEVELS.values())[1:], strict=False):
        assert set(smaller) < set(larger)
    assert set(LEVELS["safe"]) == set(PROPERTIES) - {"settled"}


def test_a_level_fails_by_its_properties() -> None:
    report = check(told("a broadcast g:a/0 \n a deliver g:a/0 \n b deliver g:a/0 \n b deliver g:z/0"))
    assert report.failed("basic") == ["integrity", "agreement"]
    assert not report.holds("fifo")
    assert "safe" in report.unchecked("safe")
    with pytest.raises(InputError, match=re.escape("unknown level `saf` (did you mean `safe`?)")):
        report.holds("saf")


def test_only_the_properties_asked_for() -> None:
    report = check(told(GOOD), properties=["fifo", "acyclic"])
    assert list(report.properties) == ["fifo", "acyclic"]
    with pytest.raises(InputError, match="unknown property `fif`"):
        check([], properties=["fif"])


def test_the_answer_in_json() -> None:
    answer = check(told("b deliver all:a/1 \n b deliver all:a/0")).to_json_object()
    assert list(answer) == ["rows", "runs", "sites", "properties"]
    fifo = answer["properties"]["fifo"]
    assert list(fifo) == ["verdict", "checked", "violations", "witness", "why"]
    assert fifo["witness"][0] == {
        "run": "story",
        "site": "b",
        "order": 0,
        "time_us": 0,
        "event": "deliver",
        "group": "all",
        "origin": "a",
        "seqno": 1,
        "kind": None,
        "peer": None,
        "size": None,
        "position": None,
        "view": None,
        "members": None,
    }
    assert answer["properties"]["single_source"]["witness"] is None
