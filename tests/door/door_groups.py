"""Groups with doors for tests, of real processes or in the test's own loop."""

import time
from pathlib import Path

import tocsin
from tests.live.live_groups import free_ports

READER, WRITER = "reader-token-0123456789", "writer-token-0123456789"


def door_tables(folder: Path, sites: str = "abc", tls: bool = False) -> tuple[str, list[str]]:
    """The tables of a group's file for doors at these sites, and their addresses; their tokens are written."""
    ports = free_ports(len(sites))
    (folder / "door.tokens").write_text(f"# name token right\nr {READER} read\nw {WRITER} write\n")
    lines = ["[door]", *(f'{site} = "127.0.0.1:{port}"' for site, port in zip(sites, ports, strict=True))]
    lines += ["[door_access]", 'token_file = "door.tokens"']
    if tls:
        lines += ['tls_cert = "door.pem"', 'tls_key = "door.key"']
    scheme = "grpc+tls" if tls else "grpc"
    return "\n".join(lines), [f"{scheme}://127.0.0.1:{port}" for port in ports]


def wait_open(urls: list[str], token: str = WRITER, fingerprint: str | None = None, seconds: float = 30.0) -> None:
    """Until every door takes part in the order."""
    for url in urls:
        with tocsin.connect(url, token=token, fingerprint=fingerprint, timeout=seconds) as client:
            client.consumers()


def positions(client: "tocsin.Client", **how: object) -> list[int]:
    return [position for batch in client.read(**how) for position in batch.column("position").to_pylist()]  # type: ignore[arg-type]


def payloads(client: "tocsin.Client", **how: object) -> list[bytes]:
    return [payload for batch in client.read(**how) for payload in batch.column("payload").to_pylist()]  # type: ignore[arg-type]


def wait(seconds: float) -> None:
    """For what cannot be waited for otherwise: a time that must pass."""
    time.sleep(seconds)
