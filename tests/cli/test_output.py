"""What is printed survives a pipe, 80 columns and a stdout that is not UTF-8; only a broken promise raises an alarm."""

import io
import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from tests.cli.terminal import RED, TOCSIN, on_terminal, plain
from tests.live.harness import LiveGroup, wait_until
from tocsin.cli.call import VERBS
from tocsin.cli.main import main
from tocsin.cli.tables import print_table
from tocsin.core.errors import InputError
from tocsin.protocols import registry

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOWCASE = str(EXAMPLES / "showcase.toml")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a run in which everything that was promised holds, and much that was not does not."""
    folder = tmp_path_factory.mktemp("trace")
    assert main(["simulate", SHOWCASE, "--trace", str(folder)]) == 0
    return str(folder)


def in_pipe(*words: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run([*TOCSIN, *words], capture_output=True, env={**os.environ, **environment}, check=False)
    return done.returncode, done.stdout.decode("ascii" if environment else "utf-8")


def words_of(text: str) -> set[str]:
    """Every word but the heading of a column that has moved below its rows."""
    return set(text.split()) - {"why"}


def test_in_a_pipe_a_row_is_one_line(trace: str) -> None:
    code, said = in_pipe("check", trace, COLUMNS="40", PYTHONIOENCODING="utf-8")
    (causal,) = [line for line in said.splitlines() if line.startswith("causal ")]
    assert code == 0 and "when it had seen" in causal and len(causal) > 120
    assert "\x1b" not in said


def test_on_80_columns_no_line_is_longer_and_nothing_is_missing(trace: str) -> None:
    code, shown = on_terminal(["check", trace])
    lines = plain(shown).splitlines()
    assert code == 0 and max(map(len, lines)) <= 80
    piped = in_pipe("check", trace)[1]
    assert words_of(plain(shown)) == words_of(piped)


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "propagation", str(EXAMPLES / "figure-3.toml")],
        ["plan", "priorities", str(EXAMPLES / "figure-2-1.toml"), "--source", "h1"],
        ["plan", "reliability", str(EXAMPLES / "lossy.toml"), "--source", "p1", "--reach", "0.9999"],
        ["protocols", "--no-costs"],
        ["protocols", "counter_token"],
        ["simulate", SHOWCASE],
        ["explore", str(EXAMPLES / "explore.toml")],
    ],
    ids=lambda words: " ".join(words[:2]) if "examples" not in words[1] else words[0],
)
def test_a_terminal_and_a_pipe_show_the_same_words(words: list[str]) -> None:
    narrow, piped = plain(on_terminal(words)[1]), in_pipe(*words)[1]
    assert words_of(narrow) == words_of(piped)
    if words[0] == "protocols":
        assert max(map(len, narrow.splitlines())) <= 80


HELPED = [[verb] for verbs in VERBS.values() for verb in verbs]
HELPED += [["plan", kind] for kind in ("strategy", "priorities", "propagation", "reliability")]


@pytest.mark.parametrize("words", [[], *HELPED], ids=" ".join)
def test_help_fits_80_columns_and_breaks_no_word(words: list[str]) -> None:
    narrow = plain(on_terminal([*words, "--help"])[1])
    assert max(map(len, narrow.splitlines())) <= 80
    wide = plain(on_terminal([*words, "--help"], columns=300)[1])
    assert narrow.split() == wide.split()


def test_a_row_of_long_values_is_broken_between_words() -> None:
    """As `tocsin doctor` has them: neither the table nor the table without its prose fits."""
    file = io.StringIO()
    row = ["clock", "a long sentence " * 5, "another one " * 6]
    print_table(Console(file=file, width=50), ["check", "found", "cure"], [row], prose=1)
    assert max(map(len, file.getvalue().splitlines())) <= 50
    assert file.getvalue().split() == f"check {row[0]} found {row[1]} cure {row[2]}".split()


def test_what_was_not_promised_raises_no_alarm(trace: str) -> None:
    code, shown = on_terminal(["simulate", SHOWCASE])
    assert code == 0 and RED not in shown
    assert [line.split()[1] for line in plain(shown).splitlines() if line.startswith(("fifo ", "agreement "))] == [
        "yes",
        "no",
    ]
    code, shown = on_terminal(["check", trace])
    assert code == 0 and RED not in shown


def test_what_was_expected_does(trace: str) -> None:
    code, shown = on_terminal(["check", trace, "--expect", "agreed"])
    assert code == 1 and RED in shown
    assert f"{RED}fails" in shown and shown.count(f"{RED}fails") == 1, "only the level that was asked for"
    code, shown = on_terminal(["check", trace, "--expect", "basic"])
    assert code == 0 and RED not in shown


def test_a_broken_promise_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """ack_all does not keep fifo; a registry that says it does makes the same run an alarm."""
    lying = msgspec.structs.replace(registry.REGISTRY["ack_all"], guarantees=("fifo",))
    monkeypatch.setitem(registry.REGISTRY, "ack_all", lying)
    assert main(["simulate", SHOWCASE]) == 1
    assert "fifo" in capsys.readouterr().out


def test_a_stdout_that_is_not_utf_8(tmp_path: Path) -> None:
    """Names of sites may hold any character; JSON stays JSON, for people the character is escaped."""
    scenario = tmp_path / "euro.toml"
    scenario.write_text(
        'protocol = "ack_all"\nsites = ["a€", "b\U0001f514", "ü"]\n[workload]\nmessages = 3\nevery_us = 1000\n'
    )
    for encoding in ("latin-1", "ascii", "cp1252"):
        code, said = in_pipe("simulate", str(scenario), "--json", PYTHONIOENCODING=encoding)
        assert code == 0 and list(json.loads(said)["load"]) == ["a€", "b\U0001f514", "ü"]
    out = tmp_path / "out"
    code, said = in_pipe("simulate", str(scenario), "--trace", str(out), PYTHONIOENCODING="latin-1")
    assert code == 0
    code, said = in_pipe("check", str(out), PYTHONIOENCODING="latin-1")
    assert code == 0 and "\\ud83d\\udd14" in said


def test_help_and_version() -> None:
    code, said = in_pipe("--help", PYTHONIOENCODING="ascii")
    assert code == 0
    for verbs in VERBS.values():
        for verb, does in verbs.items():
            assert " ".join(f"{verb} {does}".split()) in " ".join(said.split())
    assert in_pipe("--version")[1].startswith("tocsin ")


@pytest.mark.parametrize("verb", [verb for verbs in VERBS.values() for verb in verbs])
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    code, said = in_pipe(verb, "--help")
    assert code == 0 and said.startswith(f"usage: tocsin {verb}") and f"tocsin {verb}" in said.partition("example")[2]


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["simulate"],
        ["simulate", SHOWCASE, "--sed", "7"],
        ["simulate", SHOWCASE, "--seed", "seven"],
        ["join", "nowhere.toml", "--as", "a"],
        ["join", str(EXAMPLES / "orders.toml"), "--as", "z"],
        ["status", str(EXAMPLES / "orders.toml"), "--as", "z"],
        ["doctor", SHOWCASE],
        ["journal", "nowhere"],
        ["check", "nowhere"],
        ["check", SHOWCASE],
        ["audit", "nowhere"],
        ["explore", SHOWCASE],
        ["swarm", "ack_al"],
        ["swarm", "ack_all", "--seeds", "5..3"],
        ["sweep", "nowhere.toml", "--out", "out"],
        ["keygen", "no/such/folder/orders.key"],
        ["keygen", "orders.key", "--add", "--drop"],
        ["plan", "trees"],
        ["protocols", "ack_al"],
    ],
    ids=" ".join,
)
def test_a_bad_call_is_answered_in_one_line(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run([*TOCSIN, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (2, 3) and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("tocsin"), done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_keygen_makes_no_folders(tmp_path: Path) -> None:
    assert main(["keygen", str(tmp_path / "new" / "orders.key")]) == InputError.exit_code
    assert list(tmp_path.iterdir()) == []
    assert main(["keygen", str(tmp_path / "orders.key")]) == 0
    assert main(["keygen", str(tmp_path / "orders.key")]) == InputError.exit_code, "an existing key is not touched"


@pytest.mark.xdist_group("live")
def test_join_on_a_stdout_that_is_not_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LiveGroup(tmp_path, "counter_token") as group:
        monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
        group.start("a")
        monkeypatch.delenv("PYTHONIOENCODING")
        group.start("b")
        group.start("c")
        group.wait_together()
        group.send("b", ["price 5 € \U0001f514 ü"])
        group.wait_delivered(1)
        wait_until("it is written", lambda: len(group.lines("a")) > 1)
        assert group.lines("a")[-1]["payload"] == "price 5 € \U0001f514 ü"
