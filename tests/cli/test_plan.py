"""`tocsin plan`: the answers of docs/formats.md, the exit codes, the errors in one line."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tocsin.cli.main import main
from tocsin.cli.plan import EXAMPLES

ROOT = Path(__file__).parents[2]
FIGURE_2_1 = str(ROOT / "examples" / "figure-2-1.toml")
FIGURE_3 = str(ROOT / "examples" / "figure-3.toml")
LOSSY = str(ROOT / "examples" / "lossy.toml")


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(["plan", *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


def answer(*words: str, code: int = 0) -> dict[str, Any]:
    found, out, err = run(*words, "--json")
    assert (found, err) == (code, "")
    assert out.count("\n") == 1
    decoded: dict[str, Any] = json.loads(out)
    return decoded


def refused(*words: str) -> str:
    """One line on stderr, nothing on stdout, exit 2."""
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and err.endswith("\n")
    assert len(err) < 500
    return err


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_strategy() -> None:
    assert answer("strategy", "--sites", "4", "--delay", "1", "--gap", "1") == {
        "edges": [[1, 2, 0], [1, 3, 1], [2, 4, 1]],
        "completion_time": 2,
        "received": [1, 1, 2],
        "buffer_capacity": 2,
    }
    chain = answer("strategy", "--sites", "3", "--delay", "2", "--gap", "1", "--shape", "chain")
    assert chain["edges"] == [[1, 2, 0], [2, 3, 2]]
    bush = answer("strategy", "--sites", "3", "--delay", "2", "--gap", "1", "--shape", "bush")
    assert bush["edges"] == [[1, 2, 0], [1, 3, 1]]


def test_strategy_from_a_file(tmp_path: Path) -> None:
    tree = write(tmp_path, "tree.toml", '[children]\na = ["b", "c"]\nc = ["d"]\n')
    found = answer("strategy", "--tree", tree, "--delay", "2", "--gap", "1")
    assert found["edges"] == [[1, 2, 0], [1, 3, 1], [3, 4, 3]]
    assert found["names"] == ["a", "b", "c", "d"]
    code, out, _ = run("strategy", "--tree", tree, "--delay", "2", "--gap", "1")
    assert code == 0
    assert "d  at 5" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing required field `children`"),
        ("[children]\n", "expected one site that nobody sends to, found none"),
        ('[children]\na = ["b"]\nb = ["a"]\n', "nobody sends to, found none"),
        ('[children]\na = ["b"]\nc = ["d"]\n', "found `a` and `c`"),
        ('[children]\na = ["b"]\nc = ["b"]\n', "found `a` and `c` for `b`"),
        ('[children]\na = ["b", "b"]\n', "found `a` and `a` for `b`"),
        ('[children]\na = ["b"]\nc = ["c"]\n', "expected a path from `a`, found a cycle"),
        ('[children]\na = [""]\n', "name: expected 1 to"),
        ('[children]\na = "b"\n', "expected `array`"),
    ],
)
def test_strategy_from_a_broken_file(text: str, message: str, tmp_path: Path) -> None:
    line = refused("strategy", "--tree", write(tmp_path, "tree.toml", text), "--delay", "2", "--gap", "1")
    assert "tree.toml: " in line
    assert message in line


def test_priorities() -> None:
    assert answer("priorities", FIGURE_2_1, "--source", "h1") == {
        "source": "h1",
        "lists": {
            "h1": [],
            "h2": ["h1"],
            "h3": ["h1", "h2"],
            "h4": ["h3", "h1", "h2"],
            "h5": ["h3", "h4", "h1", "h2"],
        },
        "acyclic": True,
        "jointly_complete": True,
    }
    guarded = answer("priorities", FIGURE_2_1, "--source", "h1", "--children-max", "1")
    assert guarded["lists"]["h5"] == ["h4", "h3", "h1", "h2"]
    free = answer("priorities", FIGURE_2_1, "--source", "h1", "--children-max", "1", "--penalty", "0")
    assert free["lists"]["h5"] == ["h3", "h4", "h1", "h2"]


LEGAL = {"h1": [], "h2": ["h1"], "h3": ["h1", "h2"], "h4": ["h3", "h5", "h2", "h1"], "h5": ["h1", "h3", "h2"]}


def test_check_of_legal_lists(tmp_path: Path) -> None:
    path = write(tmp_path, "lists.json", json.dumps(LEGAL))
    assert answer("priorities", "--check", path) == {"acyclic": True, "jointly_complete": True}
    assert answer("priorities", "--check", path, "--source", "h1")["acyclic"]
    without_source = {host: entries for host, entries in LEGAL.items() if host != "h1"}
    path = write(tmp_path, "lists.json", json.dumps(without_source))
    assert answer("priorities", "--check", path) == {"acyclic": True, "jointly_complete": True}
    code, out, err = run("priorities", "--check", path)
    assert (code, err) == (0, "")
    assert re.findall("yes|no", out) == ["yes", "yes"]


@pytest.mark.parametrize(
    ("change", "verdicts", "witness", "words"),
    [
        ({"h4": ["h3", "h2", "h1"]}, (True, False), ["h4", "h5"], "neither h4 nor h5 lists the other"),
        ({"h2": ["h1", "h4"]}, (False, True), ["h2", "h4"], "h2 lists h4 lists h2"),
        ({"h2": ["h2", "h1"]}, (False, True), ["h2"], "h2 lists h2"),
        ({"h2": ["h3"], "h3": ["h4", "h1"]}, (False, False), ["h3", "h4"], "neither h1 nor h2"),
    ],
)
def test_check_of_illegal_lists_exits_1_with_a_witness(
    change: dict[str, list[str]], verdicts: tuple[bool, bool], witness: list[str], words: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "lists.json", json.dumps({**LEGAL, **change}))
    found = answer("priorities", "--check", path, code=1)
    assert (found["acyclic"], found["jointly_complete"]) == verdicts
    assert found["witness"] == witness
    code, out, _ = run("priorities", "--check", path)
    assert code == 1
    assert words in out


def test_propagation() -> None:
    found = answer("propagation", FIGURE_3)
    assert found["roots"] == ["c"]
    assert found["children"]["d"] == ["e", "j"]
    assert found["children"]["j"] == []
    assert found["primary"]["alpha_5"] == "e"
    assert found["depth"]["alpha_3"] == 2
    assert found["extra"] == {f"alpha_{number}": [] for number in range(1, 9)}
    assert set(found) == {"roots", "children", "primary", "depth", "extra"}
    balanced = answer("propagation", FIGURE_3, "--balance", "1")
    assert balanced["children"]["c"] == ["d", "h"]
    assert max(balanced["depth"].values()) <= 3


def test_reliability() -> None:
    found = answer("reliability", LOSSY, "--source", "p1", "--reach", "0.9999")
    assert found["parent"] == {"p2": "p1", "p3": "p2", "p5": "p3", "p6": "p5", "p4": "p3"}
    assert found["copies"] == {"p2": 3, "p3": 4, "p4": 5, "p5": 5, "p6": 3}
    assert found["messages"] == sum(found["copies"].values())
    assert 0.9999 <= found["reach"] < 1


def test_json_topologies_are_read_too(tmp_path: Path) -> None:
    document = {"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"ends": ["a", "b"], "loss": 0.1}]}
    path = write(tmp_path, "net.json", json.dumps(document))
    assert answer("reliability", path, "--source", "a", "--reach", "0.99")["copies"] == {"b": 2}
    assert answer("priorities", path, "--source", "b")["lists"] == {"a": ["b"], "b": []}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["strategy", "--sites", "300", "--delay", "2", "--gap", "1"], ["complete at 13", "… and so on", "67     300"]),
        (["strategy", "--sites", "9", "--delay", "999999999", "--gap", "999999999"], ["complete at 3,999,999,996"]),
        (["strategy", "--sites", "100", "--delay", "7", "--gap", "1", "--shape", "bush"], ["60 more"]),
        (["priorities", FIGURE_2_1, "--source", "h1"], ["h3 h4 h1 h2", "without the source    14"]),
        (["priorities", FIGURE_2_1, "--source", "h1", "--children-max", "1"], ["(without the guard)"]),
        (["propagation", FIGURE_3], ["c  load 10", "1 tree; the busiest site is c"]),
        (["propagation", FIGURE_3, "--balance", "1"], ["(the unbalanced forest: 10)"]),
        (["reliability", LOSSY, "--source", "p1", "--reach", "0.9999"], ["20 messages reach 6 sites", "5 copies"]),
    ],
)
def test_people_get_tables_and_trees(words: list[str], shown: list[str]) -> None:
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    for text in shown:
        assert text in out


LISTS = '{"a": [], "b": ["a"]}'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected what to plan: strategy"),
        (["tree"], "invalid choice: 'tree'"),
        (["strategy", "--delay", "1", "--gap", "1"], "expected --sites N"),
        (["strategy", "--sites", "4", "--gap", "1"], "required: --delay"),
        (["strategy", "--sites", "four", "--delay", "1", "--gap", "1"], "expected an integer, found 'four'"),
        (["strategy", "--sites", "0", "--delay", "1", "--gap", "1"], "sites: expected an integer from 1"),
        (["strategy", "--sites", "3", "--delay", "0", "--gap", "1"], "delay: expected an integer from 1"),
        (["strategy", "--sites", "3", "--delay", "1", "--gap", "-3"], "gap: expected an integer from 1"),
        (["strategy", "--sites", "3", "--delay", "1.5", "--gap", "1"], "found '1.5'"),
        (["strategy", "--sites", "3", "--delay", "1", "--gap", "1", "--shape", "star"], "found `star`"),
        (["strategy", "--sites", "9" * 30, "--delay", "1", "--gap", "1"], "sites: expected"),
        (["strategy", "--sites", "9", "--delay", "999999999", "--gap", "1", "--shape", "chain", "--json"], "coarser"),
        (["strategy", "--sites", "3", "--tree", "x", "--delay", "1", "--gap", "1"], "expected no --sites"),
        (["priorities"], "expected TOPOLOGY and --source HOST"),
        (["priorities", FIGURE_2_1], "expected TOPOLOGY and --source HOST"),
        (["priorities", FIGURE_2_1, "--source", "h9"], "found `h9`"),
        (["priorities", FIGURE_2_1, "--source", "s1"], "found the switch `s1`"),
        (["priorities", FIGURE_2_1, "--source", "h1", "--children-max", "-1"], "overload guard"),
        (["priorities", FIGURE_2_1, "--source", "h1", "--penalty", "3"], "expected --children-max"),
        (["priorities", FIGURE_2_1, "--source", "h1", "--penalty", "nan"], "found 'nan'"),
        (["priorities", FIGURE_2_1, "--check", "LISTS"], "expected no TOPOLOGY"),
        (["priorities", "--check", "LISTS", "--source", "h9"], "found `h9`"),
        (["priorities", "--check", "nowhere.json"], "nowhere.json: cannot be read"),
        (["propagation"], "required: GROUPS"),
        (["propagation", FIGURE_2_1], "unknown key `"),
        (["propagation", FIGURE_3, "--balance", "-1"], "depth growth: expected an integer >= 0"),
        (["propagation", FIGURE_3, "--allow-extra"], "expected --balance"),
        (["reliability", LOSSY, "--source", "p1"], "required: --reach"),
        (["reliability", LOSSY, "--source", "p1", "--reach", "2"], "--reach: expected a probability in (0, 1]"),
        (["reliability", LOSSY, "--source", "p1", "--reach", "0"], "--reach: expected a probability in (0, 1]"),
        (["reliability", LOSSY, "--source", "p1", "--reach", "inf"], "expected a finite number"),
        (["reliability", LOSSY, "--source", "p1", "--reach", "1"], "1 cannot be promised"),
        (["reliability", LOSSY, "--source", "p1", "--reach", "0.9999", "--budget", "10"], "the budget of 10"),
        (["reliability", LOSSY, "--source", "p7", "--reach", "0.9"], "found `p7`"),
        (["reliability", FIGURE_2_1, "--source", "h1", "--reach", "0.9"], "found the switch `s1`"),
        (["reliability", FIGURE_3, "--source", "a", "--reach", "0.9"], "figure-3.toml"),
    ],
)
def test_bad_calls_are_refused_in_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    lists = write(tmp_path, "lists.json", LISTS)
    assert message in refused(*(lists if word == "LISTS" else word for word in words))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "expected lists of hosts, found none"),
        ("[]", "expected a table at the top"),
        ('{"a": "b"}', "expected `array`"),
        ('{"a": [1]}', "expected `str`"),
        ('{"a": ["b", "b"]}', "`a`: expected each host once on a list"),
        ("{", "expected JSON"),
    ],
)
def test_broken_lists_are_refused(text: str, message: str, tmp_path: Path) -> None:
    line = refused("priorities", "--check", write(tmp_path, "lists.json", text))
    assert "lists.json: " in line
    assert message in line


def test_a_source_with_a_list_is_refused(tmp_path: Path) -> None:
    line = refused("priorities", "--check", write(tmp_path, "lists.json", LISTS), "--source", "b")
    assert "expected an empty list for the source" in line


def test_parts_that_no_path_joins_are_named(tmp_path: Path) -> None:
    net = write(tmp_path, "net.toml", "nodes = [{ name = 'a' }, { name = 'b' }]\n")
    message = "net.toml: a reliability tree needs a connected topology, found 2 parts"
    assert message in refused("reliability", net, "--source", "a", "--reach", "0.9")
    message = "net.toml: priority lists need a path from the source to every host, found none from `a` to `b`"
    assert message in refused("priorities", net, "--source", "a")


def example_lines() -> list[str]:
    """The calls shown in the help that name files of the tree, without the pipes behind them."""
    lines = [line.strip() for text in EXAMPLES.values() for line in text.splitlines() if "tocsin plan" in line]
    calls = [re.split(r"\s{2,}|\s\|", line.removeprefix("tocsin plan "))[0] for line in lines]
    return sorted({call for call in calls if not re.search(r"(net|tree|groups)\.toml|lists\.json", call)})


@pytest.mark.parametrize("call", [call for call in example_lines() if "1000000" not in call])
def test_the_examples_of_the_help_work(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    code, out, err = run(*call.split())
    assert (code, err) == (0, "")
    assert out


@pytest.mark.parametrize("kind", ["strategy", "priorities", "propagation", "reliability"])
def test_every_kind_teaches_with_examples(kind: str) -> None:
    code, out, _ = run(kind, "--help")
    assert code == 0
    assert f"tocsin plan {kind} " in out
    assert "examples:" in out
