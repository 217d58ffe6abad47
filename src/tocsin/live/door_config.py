"""`[door]` and `[door_access]` of a group's file: where members let in processes that are no members, and whom."""

import ipaddress
from pathlib import Path

import msgspec

from tocsin.core.config import Config, suggestion
from tocsin.core.errors import InputError
from tocsin.protocols.protocol import Protocol

Address = tuple[str, int]


class DoorAccess(Config, frozen=True):
    """`[door_access]`, the same at every member."""

    token_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    plaintext: bool = False  # without TLS also for others than this machine


class Doors(msgspec.Struct, frozen=True, kw_only=True):
    """Where the doors of a group are, and who may come in."""

    addresses: dict[str, Address]  # by site
    token_file: Path
    tls_cert: Path | None  # None: no TLS
    tls_key: Path | None

    def url(self, site: str) -> str:
        host, port = self.addresses[site]
        named = f"[{host}]" if ":" in host else host
        return f"grpc{'+tls' if self.tls_cert is not None else ''}://{named}:{port}"


def resolve_doors(
    addresses: dict[str, Address], access: DoorAccess | None, protocol: Protocol, sites: tuple[str, ...], folder: Path
) -> Doors | None:
    """Check both tables; what is wrong is an InputError that begins with the key. None: no member has a door."""
    for site in addresses:
        if site not in sites:
            raise InputError(f"`door.{site}`: expected the name of a site{suggestion(site, list(sites))}")
    if access is None or not addresses:
        if addresses:
            raise InputError("`door_access`: expected `token_file` in it, beside [door], found no such table")
        return None
    if not protocol.has_common_order():
        raise InputError(
            f"`door`: {protocol.name} has no common order that is never taken back, and readers at doors count in one; "
            "see counter_token"
        )
    if access.token_file is None:
        raise InputError("`door_access.token_file`: expected a file with lines NAME TOKEN read|write, found none")
    if (access.tls_cert is None) != (access.tls_key is None):
        raise InputError("`door_access`: expected `tls_cert` and `tls_key`, both or neither (tocsin keygen --door)")
    if access.tls_cert is not None and access.plaintext:
        raise InputError("`door_access.plaintext`: expected no TLS beside it, found `tls_cert`")
    if access.tls_cert is None and not access.plaintext:
        far = [site for site, (host, _) in addresses.items() if not _is_loopback(host)]
        if far:
            raise InputError(
                f"`door.{far[0]}`: expected an address of this machine alone (127.0.0.1), found "
                f"{addresses[far[0]][0]}; give `tls_cert` and `tls_key` (tocsin keygen --door), or `plaintext = true` "
                "to say that anyone on the network may read tokens and messages"
            )
    for key, name in (("token_file", access.token_file), ("tls_cert", access.tls_cert), ("tls_key", access.tls_key)):
        if "\0" in (name or ""):
            raise InputError(f"`door_access.{key}`: expected the name of a file, found {name!r}")
    return Doors(
        addresses=addresses,
        token_file=folder / access.token_file,
        tls_cert=None if access.tls_cert is None else folder / access.tls_cert,
        tls_key=None if access.tls_key is None else folder / access.tls_key,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
