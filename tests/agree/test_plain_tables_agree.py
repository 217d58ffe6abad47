"""The quick reader of large TOML files against the standard one."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.core.files import PLAIN_TABLES_LENGTH_MIN, read_document
from tocsin.core.generators import random_connected, vary
from tocsin.core.plain_tables import read_plain_tables
from tocsin.core.rng import Rng

TRIPLE = '"' * 3
FRAGMENTS = st.sampled_from(
    [
        *"\"\\aé \t\n#=[],x-_10.+'{}\x00\x7f",
        *("\r\n", "[[", "]]", "e5", "inf", "nan", "true", "'''", TRIPLE, "1_000", "0x1", "[[t]]\n", "[[u]]\n"),
        *("x = 1\n", 'y = "text"\n', 'z = ["a", "b"]\n', "[t]\n", "w = -0.5e3 # why\n", "v = 1979-05-27\n"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=14).map("".join))
def test_what_it_reads_the_standard_reader_reads_alike(text: str) -> None:
    plain = read_plain_tables(text)
    if plain is not None:
        standard = tomllib.loads(text)
        assert plain == standard
        assert repr(plain) == repr(standard)  # 1 and 1.0 are equal and not alike


KEYS = st.sampled_from("abcd")
WORDS = st.sampled_from(["", "é x", "1"])
LINES = st.lists(
    st.one_of(
        st.just("[[nodes]]"),
        st.just("[[links]]"),
        st.builds("{} = {!r}".format, KEYS, st.floats(allow_nan=False, allow_infinity=False)),
        st.builds("{}={}".format, KEYS, st.integers(-(10**17), 10**17)),
        st.builds('  {} = "{}"  # é'.format, KEYS, WORDS),
        st.builds('{} = [ "{}" ,"n2"]'.format, KEYS, WORDS),
        st.just(""),
        st.just("# a comment"),
    ),
    max_size=20,
).map("\n".join)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_it_reads_every_plain_file(text: str) -> None:
    try:
        standard = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert read_plain_tables(text) is None
        return
    keys_before_a_header = any(name in standard for name in "abcd")
    assert (read_plain_tables(text) is None) == keys_before_a_header
    if not keys_before_a_header:
        assert read_plain_tables(text) == standard


@pytest.mark.parametrize("broken", ["", "[[links]]\nends = [\n", "name = 'x'\n"])
def test_large_files_pass_by_it_and_broken_ones_get_the_standard_error(broken: str, tmp_path: Path) -> None:
    topology = random_connected(2000, 16_000, Rng(1))
    vary(topology, Rng(2), loss=(0.0, 0.5))
    names = topology.node_names
    lines = [f'[[nodes]]\nname = "{name}"\n' for name in names]
    for link in range(topology.link_count()):
        ends = (names[topology.link_first[link]], names[topology.link_second[link]])
        lines.append(f'[[links]]\nends = ["{ends[0]}", "{ends[1]}"]\nloss = {topology.link_loss[link]}\n')
    text = "".join(lines) + broken
    assert len(text) >= PLAIN_TABLES_LENGTH_MIN
    path = tmp_path / "large.toml"
    path.write_text(text)
    if broken == "[[links]]\nends = [\n":
        with pytest.raises(Exception, match=r"large\.toml: expected TOML"):
            read_document(path)
    else:
        assert read_document(path) == tomllib.loads(text)
    assert (read_plain_tables(text) is None) == bool(broken)
