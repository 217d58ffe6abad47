"""The door's parts, each alone."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tocsin.core.errors import InputError
from tocsin.door.commands import Descriptor, read_command
from tocsin.door.history import History
from tocsin.door.publishing import Rows, answer_of
from tocsin.door.reading import Reading
from tocsin.door.rows import by_group, pieces, without_gaps
from tocsin.door.tokens import Tokens, read_tokens
from tocsin.door.window import Window
from tocsin.live.errors import Closed, TooOld
from tocsin.live.storage.holding import is_behind, places_of_cursors
from tocsin.traces.schema import STREAMED


def rows(positions: list[int], group: str = "all", size: int = 1) -> Any:
    found = [
        dict.fromkeys(STREAMED.names) | {"group": group, "position": each, "origin": "a", "payload": bytes(size)}
        for each in positions
    ]
    return pa.RecordBatch.from_pylist(found, schema=STREAMED)


def numbers(batches: list[Any] | None) -> list[int] | None:
    return None if batches is None else [each for batch in batches for each in batch["position"].to_pylist()]


def test_the_window_keeps_the_newest_and_says_what_it_lacks() -> None:
    window = Window(20_000)
    assert window.rows("all", 0) is None
    window.add("all", rows([3, 4, 5]))
    window.add("all", rows([6, 7]))
    assert numbers(window.rows("all", 4)) == [4, 5, 6, 7]
    assert numbers(window.rows("all", 6)) == [6, 7]
    assert numbers(window.rows("all", 8)) == []
    assert window.rows("all", 2) is None
    window.add("all", rows([8], size=30_000))
    assert numbers(window.rows("all", 8)) == [8] and window.rows("all", 7) is None
    window.add("all", rows([20]))  # what lies between was missed here
    assert window.rows("all", 8) is None and numbers(window.rows("all", 20)) == [20]


def test_rows_are_cut_by_groups_gaps_and_size() -> None:
    assert [numbers([each]) for each in without_gaps(rows([1, 2, 5, 6, 9]))] == [[1, 2], [5, 6], [9]]
    table = pa.Table.from_batches([rows([1], "g"), rows([7], "h"), rows([2], "g")]).combine_chunks().to_batches()[0]
    assert {group: numbers([each]) for group, each in by_group(table).items()} == {"g": [1, 2], "h": [7]}
    cut = pieces(rows(list(range(1000))), 100, 1 << 20)
    assert numbers(cut) == list(range(1000)) and max(each.num_rows for each in cut) <= 100
    assert [each.num_rows for each in pieces(rows([1, 2], size=5000), 100, 100)] == [1, 1]


def test_runs_of_a_batch() -> None:
    def group_number(name: str | None) -> int:
        return {None: 0, "all": 0, "alpha": 1}[name]

    described = Rows(Descriptor(producer="p", number=10), group_number, 100)
    assert [(run.producer, run.number, len(run.messages)) for run in described.runs(batch(payload=[b"a", b"b"]))] == [
        ("p", 10, 2)
    ]
    assert [run.number for run in described.runs(batch(payload=[b"c"]))] == [12]
    mixed = batch(
        payload=[b"a", b"b", b"c", b"d", b"e"],
        group=["all", "all", "alpha", None, None],
        producer=["p", "p", "p", None, None],
        number=[1, 2, 3, None, None],
    )
    plain = Rows(Descriptor(), group_number, 100)
    found = [(run.group, run.producer, run.number, run.messages) for run in plain.runs(mixed)]
    assert found == [(0, "p", 1, [b"a", b"b"]), (1, "p", 3, [b"c"]), (0, "", 0, [b"d", b"e"])]


def batch(**columns: list[Any]) -> Any:
    kinds = {"payload": pa.binary(), "group": pa.string(), "producer": pa.string(), "number": pa.int64()}
    return pa.record_batch([pa.array(values, kinds[name]) for name, values in columns.items()], list(columns))


def test_messages_that_come_while_the_start_is_looked_for() -> None:
    """Nothing was in the files when they were read, and 43 messages are told of right after that: they are read."""
    told = SimpleNamespace(positions=[0])

    class Files:
        def first(self, group: str) -> int | None:
            told.positions = [43]
            return None

    link = SimpleNamespace(settings=SimpleNamespace(groups=("all",)), told=lambda: told)
    reading = Reading(link, Files(), None, None)  # type: ignore[arg-type]
    assert reading.first_position("all") == 0


def test_answers() -> None:
    assert json.loads(answer_of([(4, 2), (6, 1)])) == {"positions": [4, 6]}
    assert json.loads(answer_of([(4, 2), (9, 1)])) == {"positions": [4, 9], "runs": [[4, 2], [9, 1]]}


def test_commands_say_what_is_wrong() -> None:
    assert read_command(b"", Descriptor, "descriptor").until == "ordered"
    with pytest.raises(InputError, match="both or neither"):
        read_command(b'{"producer": "p"}', Descriptor, "descriptor")
    with pytest.raises(InputError, match="group, producer, number, until"):
        read_command(b'{"grup": 1}', Descriptor, "descriptor")


def test_token_files(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("# who\n\na one-token read\nb two-token write\n")
    tokens = Tokens(path)
    assert [(each.name, each.may_write) for each in read_tokens(path)] == [("a", False), ("b", True)]
    found = tokens.find("two-token")
    assert found is not None and found.name == "b" and tokens.find("three") is None
    assert b"two-token" not in b"".join(each.digest for each in read_tokens(path))
    for wrong in ("a b", "a b admin", "a sha256:12 read", "a b c d"):
        path.write_text(wrong)
        with pytest.raises(InputError, match="line 1"):
            read_tokens(path)


def test_retention_waits_for_consumers_at_doors() -> None:
    [place] = places_of_cursors({0: {"billing": 50, "audit": 20}}, ("all", "alpha"))
    assert not is_behind({"all": 21, "alpha": 9}, place)
    assert is_behind({"all": 19, "alpha": 9_999}, place)
    [beginning] = places_of_cursors({0: {"new": 0}}, ("all",))
    assert not is_behind({"all": 0}, beginning)


def test_a_client_needs_no_members_parts() -> None:
    heavy = [
        "cryptography",
        "uvloop",
        "xxhash",
        "rich",
        "rustworkx",
        "pyspark",
        "tocsin.live.member",
        "tocsin.protocols.registry",
    ]
    program = (
        f"import sys, tocsin; tocsin.connect('grpc://h:1', token='t'); print([n for n in {heavy} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    light = "import sys, tocsin; tocsin.connect; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", light], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_client_says_what_is_wrong_with_its_call() -> None:
    for wrong in ("http://h:1", "grpc://h", "h:1", "grpc://h:x", ""):
        with pytest.raises(InputError, match="expected grpc://HOST:PORT"):
            tocsin.connect(wrong)
    with pytest.raises(InputError, match="hexadecimal"):
        tocsin.connect("grpc+tls://h:1", fingerprint="abc")
    with pytest.raises(InputError, match="ASCII"):
        tocsin.connect("grpc://h:1", token="é")
    client = tocsin.connect("grpc://127.0.0.1:1", token="t", timeout=0.2)
    for call in (
        lambda: client.publish(b"one"),  # type: ignore[arg-type]
        lambda: client.publish(["text"]),  # type: ignore[list-item]
        lambda: client.publish([b"x"], producer="p"),
        lambda: client.publish([b"x"], until="now"),  # type: ignore[arg-type]
        lambda: next(client.read(after=3, consumer="c")),
    ):
        with pytest.raises(InputError):
            call()
    with pytest.raises(tocsin.EnvironmentMissing, match="nobody opens"):
        client.groups()
    assert client.publish([]) == []


class Told:
    """A link, a tail and files that say what they are told to."""

    def __init__(self, told: int, window: Window, older: list[Any]) -> None:
        self.positions = [told]
        self.is_closing = threading.Event()
        self._older = older
        self._window = window
        self.settings = SimpleNamespace(groups=("all",), site="a", others=("grpc://h:1",))

    def reading(self) -> Reading:
        return Reading(self, self, self._window, self)  # type: ignore[arg-type]

    def told(self) -> "Told":
        return self

    def count(self) -> int:
        return 0

    def wait(self, count: int, seconds: float) -> None:
        """Nothing comes."""

    def check(self, is_order_needed: bool) -> None:
        """The member is there."""

    def read(self, group: str, position: int) -> Any:
        return (each for each in self._older if each["position"][-1].as_py() >= position)


def read(told: Told, position: int, limit: int | None = None, follows: bool = False) -> list[int] | None:
    return numbers(list(told.reading().read("all", position, limit, follows, lambda: False)))


def test_readers_go_from_files_to_the_window_and_see_only_what_was_told() -> None:
    window = Window(1 << 20)
    for first in (10, 12, 14, 16):
        window.add("all", rows([first, first + 1]))
    older = [rows(list(range(4))), rows(list(range(4, 13)))]
    for told in range(18):
        assert read(Told(told, window, older), 0) == list(range(told))  # also in the middle of a batch, or between two
    assert read(Told(18, window, older), 3, limit=9) == list(range(3, 12))
    assert read(Told(18, window, older), 15) == [15, 16, 17]
    assert read(Told(18, window, older), 40) == []


def test_what_is_not_kept_is_told() -> None:
    window = Window(1 << 20)
    with pytest.raises(TooOld, match="positions 2 to 4"):
        read(Told(9, window, [rows([5, 6, 7, 8])]), 2)


def test_a_closing_door_says_where_to_go_on() -> None:
    told = Told(2, Window(1 << 20), [rows([0, 1])])
    told.is_closing.set()
    following = told.reading().read("all", 0, None, True, lambda: False)
    assert numbers([next(following)]) == [0, 1]
    with pytest.raises(Closed, match=r"after 1: grpc://h:1"):
        next(following)


def test_a_file_that_leaves_the_log_while_files_are_listed_is_not_overlooked(tmp_path: Path) -> None:
    """It is in the log, or in the journal, or in both; whoever looks at the log last may see it in neither."""

    class Files:
        """Of both folders; file 0 goes from the log to the journal after the first look at either."""

        def __init__(self) -> None:
            self._looks = 0

        def files(self) -> list[int]:
            self._looks += 1
            return [0, 1] if self._looks == 1 else [1]

        def names(self, folder: Path) -> list[str]:
            self._looks += 1
            return [] if self._looks == 1 else ["0000000000.arrow"]

    for position, file in ((0, 0), (150, 1)):
        history = History(tmp_path, ("all",))
        history._log = history._disk = Files()  # type: ignore[assignment]
        history._begins = lambda file, group, number: 100 * file  # type: ignore[method-assign]
        assert history._file_of("all", position) == file
