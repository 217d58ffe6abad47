"""A door as its clients meet it: publish, read, consumers, the command line, TLS; real members, real processes."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as flight
import pytest

import tocsin
from tests.door.door_groups import READER, WRITER, door_tables, payloads, positions, wait_open
from tests.live.harness import LiveGroup
from tocsin.traces.schema import STREAMED

CLI = (sys.executable, "-W", "error", "-m", "tocsin.cli.main")


class Group:
    """Three members with doors, for all tests of this file."""

    def __init__(self, live: LiveGroup, urls: list[str]) -> None:
        self.live = live
        self.urls = urls


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    folder = tmp_path_factory.mktemp("doors")
    tables, urls = door_tables(folder)
    with LiveGroup(folder, "counter_token", tail=tables + '\n[journal]\ndurability = "process"\n') as live:
        live.start_all()
        wait_open(urls)
        yield Group(live, urls)


@pytest.fixture
def client(group: Group) -> Iterator[tocsin.Client]:
    with tocsin.connect(group.urls, token=WRITER) as found:
        yield found


def raw(url: str, token: str = WRITER) -> tuple[flight.FlightClient, flight.FlightCallOptions]:
    return flight.FlightClient(url), flight.FlightCallOptions(
        timeout=30, headers=[(b"authorization", f"Bearer {token}".encode())]
    )


def test_what_is_published_is_read_at_every_door_alike(group: Group, client: tocsin.Client) -> None:
    before = client.groups()[0]["next"]
    found = client.publish([b"one", b"two"], until="durable")
    assert found == [before, before + 1]
    [third] = client.publish([b"three"], producer="till-3", number=17)
    tables = []
    for url in group.urls:
        with tocsin.connect(url, token=READER) as reader:
            batches = list(reader.read(after=before - 1, limit=3, follow=True))
            assert all(batch.schema.equals(STREAMED) for batch in batches)
            tables.append(pa.Table.from_batches(batches).combine_chunks())
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])
    last = tables[0].to_pylist()[2]
    assert (last["position"], last["producer"], last["number"]) == (third, "till-3", 17)
    assert last["group"] == "all" and last["payload"] == b"three" and last["sent_us"] > 1_700_000_000_000_000


def test_a_number_is_delivered_once_through_whichever_door(group: Group) -> None:
    found = []
    for url in group.urls:
        with tocsin.connect(url, token=WRITER) as client:
            found.append(client.publish([b"a", b"b"], producer="once", number=5))
            assert client.last_number("once") == 6
            assert client.last_number("nobody") == -1
    assert found[0] == found[1] == found[2]


def test_a_consumer_goes_on_at_another_door(group: Group, client: tocsin.Client) -> None:
    client.publish([b"x"] * 10)
    with tocsin.connect(group.urls[0], token=READER) as one:
        first = positions(one, consumer="billing", limit=4)
        one.ack("billing", first[1])
    with tocsin.connect(group.urls[1], token=READER) as other:
        assert positions(other, consumer="billing", limit=1) == [first[2]]
        assert other.consumers()["billing"] == first[1]
        other.ack("billing", first[0])  # it never goes back
        assert other.consumers()["billing"] == first[1]
        with pytest.raises(tocsin.InputError, match="was delivered"):
            other.ack("billing", 1 << 40)
        other.forget("billing")
        assert "billing" not in other.consumers()
    assert not any("billing" in json.dumps(line) for line in group.live.lines("a"))  # members hear nothing of it


def test_large_messages_and_many(client: tocsin.Client) -> None:
    large = os.urandom(3 << 20)
    [position] = client.publish([large])
    assert payloads(client, after=position - 1, limit=1) == [large]
    many = [b"%d" % number for number in range(20_000)]
    found = client.publish(many)
    assert payloads(client, after=found[0] - 1, limit=len(many)) == many
    with pytest.raises(tocsin.TooLarge):
        client.publish([bytes((64 << 20) + 1)])


def test_following_hears_at_once_and_now_begins_now(client: tocsin.Client) -> None:
    following = client.read(after="now", follow=True, limit=1)
    found: list[bytes] = []
    reading = threading.Thread(target=lambda: found.extend(p for b in following for p in b["payload"].to_pylist()))
    reading.start()
    while not found:
        client.publish([b"news"])
        reading.join(0.05)
    assert found == [b"news"]


def test_async_client(group: Group) -> None:
    async def body() -> None:
        async with tocsin.aconnect(group.urls, token=WRITER) as client:
            [position] = await client.publish([b"async"])
            rows = [row async for batch in client.read(after=position - 1, limit=1) for row in batch.to_pylist()]
            assert rows[0]["payload"] == b"async"
            await client.ack("async", position)
            assert (await client.consumers())["async"] == position
            assert (await client.status())["site"] in "abc"

    asyncio.run(body())


def test_the_command_line(group: Group, tmp_path: Path) -> None:
    url = ",".join(group.urls)
    environment = {**os.environ, "TOCSIN_TOKEN": WRITER}
    sent = subprocess.run(
        [*CLI, "send", url, "--producer", "shell", "--number", "0"],
        input=b"line one\nline two\n",
        capture_output=True,
        env=environment,
        check=False,
    )
    assert sent.returncode == 0, sent.stderr
    last = int(sent.stdout)
    command = [*CLI, "read", url, "--after", str(last - 2), "--limit", "2", "--follow"]
    read = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert [json.loads(line)["payload"] for line in read.stdout.splitlines()] == ["line one", "line two"], read.stderr
    wrong = subprocess.run([*CLI, "read", url, "--token", "wrong"], capture_output=True, check=False)
    assert wrong.returncode == 2 and b"does not know this token" in wrong.stderr
    nobody = [*CLI, "read", "grpc://127.0.0.1:1", "--token", "x", "--timeout", "0.5"]
    missing = subprocess.run(nobody, capture_output=True, check=False)
    assert missing.returncode == 3 and b"nobody opens" in missing.stderr


def test_rows_of_flight_itself(group: Group) -> None:
    """What docs/door.md says, without our client."""
    client, options = raw(group.urls[0])
    schema = pa.schema([("payload", pa.binary()), ("producer", pa.string()), ("number", pa.int64())])
    command = json.dumps({"group": "all", "until": "durable"}).encode()
    writer, reader = client.do_put(flight.FlightDescriptor.for_command(command), schema, options)
    writer.write_batch(pa.record_batch([[b"p", b"q"], ["raw", "raw"], [3, 4]], schema=schema))
    first, last = json.loads(reader.read().to_pybytes())["positions"]
    assert last == first + 1
    writer.done_writing()
    writer.close()
    ticket = flight.Ticket(json.dumps({"group": "all", "after": first - 1, "limit": 2}).encode())
    assert client.do_get(ticket, options).read_all()["payload"].to_pylist() == [b"p", b"q"]
    told = next(iter(client.do_action(flight.Action("groups", b""), options))).body.to_pybytes()
    assert json.loads(told)[0]["next"] > last
    assert {each.type for each in client.list_actions(options)} >= {"status", "groups", "ack"}
    client.close()


def test_status_names_the_door(group: Group) -> None:
    status = group.live.status("a")
    assert status is not None and status["door"]["url"] == group.urls[0] and status["door"]["process"] > 0


def test_a_member_with_a_lost_disk_knows_cursors_and_sends_readers_elsewhere(tmp_path: Path) -> None:
    tables, urls = door_tables(tmp_path)
    with LiveGroup(tmp_path, "counter_token", tail=tables + '\n[journal]\ndurability = "process"\n') as live:
        live.start_all()
        live.wait_together()
        wait_open(urls)
        with tocsin.connect(urls[:2], token=WRITER) as client:
            found = client.publish([b"%d" % number for number in range(300)], producer="p", number=0)
            client.ack("billing", 99)
            live.kill("c")
            shutil.rmtree(live.data / "c")
            found += client.publish([b"%d" % number for number in range(300, 400)], producer="p", number=300)
        live.start("c")
        live.wait_answering("abc")
        live.wait_together()
        wait_open(urls[2:])
        with tocsin.connect(urls[2], token=WRITER, timeout=20) as client:
            assert client.consumers() == {"billing": 99}
            assert client.last_number("p") == 399
            assert client.publish([b"390", b"new"], producer="p", number=399)[0] == found[399]
        with tocsin.connect([urls[2], urls[0]], token=READER, timeout=20) as client:
            rows = payloads(client, consumer="billing", limit=300)
            assert rows == [b"%d" % number for number in range(100, 400)]
