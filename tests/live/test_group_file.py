"""A group's file: what is taken, and what is refused in one line that names the cure."""

import os
from pathlib import Path

import pytest

from tests.live.live_groups import write_group
from tocsin.core.errors import EnvironmentMissing, InputError, TocsinError
from tocsin.live.group_config import read_group
from tocsin.live.wire.keys import new_key, read_keys, write_keys

GOOD = """
name = "orders"
protocol = "ack_all"
key_file = "orders.key"
[sites]
a = "127.0.0.1:7401"
b = "127.0.0.1:7402"
"""


def test_names_become_numbers(tmp_path: Path) -> None:
    path = tmp_path / "g.toml"
    path.write_text(GOOD + '[groups]\nx = ["b", "a"]\ny = ["b"]\n[options]\nwindow = 9\n')
    group = read_group(path)
    assert group.sites == ("a", "b") and group.site("b") == 1
    assert group.group_names == ("x", "y") and group.groups == ((0, 1), (1,))
    assert group.addresses == (("127.0.0.1", 7401), ("127.0.0.1", 7402))
    assert group.key_file == tmp_path / "orders.key" and group.data_dir == tmp_path / "data"
    assert group.founders == (0, 1)
    with pytest.raises(InputError, match="no site `aa`"):
        group.site("aa")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('protocol = "ack_all"', 'protocol = "ack_al"', "did you mean `ack_all`"),
        ('key_file = "orders.key"', "", "tocsin keygen"),
        ('key_file = "orders.key"', 'key_file = "k"\nplaintext = true', "found both"),
        ('key_file = "orders.key"', "keyfile = 1", "did you mean `key_file`"),
        ('"127.0.0.1:7402"', '"127.0.0.1:7401"', "a different address for each site"),
        ('"127.0.0.1:7402"', '"127.0.0.1"', "expected host:port"),
        ('"127.0.0.1:7402"', '"127.0.0.1:99999"', "port of 1 to 65535"),
        ('"127.0.0.1:7402"', '"[::1]:7402"', "one IP version"),
        ('b = "127.0.0.1:7402"', 'b = "127.0.0.1:7402"\n[groups]\nx = ["z"]', "expected known sites, found `z`"),
        ('b = "127.0.0.1:7402"', 'b = "127.0.0.1:7402"\n[options]\nwindo = 1', "did you mean `window`"),
        ('b = "127.0.0.1:7402"', '"../b" = "127.0.0.1:7402"', "usable for a folder"),
        ('protocol = "ack_all"', 'protocol = "ack_all"\nfounders = ["q"]', "expected names of sites"),
        ('protocol = "ack_all"', 'protocol = "ack_all"\nmulticast = "10.0.0.1:7"', "IPv4 multicast address"),
        ('protocol = "ack_all"', 'protocol = "ack_all"\nmtu = 10', "mtu"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "g.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=says) as caught:
        read_group(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_key_files(tmp_path: Path) -> None:
    path = tmp_path / "k"
    keys = [new_key(), new_key()]
    write_keys(path, keys, replace=False)
    assert read_keys(path) == keys
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="exists already"):
        write_keys(path, keys, replace=False)
    write_keys(path, keys[:1], replace=True)
    assert read_keys(path) == keys[:1]
    os.chmod(path, 0o640)
    with pytest.raises(EnvironmentMissing, match="mode 0640; chmod 600"):
        read_keys(path)
    with pytest.raises(EnvironmentMissing, match="tocsin keygen"):
        read_keys(tmp_path / "none")
    for text in ("", "tocsin-key-1:AAAA\n", "what\n"):
        path.write_text(text)
        os.chmod(path, 0o600)
        with pytest.raises(TocsinError, match="expected"):
            read_keys(path)


def test_settings_tell_files_apart_by_name(tmp_path: Path) -> None:
    group = read_group(write_group(tmp_path, "counter_token"))
    (tmp_path / "more").mkdir()
    other = read_group(
        write_group(tmp_path / "more", "counter_token", "abcd", tail="[options]\nreissue_us = 30_000\nreissues = 4")
    )
    ours, theirs = group.settings(), other.settings()
    assert {name for name in ours | theirs if ours.get(name) != theirs.get(name)} == {
        "founders",  # and not "groups.all": it is of all, however many they become
        "options.reissue_us",  # the other is as usual, and says nothing
    }
