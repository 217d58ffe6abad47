"""A hundred broken files: each exits 2 with one clear line on stderr, nothing on stdout, and no traceback."""

import contextlib
import io
from pathlib import Path

import pytest

import tocsin
from tocsin.cli.main import main

SCENARIO = """\
protocol = "ack_all"
sites = 3
[workload]
messages = 1
every_us = 1000
"""

BROKEN_SCENARIOS = {
    "empty": "",
    "not toml": "protocol = = 3",
    "not closed": 'protocol = "ack_all',
    "a list at the top": "[[faults]]\nat_us = 1\n",
    "unknown key": SCENARIO.replace("sites", "stes"),
    "unknown table": SCENARIO + "[netwrk]\nloss = 0.1\n",
    "unknown key in a table": SCENARIO + "[network]\nlos = 0.1\n",
    "unknown protocol": SCENARIO.replace("ack_all", "ack_al"),
    "protocol of a wrong type": SCENARIO.replace('"ack_all"', "7"),
    "no protocol": SCENARIO.replace('protocol = "ack_all"\n', ""),
    "no sites": SCENARIO.replace("sites = 3\n", ""),
    "no site at all": SCENARIO.replace("sites = 3", "sites = 0"),
    "negative sites": SCENARIO.replace("sites = 3", "sites = -1"),
    "half a site": SCENARIO.replace("sites = 3", "sites = 2.5"),
    "a huge number of sites": SCENARIO.replace("sites = 3", "sites = 100000000000"),
    "sites as text": SCENARIO.replace("sites = 3", 'sites = "three"'),
    "an empty list of sites": SCENARIO.replace("sites = 3", "sites = []"),
    "a site twice": SCENARIO.replace("sites = 3", 'sites = ["a", "b", "a"]'),
    "a site without a name": SCENARIO.replace("sites = 3", 'sites = ["a", ""]'),
    "a site with a line break": SCENARIO.replace("sites = 3", 'sites = ["a", "b\\n"]'),
    "one site only": SCENARIO.replace("sites = 3", "sites = 1"),
    "unknown site in a group": 'groups = { left = ["a", "x"] }\n' + SCENARIO,
    "an empty group": "groups = { left = [] }\n" + SCENARIO,
    "no groups": "groups = {}\n" + SCENARIO,
    "a group as text": 'groups = { left = "a" }\n' + SCENARIO,
    "a site twice in a group": 'groups = { left = ["a", "a"] }\n' + SCENARIO,
    "a group of numbers": "groups = { left = [1, 2] }\n" + SCENARIO,
    "zero duration": "duration_us = 0\n" + SCENARIO,
    "negative duration": "duration_us = -5\n" + SCENARIO,
    "endless duration": "duration_us = 99999999999999999999\n" + SCENARIO,
    "duration as text": 'duration_us = "a minute"\n' + SCENARIO,
    "duration not a number": "duration_us = nan\n" + SCENARIO,
    "negative messages": SCENARIO.replace("messages = 1", "messages = -1"),
    "too many messages": SCENARIO.replace("messages = 1", "messages = 10000000000"),
    "messages as text": SCENARIO.replace("messages = 1", 'messages = "many"'),
    "no messages said": SCENARIO.replace("messages = 1\n", ""),
    "two kinds of workload": SCENARIO + "rate_per_site = 1.0\n",
    "no kind of workload": SCENARIO.replace("every_us = 1000\n", ""),
    "rate of zero": SCENARIO.replace("every_us = 1000", "rate_per_site = 0.0"),
    "negative rate": SCENARIO.replace("every_us = 1000", "rate_per_site = -1.0"),
    "a rate too small for any clock": SCENARIO.replace("every_us = 1000", "rate_per_site = 1e-310"),
    "a date": "duration_us = 2026-01-02\n" + SCENARIO,
    "infinite rate": SCENARIO.replace("every_us = 1000", "rate_per_site = inf"),
    "rate not a number": SCENARIO.replace("every_us = 1000", "rate_per_site = nan"),
    "no time between broadcasts": SCENARIO.replace("every_us = 1000", "every_us = 0"),
    "burst of nothing": SCENARIO + "burst = 0\n",
    "closed loop of nothing": SCENARIO.replace("every_us = 1000", "outstanding = 0"),
    "unknown sender": SCENARIO + 'senders = ["x"]\n',
    "no sender": SCENARIO + "senders = []\n",
    "a sender twice": SCENARIO + 'senders = ["a", "a"]\n',
    "unknown group of the workload": SCENARIO + 'groups = ["right"]\n',
    "negative size": SCENARIO + "size = -1\n",
    "enormous size": SCENARIO + "size = 1000000000\n",
    "sizes the wrong way round": SCENARIO + "size = [10, 5]\n",
    "three sizes": SCENARIO + "size = [1, 2, 3]\n",
    "unknown network": SCENARIO + '[network]\nmodel = "ether"\n',
    "negative loss": SCENARIO + "[network]\nloss = -0.1\n",
    "certain loss": SCENARIO + "[network]\nloss = 1.0\n",
    "loss in per cent": SCENARIO + "[network]\nloss = 5\n",
    "loss as text": SCENARIO + '[network]\nloss = "5%"\n',
    "loss not a number": SCENARIO + "[network]\nloss = nan\n",
    "negative delay": SCENARIO + "[network]\ndelay_us = -1\n",
    "delay as text": SCENARIO + '[network]\ndelay_us = "1ms"\n',
    "delays the wrong way round": SCENARIO + "[network]\ndelay_us = [5, 1]\n",
    "one delay of two": SCENARIO + "[network]\ndelay_us = [5]\n",
    "unknown delay shape": SCENARIO + '[network]\ndelay_us = { shape = "normal", low_us = 1 }\n',
    "delay without its least": SCENARIO + '[network]\ndelay_us = { shape = "exponential" }\n',
    "switched without a topology": SCENARIO + '[network]\nmodel = "switched"\n',
    "lossy without a topology": SCENARIO + '[network]\nmodel = "lossy"\n',
    "slow site that is not there": SCENARIO + "[network]\nreceive_us = { x = 5 }\n",
    "negative sync": SCENARIO + "[disk]\nsync_us = -1\n",
    "unknown option": SCENARIO + "[options]\nresend = 5\n",
    "option of a wrong type": SCENARIO + '[options]\nresend_us = "soon"\n',
    "option out of range": SCENARIO + "[options]\nwindow = 0\n",
    "a fault without a time": SCENARIO + '[[faults]]\ncrash = ["a"]\n',
    "a fault before the start": SCENARIO + '[[faults]]\nat_us = -1\ncrash = ["a"]\n',
    "a fault of nothing": SCENARIO + "[[faults]]\nat_us = 1\n",
    "a fault of two things": SCENARIO + '[[faults]]\nat_us = 1\ncrash = ["a"]\nheal = true\n',
    "a crash of nobody": SCENARIO + "[[faults]]\nat_us = 1\ncrash = []\n",
    "a crash of a stranger": SCENARIO + '[[faults]]\nat_us = 1\ncrash = ["x"]\n',
    "a crash as text": SCENARIO + '[[faults]]\nat_us = 1\ncrash = "a"\n',
    "a site on two sides": SCENARIO + '[[faults]]\nat_us = 1\npartition = [["a", "b"], ["b", "c"]]\n',
    "a flat partition": SCENARIO + '[[faults]]\nat_us = 1\npartition = ["a", "b"]\n',
    "a cut of one": SCENARIO + '[[faults]]\nat_us = 1\ncut = [["a"]]\n',
    "a cut from itself": SCENARIO + '[[faults]]\nat_us = 1\ncut = [["a", "a"]]\n',
    "healing that is false": SCENARIO + "[[faults]]\nat_us = 1\nheal = false\n",
    "a link without a topology": SCENARIO + '[[faults]]\nat_us = 1\nfail = ["l1"]\n',
    "a misspelt fault": SCENARIO + '[[faults]]\nat_us = 1\ncrsh = ["a"]\n',
    "a change of fixed groups": SCENARIO + '[[faults]]\nat_us = 1\nchange = { all = ["a"] }\n',
    "faults as a table": SCENARIO + "[faults]\nat_us = 1\n",
    "a topology that is not there": SCENARIO.replace("sites = 3", 'topology = "nowhere.toml"'),
    "topology and sites": 'topology = "nowhere.toml"\n' + SCENARIO,
    "unknown shape": SCENARIO.replace("sites = 3", 'topology = { shape = "torus", nodes = 3 }'),
    "a ring of none": SCENARIO.replace("sites = 3", 'topology = { shape = "ring", nodes = 0 }'),
    "a ring of too many": SCENARIO.replace("sites = 3", 'topology = { shape = "ring", nodes = 99999999999 }'),
    "a tree that loses all": SCENARIO.replace(
        "sites = 3", 'topology = { shape = "random_tree", nodes = 3, loss = 1.0 }'
    ),
}

BROKEN_TOPOLOGIES = {
    "no nodes": "nodes = []\n",
    "no name": "[[nodes]]\nkind = 'host'\n",
    "a name twice": "[[nodes]]\nname = 'a'\n[[nodes]]\nname = 'a'\n",
    "unknown kind": "[[nodes]]\nname = 'a'\nkind = 'hub'\n",
    "certain crash": "[[nodes]]\nname = 'a'\ncrash = 1.0\n",
    "crash not a number": "[[nodes]]\nname = 'a'\ncrash = nan\n",
    "a link to nowhere": "[[nodes]]\nname = 'a'\n[[links]]\nends = ['a', 'b']\n",
    "a link to itself": "[[nodes]]\nname = 'a'\n[[links]]\nends = ['a', 'a']\n",
    "a link of three": "[[nodes]]\nname = 'a'\n[[links]]\nends = ['a', 'b', 'c']\n",
    "negative cost": "[[nodes]]\nname = 'a'\n[[nodes]]\nname = 'b'\n[[links]]\nends = ['a', 'b']\ncost = -1.0\n",
    "infinite cost": "[[nodes]]\nname = 'a'\n[[nodes]]\nname = 'b'\n[[links]]\nends = ['a', 'b']\ncost = inf\n",
    "certain loss": "[[nodes]]\nname = 'a'\n[[nodes]]\nname = 'b'\n[[links]]\nends = ['a', 'b']\nloss = 1.0\n",
}

BROKEN_GROUPS = {
    "empty file": "",
    "no group": "[groups]\n",
    "an empty group": "[groups]\nalpha = []\n",
    "a site twice": "[groups]\nalpha = ['a', 'a']\n",
    "numbers": "[groups]\nalpha = [1]\n",
    "a group of text": "[groups]\nalpha = 'abc'\n",
    "another table": "[group]\nalpha = ['a']\n",
}

BINARY = {"random bytes": bytes(range(256)), "zeros": b"\0" * 4096, "cut utf-8": "sites = 3 # é".encode()[:-1]}


def refused(*words: str) -> str:
    """Run the command; it must refuse with one line, which is returned."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    message = err.getvalue()
    assert code == 2, (code, message)
    assert out.getvalue() == ""
    assert message.count("\n") == 1 and message.endswith("\n"), message
    assert "Traceback" not in message and len(message) < 1000
    return message


@pytest.mark.parametrize("name", BROKEN_SCENARIOS)
def test_broken_scenario(name: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(BROKEN_SCENARIOS[name])
    for verb in ("simulate", "explore"):
        assert "scenario.toml" in refused(verb, str(path)) or "nowhere.toml" in refused(verb, str(path))


@pytest.mark.parametrize("name", BROKEN_TOPOLOGIES)
def test_broken_topology(name: str, tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text(BROKEN_TOPOLOGIES[name])
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.replace("sites = 3", 'topology = "network.toml"'))
    assert "network.toml" in refused("simulate", str(scenario))


@pytest.mark.parametrize("name", BROKEN_GROUPS)
def test_broken_groups(name: str, tmp_path: Path) -> None:
    path = tmp_path / "groups.toml"
    path.write_text(BROKEN_GROUPS[name])
    assert "groups.toml" in refused("plan", "propagation", str(path))


@pytest.mark.parametrize("name", BINARY)
def test_binary_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes(BINARY[name])
    refused("simulate", str(path))


def test_json_scenario_that_is_not_json(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text("{" * 100_000)
    assert "expected JSON" in refused("simulate", str(path))


def test_a_zero_byte_in_a_name(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.replace("sites = 3", 'topology = "\\u0000"'))
    assert "expected the name of a file" in refused("simulate", str(path))


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    refused("simulate", str(tmp_path))
    refused("simulate", str(tmp_path / "missing.toml"))


def test_what_the_system_refuses_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    assert "taken" in refused("showcase", "--out", str(taken))
    refused("check", str(tmp_path / ("x" * 300)))


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_patience_that_is_no_time(seconds: str, tmp_path: Path) -> None:
    assert "patience" in refused("check", str(tmp_path), "--patience", seconds)


def test_nothing_is_left_behind_by_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(BROKEN_SCENARIOS["unknown protocol"])
    refused("simulate", str(path), "--trace", str(tmp_path / "out"))
    assert sorted(tmp_path.iterdir()) == [path]


def test_the_nearest_key_is_suggested(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(BROKEN_SCENARIOS["unknown key in a table"])
    assert "`network.los` (did you mean `loss`?)" in refused("simulate", str(path))


NOT_UTF_8 = "\udcff"  # how Python spells the byte 0xff of a name


def test_names_of_files_may_be_any_bytes(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """What can be done is done, and what cannot is told in one line."""
    folder = tmp_path / f"folder{NOT_UTF_8}"
    folder.mkdir()
    examples = Path(__file__).parents[2] / "examples"
    scenario = folder / f"{NOT_UTF_8}showcase.toml"
    scenario.write_bytes((examples / "showcase.toml").read_bytes())
    groups = folder / f"{NOT_UTF_8}figure-3.toml"
    groups.write_bytes((examples / "figure-3.toml").read_bytes())
    trace = folder / f"trace{NOT_UTF_8}"
    for words in (
        ["simulate", str(scenario), "--trace", str(trace)],
        ["check", str(trace), "--json"],
        ["check", str(trace / "trace.parquet")],
        ["plan", "propagation", str(groups)],
        ["keygen", str(folder / f"{NOT_UTF_8}.key")],
    ):
        assert main(words) == 0, words
    capsysbinary.readouterr()
    for words in (
        ["check", str(scenario)],
        ["check", str(folder / "none")],
        ["explore", str(scenario)],
        ["simulate", str(folder / "none.toml")],
        ["journal", str(folder)],
        ["scrub", str(folder)],
        ["doctor", str(scenario)],
        ["status", str(scenario), "--as", "a"],
        ["protocols", NOT_UTF_8],
        ["swarm", NOT_UTF_8],
        ["sweep", str(scenario), "--out", str(folder / "out")],
    ):
        assert main(words) == 2, words
        assert capsysbinary.readouterr().err.count(b"\n") == 1, words
    assert tocsin.simulate(scenario).trace["run"][0].as_py() == r"\xffshowcase-0"
