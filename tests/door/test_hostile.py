"""Who may not come in, and what nobody may send: clear errors, bounded memory, and the member goes on undisturbed."""

import contextlib
import datetime
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.flight as flight
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import tocsin
from tests.door.door_groups import READER, WRITER, door_tables, payloads, wait_open
from tests.door.test_rounds import door_process
from tests.live.harness import LiveGroup, wait_until
from tests.live.live_groups import write_group
from tocsin.door.certificates import fingerprint
from tocsin.door.limits import CALLS_MAX

CLI = (sys.executable, "-W", "error", "-m", "tocsin.cli.main")
PROCESS = '\n[journal]\ndurability = "process"\n'
Place = tuple[LiveGroup, str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A member alone, and its door."""
    folder = tmp_path_factory.mktemp("hostile")
    tables, [url] = door_tables(folder, "a")
    with LiveGroup(folder, "counter_token", "a", tail=tables + PROCESS) as group:
        group.start_all()
        wait_open([url])
        yield group, url


def raw(url: str, token: str | None) -> tuple[Any, Any]:
    headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    return flight.FlightClient(url), flight.FlightCallOptions(timeout=30, headers=headers)


def goes_on(url: str) -> None:
    """The member takes and gives as before."""
    with tocsin.connect(url, token=WRITER) as client:
        [position] = client.publish([b"still here"])
        assert payloads(client, after=position - 1, limit=1) == [b"still here"]


def test_no_token_and_wrong_tokens(place: Place) -> None:
    group, url = place
    for token in (None, "", "wrong", WRITER[:-1], WRITER + "x"):
        client, options = raw(url, token)
        with pytest.raises(flight.FlightUnauthenticatedError, match="expected a token"):
            list(client.do_action(flight.Action("groups", b""), options))
        with pytest.raises(flight.FlightUnauthenticatedError):
            client.do_get(flight.Ticket(b"{}"), options).read_all()
        client.close()
    with tocsin.connect(url, token=READER) as reader, pytest.raises(tocsin.InputError, match="may read, not write"):
        reader.publish([b"no"])
    errors = group.errors("a")
    assert "wrong token" in errors and WRITER not in errors and READER not in errors
    goes_on(url)


def test_wrong_tokens_are_slowed_down(place: Place) -> None:
    _, url = place
    client, options = raw(url, "guess")
    began = time.monotonic()
    for _ in range(14):
        with pytest.raises(flight.FlightUnauthenticatedError):
            list(client.do_action(flight.Action("groups", b""), options))
    assert time.monotonic() - began > 1.0
    client.close()
    goes_on(url)


def test_tokens_are_read_again_and_may_be_hashed(place: Place) -> None:
    group, url = place
    path = group.folder / "door.tokens"
    before = path.read_text()
    path.write_text(before + f"new sha256:{hashlib.sha256(b'the new token').hexdigest()} write\n")
    with tocsin.connect(url, token="the new token") as client:
        wait_until("the new token counts", lambda: _works(client), 10)
        path.write_text(before)
        wait_until("it counts no more", lambda: not _works(client), 10)
        path.write_text("not a line\n")  # what cannot be read changes nothing
    goes_on(url)
    path.write_text(before)


def _works(client: tocsin.Client) -> bool:
    try:
        client.groups()
    except tocsin.InputError:
        return False
    return True


def test_junk_on_the_port(place: Place) -> None:
    _, url = place
    port = int(url.rpartition(":")[2])
    for junk in (
        b"\0" * 100,
        b"GET / HTTP/1.1\r\n\r\n",
        os.urandom(10_000),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(999),
    ):
        with socket.create_connection(("127.0.0.1", port)) as sock, contextlib.suppress(OSError):
            sock.sendall(junk)
            sock.settimeout(0.2)
            sock.recv(100)
    goes_on(url)


@pytest.mark.parametrize(
    "command",
    [
        b"{",
        b"[]",
        b'{"afte": 3}',
        b'{"after": -2}',
        b'{"group": "nobody"}',
        b'{"limit": -1}',
        b"\xff",
        b'{"consumer": "\\u0006"}',
        b'{"consumer": "c", "after": 3}',
        b"9" * 70_000,
        b'{"group": "' + b"x" * (1 << 20) + b'"}',
    ],
    ids=range(11),
)
def test_tickets_that_are_none(place: Place, command: bytes) -> None:
    client, options = raw(place[1], READER)
    with pytest.raises(flight.FlightServerError, match="InputError"):
        client.do_get(flight.Ticket(command), options).read_all()
    client.close()


@pytest.mark.parametrize(
    "batch",
    [
        pa.record_batch([[1, 2]], ["payload"]),
        pa.record_batch([["text"]], ["payload"]),
        pa.record_batch([[b"x"]], ["body"]),
        pa.record_batch([pa.array([b"x", None], pa.binary())], ["payload"]),
        pa.record_batch([[b"x"], [b"y"]], ["payload", "payload"]),
        pa.record_batch([[b"x"], ["a"]], ["payload", "colour"]),
        pa.record_batch([[b"x"], ["p"]], ["payload", "producer"]),
        pa.record_batch([[b"x"], ["p"], [-1]], ["payload", "producer", "number"]),
        pa.record_batch([[b"x"], ["\x06me"], [1]], ["payload", "producer", "number"]),
        pa.record_batch([[b"x"], ["nobody"]], ["payload", "group"]),
    ],
)
def test_batches_with_wrong_columns(place: Place, batch: Any) -> None:
    client, options = raw(place[1], WRITER)
    writer, reader = client.do_put(flight.FlightDescriptor.for_command(b"{}"), batch.schema, options)
    writer.write_batch(batch)
    told = json.loads(reader.read().to_pybytes())
    assert told["error"] == "InputError" and told["text"]
    with pytest.raises(flight.FlightServerError, match="InputError"):
        writer.close()
    client.close()


@pytest.mark.parametrize("size", [64 << 20, pytest.param(1 << 30, marks=pytest.mark.long)])
def test_a_descriptor_of_a_gigabyte(place: Place, size: int) -> None:
    """It ends the door's process at the worst, whose memory is bounded; the member notices nothing."""
    group, url = place
    member = psutil.Process(group.processes["a"].pid)
    before = member.memory_info().rss
    client, options = raw(url, WRITER)
    with pytest.raises((flight.FlightError, pa.ArrowException)):
        huge = flight.FlightDescriptor.for_command(b"{" + b" " * size + b"}")
        writer, _ = client.do_put(huge, pa.schema([("payload", pa.binary())]), options)
        writer.write_batch(pa.record_batch([[b"x"]], ["payload"]))
        writer.close()
    client.close()
    assert member.memory_info().rss - before < 64 << 20
    goes_on(url)


def test_more_calls_than_the_limit(place: Place) -> None:
    _, url = place
    client, options = raw(url, READER)
    ticket = flight.Ticket(b'{"after": "now", "follow": true}')
    following: list[Any] = []
    with pytest.raises(flight.FlightUnavailableError, match="CALLS_MAX"):
        for _ in range(CALLS_MAX + 1):
            following.append(client.do_get(ticket, options))
    assert len(following) > CALLS_MAX - 16  # calls of the tests before may not have ended
    for reader in following:
        reader.cancel()
    client.close()
    goes_on(url)


def test_a_reader_that_never_reads_holds_up_nobody(place: Place) -> None:
    group, url = place
    client, options = raw(url, READER)
    idle = client.do_get(flight.Ticket(b'{"after": "start", "follow": true}'), options)
    process = door_process(group, "a")
    assert process is not None
    before = psutil.Process(process).memory_info().rss
    with tocsin.connect(url, token=WRITER) as publisher:
        for _ in range(12):
            publisher.publish([os.urandom(8192)] * 1024)  # 100 MB in all
    assert psutil.Process(process).memory_info().rss - before < 400 << 20
    idle.cancel()
    client.close()
    goes_on(url)


def test_a_client_that_vanishes_frees_its_place(place: Place) -> None:
    _, url = place
    program = (
        "import pyarrow.flight as f, sys\n"
        f"o = f.FlightCallOptions(headers=[(b'authorization', b'Bearer {READER}')])\n"
        f'c = f.FlightClient({url!r}); t = f.Ticket(b\'{{"after": "now", "follow": true}}\')\n'
        f"r = [c.do_get(t, o) for _ in range({CALLS_MAX - 8})]; print('there', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"there\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()
    client, options = raw(url, READER)
    ticket = flight.Ticket(b'{"after": "now", "follow": true}')
    wait_until("there is room again", lambda: _has_room(client, ticket, options), 20)
    client.close()


def _has_room(client: Any, ticket: Any, options: Any) -> bool:
    readers: list[Any] = []
    try:
        for _ in range(CALLS_MAX - 8):
            readers.append(client.do_get(ticket, options))
    except flight.FlightUnavailableError:
        return False
    finally:
        for reader in readers:
            reader.cancel()
    return True


def test_a_door_that_ends_is_opened_again_and_the_member_goes_on(place: Place) -> None:
    group, url = place
    process = door_process(group, "a")
    assert process is not None
    os.kill(process, signal.SIGKILL)
    wait_open([url])
    assert door_process(group, "a") != process
    goes_on(url)


def expired_pair(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tocsin-door")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=9))
        .not_valid_after(now - datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("tocsin-door")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "door.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "door.key").write_bytes(private)


def test_tls_by_fingerprint(tmp_path: Path) -> None:
    made = subprocess.run(
        [*CLI, "keygen", str(tmp_path / "door"), "--door"], capture_output=True, text=True, check=True
    )
    printed = made.stdout.strip()
    assert (tmp_path / "door.key").stat().st_mode & 0o777 == 0o600
    tables, [url] = door_tables(tmp_path, "a", tls=True)
    with LiveGroup(tmp_path, "counter_token", "a", tail=tables + PROCESS) as group:
        group.start_all()
        wait_open([url], fingerprint=printed)
        with tocsin.connect(url, token=WRITER, fingerprint=printed.lower().replace(":", "")) as client:
            assert client.publish([b"sealed"]) == [0]
        with (
            tocsin.connect(url, token=WRITER, fingerprint="00" * 32) as client,
            pytest.raises(tocsin.InputError, match="another certificate"),
        ):
            client.groups()
        with (
            tocsin.connect(url, token=WRITER, timeout=0.5) as client,
            pytest.raises(tocsin.EnvironmentMissing, match="not trusted"),
        ):
            client.groups()
        with (
            tocsin.connect(url.replace("+tls", ""), token=WRITER, timeout=0.5) as client,
            pytest.raises(tocsin.TocsinError),
        ):
            client.groups()


def test_an_expired_certificate(tmp_path: Path) -> None:
    expired_pair(tmp_path)
    tables, [url] = door_tables(tmp_path, "a", tls=True)
    known = fingerprint((tmp_path / "door.pem").read_bytes())
    with LiveGroup(tmp_path, "counter_token", "a", tail=tables + PROCESS) as group:
        group.start_all()
        wait_until("it is warned of", lambda: "expired" in group.errors("a"))
        with (
            tocsin.connect(url, token=WRITER, fingerprint=known, timeout=5) as client,
            pytest.raises(tocsin.EnvironmentMissing, match="expired on"),
        ):
            client.groups()
        group.send("a", ["the member goes on"])
        group.wait_delivered(1)


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [
        ('[door]\na = "10.1.2.3:7501"\n[door_access]\ntoken_file = "t"', "of this machine alone"),
        ('[door]\na = "127.0.0.1:7501"', "door_access"),
        ('[door]\na = "127.0.0.1:7501"\n[door_access]\nplaintext = true', "token_file"),
        ('[door]\nx = "127.0.0.1:7501"\n[door_access]\ntoken_file = "t"', "door.x"),
        ('[door]\na = "127.0.0.1:7501"\n[door_access]\ntoken_file = "t"\ntls_cert = "c"', "both or neither"),
        ('[door]\na = "127.0.0.1:7501"\n[door_access]\ntoken_file = "missing"', "missing"),
        ('[door]\na = "127.0.0.1:7501"\n[door_access]\ntoken_fle = "t"', "token_fle"),
    ],
)
def test_group_files_that_are_wrong(tmp_path: Path, tables: str, wrong: str) -> None:
    path = write_group(tmp_path, "counter_token", "a", tail=tables)
    done = subprocess.run([*CLI, "join", str(path), "--as", "a"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and wrong in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_protocols_without_a_common_order_have_no_door(tmp_path: Path) -> None:
    tables, _ = door_tables(tmp_path, "a")
    path = write_group(tmp_path, "ack_all", tail=tables)
    with pytest.raises(tocsin.InputError, match="see counter_token"):
        tocsin.join(path, "a")


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    tables, [url] = door_tables(tmp_path, "a")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(url.rpartition(":")[2])))
        taken.listen()
        path = write_group(tmp_path, "counter_token", "a", tail=tables)
        done = subprocess.run([*CLI, "join", str(path), "--as", "a"], capture_output=True, text=True, check=False)
        assert done.returncode == 3 and "choose another port" in done.stderr


def test_threads_of_one_client(place: Place) -> None:
    """Many threads use one client."""
    _, url = place
    with tocsin.connect(url, token=WRITER) as client:
        found: list[int] = []
        threads = [threading.Thread(target=lambda: found.extend(client.publish([b"t"] * 50))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(found)) == 400
