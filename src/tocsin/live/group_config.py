"""The file of a live group, as people write it, and what it means."""

import re
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tocsin.core.config import Config, decode_config, suggestion
from tocsin.core.errors import InputError
from tocsin.core.files import read_document
from tocsin.core.message import Options
from tocsin.live.door_config import DoorAccess, Doors, resolve_doors
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import find_protocol

Address = tuple[str, int]
_PORT = re.compile("[0-9]{1,5}")

SITES_MAX = 1024  # the wire's bitmap of targets stays at 128 bytes
NUMBERS_USUAL = 64  # of sites, with those who are added later, where the file has at most half as many
UDP_HEADERS = {socket.AF_INET: 28, socket.AF_INET6: 48}  # IP and UDP headers without options


class JournalConfig(Config, frozen=True):
    """How a member keeps what it delivers."""

    durability: Annotated[
        Literal["disk", "process"],
        Meta(
            description="What survives: `disk` a power loss (synced before anything is visible), `process` a kill -9."
        ),
    ] = "disk"
    keep_bytes: Annotated[
        int, Meta(ge=0, description="Arrow files are dropped from the oldest on above this size.")
    ] = 8 << 30
    keep_seconds: Annotated[
        int, Meta(ge=0, description="Arrow files are dropped when the member has run so long since; 0 keeps them.")
    ] = 0
    consumer_keep_bytes: Annotated[
        int,
        Meta(
            ge=0, description="What a consumer has not acknowledged is kept, too, up to this size of all Arrow files."
        ),
    ] = 32 << 30
    # In people's group files since the first version: the key keeps the name, though the code says `file` of the log.
    segment_bytes: Annotated[
        int, Meta(ge=1 << 16, le=1 << 34, description="A file of the log is closed at this size.")
    ] = 16 << 20
    scrub_bytes_per_s: Annotated[
        int, Meta(ge=0, description="How fast a running member reads its files again, to find damage; 0: not at all.")
    ] = 1 << 20
    archive: Annotated[bool, Meta(description="Turn closed files of the log into Arrow files.")] = True
    receives: Annotated[bool, Meta(description="Also note receptions, so that an audit can check `safe`.")] = False


class GroupConfig(Config, frozen=True):
    """GROUP.toml."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    protocol: str
    sites: dict[str, str]
    key_file: str | None = None
    plaintext: bool = False
    multicast: str | None = None
    data_dir: str = "data"
    founders: list[str] | None = None
    groups: dict[str, list[str]] = {}
    options: dict[str, Any] = {}
    journal: JournalConfig = JournalConfig()
    mtu: Annotated[int, Meta(ge=576, le=65535)] = 1500
    offload: bool = True
    kernel_filter: bool = True
    socket_buffer_bytes: Annotated[int, Meta(ge=1 << 16, le=1 << 30)] = 16 << 20
    metrics: str | None = None
    door: dict[str, str] = {}
    door_access: DoorAccess | None = None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group's file, checked and resolved: names have become numbers and addresses."""

    source: str
    name: str
    protocol: Protocol
    options: Options
    sites: Sequence[
        str
    ]  # by SiteId, in the file's order; a member has its own, which the group may change: `seating.py`
    addresses: Sequence[Address]  # by SiteId
    family: int  # AF_INET or AF_INET6, the same for all
    founders: Sequence[int]  # sorted
    group_names: tuple[str, ...]  # by GroupId
    groups: Sequence[tuple[int, ...]]  # by GroupId, sorted
    removed: set[int]  # sites that the group has removed
    has_one_group: bool  # the file names none: there is one, of all
    numbers_max: int  # of sites that there may ever be: where sites are added, numbers are never used again
    key_file: Path | None  # None: plaintext
    multicast: Address | None
    data_dir: Path
    journal: JournalConfig
    mtu: int
    offload: bool
    kernel_filter: bool  # let the kernel drop what is plainly not of this group
    socket_buffer_bytes: int
    metrics: Address | None
    doors: Doors | None = None  # None: no member has one

    def site(self, name: str) -> int:
        if name not in self.sites:
            raise InputError(f"{self.source}: no site `{name}`{suggestion(name, list(self.sites))}")
        return max(site for site, each in enumerate(self.sites) if each == name)  # added again: the last

    def has_seats(self) -> bool:
        """Whether sites come and go while it runs."""
        return self.protocol.assumptions.voter_changes

    def group_id(self, name: str) -> int:
        if name not in self.group_names:
            raise InputError(f"{self.source}: no group `{name}`{suggestion(name, list(self.group_names))}")
        return self.group_names.index(name)

    def settings(self) -> dict[str, object]:
        """What the members' files should agree in, by name, beside the sites; they tell one another when they meet
        (`wire/meeting.py`). Of options only those that are not as usual."""
        usual = self.protocol.options()
        options = {name: getattr(self.options, name) for name in self.options.__struct_fields__}
        return {
            "protocol": self.protocol.name,
            "founders": tuple(self.founders),
            "groups": self.group_names,  # a group's number is its place in the file
            **{
                f"groups.{name}": members for name, members in zip(self.group_names, self.settled_groups(), strict=True)
            },
            **{f"options.{name}": value for name, value in options.items() if value != getattr(usual, name)},
        }

    def settled_groups(self) -> Sequence[object]:
        """By GroupId: the members, or that all are, however many they become."""
        return ["*"] if self.has_one_group and self.has_seats() else self.groups

    def site_dir(self, site: int) -> Path:
        return self.data_dir / self.sites[site]


def read_group(path: Path) -> Group:
    """Read, check and resolve a group's file; relative paths in it are relative to it."""
    source = str(path)
    config = decode_config(read_document(path), GroupConfig, source)
    return resolve(config, source, path.parent)


def resolve(config: GroupConfig, source: str, folder: Path) -> Group:
    """Check a group's configuration and turn names into numbers."""
    protocol = find_protocol(config.protocol, f"{source}: `protocol`")
    sites = tuple(config.sites)
    if not 1 <= len(sites) <= SITES_MAX:
        raise InputError(f"{source}: `sites`: expected 1 to {SITES_MAX} sites, found {len(sites)}")
    for name in sites:
        if not name or "/" in name or name.startswith(".") or len(name) > 64 or not name.isprintable():
            raise InputError(f"{source}: `sites`: expected a name usable for a folder, found {name!r}")
    resolved = [resolve_address(config.sites[name], f"{source}: `sites.{name}`") for name in sites]
    families = {family for family, _ in resolved}
    if len(families) > 1:
        raise InputError(f"{source}: `sites`: expected all addresses of one IP version, found both")
    addresses = tuple(address for _, address in resolved)
    if len(set(addresses)) != len(addresses):
        raise InputError(f"{source}: `sites`: expected a different address for each site, found one twice")
    if (config.key_file is None) != config.plaintext:
        raise InputError(
            f"{source}: `key_file`: expected a key file (make one: tocsin keygen FILE), or `plaintext = true` to say "
            f"that anyone on the network may read and forge; found {'both' if config.plaintext else 'neither'}"
        )
    for key, name in (("data_dir", config.data_dir), ("key_file", config.key_file or "")):
        if "\0" in name:
            raise InputError(f"{source}: `{key}`: expected the name of a file or folder, found {name!r}")
    group_names, groups = _groups(config, protocol.assumptions.group_changes, sites, source)
    options = decode_config(config.options, protocol.options, f"{source}: `options`")
    if getattr(options, "detector", "") == "perfect":
        raise InputError(
            f'{source}: `options.detector`: expected "timeout", found "perfect": only a simulator knows who has crashed'
        )
    return Group(
        source=source,
        name=config.name,
        protocol=protocol,
        options=options,
        sites=sites,
        addresses=addresses,
        family=resolved[0][0],
        founders=_founders(config, sites, source),
        group_names=group_names,
        groups=groups,
        key_file=None if config.key_file is None else folder / config.key_file,
        multicast=None if config.multicast is None else _multicast(config.multicast, f"{source}: `multicast`"),
        data_dir=folder / config.data_dir,
        removed=set(),
        has_one_group=not config.groups,
        numbers_max=_numbers_max(len(sites)) if protocol.assumptions.voter_changes else len(sites),
        journal=config.journal,
        mtu=config.mtu,
        offload=config.offload,
        kernel_filter=config.kernel_filter,
        socket_buffer_bytes=config.socket_buffer_bytes,
        metrics=None if config.metrics is None else resolve_address(config.metrics, f"{source}: `metrics`")[1],
        doors=_doors(config, protocol, sites, source, folder),
    )


def _numbers_max(sites: int) -> int:
    """Room for those who will be added; the same at all who found the group, and told to all who come later."""
    return NUMBERS_USUAL if 2 * sites <= NUMBERS_USUAL else SITES_MAX


def _doors(config: GroupConfig, protocol: Protocol, sites: tuple[str, ...], source: str, folder: Path) -> Doors | None:
    addresses = {site: resolve_address(text, f"{source}: `door.{site}`")[1] for site, text in config.door.items()}
    try:
        return resolve_doors(addresses, config.door_access, protocol, sites, folder)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _groups(
    config: GroupConfig, may_be_empty: bool, sites: tuple[str, ...], source: str
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Names and members. A group without members is one that may be made later, where groups change."""
    if not config.groups:
        return ("all",), (tuple(range(len(sites))),)
    members: list[tuple[int, ...]] = []
    for name, names in config.groups.items():
        unknown = [site for site in names if site not in sites]
        if unknown:
            near = suggestion(unknown[0], list(sites))
            raise InputError(f"{source}: `groups.{name}`: expected known sites, found `{unknown[0]}`{near}")
        if (not names and not may_be_empty) or len(set(names)) != len(names):
            raise InputError(f"{source}: `groups.{name}`: expected at least one site, and none twice")
        members.append(tuple(sorted(sites.index(site) for site in names)))
    return tuple(config.groups), tuple(members)


def _founders(config: GroupConfig, sites: tuple[str, ...], source: str) -> tuple[int, ...]:
    if config.founders is None:
        return tuple(range(len(sites)))
    unknown = [site for site in config.founders if site not in sites]
    if unknown or not config.founders:
        found = f"`{unknown[0]}`{suggestion(unknown[0], list(sites))}" if unknown else "none"
        raise InputError(f"{source}: `founders`: expected names of sites, found {found}")
    return tuple(sorted({sites.index(site) for site in config.founders}))


def split_address(text: str, source: str) -> Address:
    """`host:port` or `[v6]:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not _PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        raise InputError(f"{source}: expected host:port with a port of 1 to 65535, found `{text}`")
    return host.removeprefix("[").removesuffix("]"), int(port)


def resolve_address(text: str, source: str) -> tuple[int, Address]:
    host, port = split_address(text, source)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{source}: expected an address, found `{host}`, which does not resolve ({error})") from None
    family, _, _, _, address = found[0]
    return int(family), (str(address[0]), int(address[1]))


def _multicast(text: str, source: str) -> Address:
    host, port = split_address(text, source)
    try:
        packed = socket.inet_pton(socket.AF_INET, host)
    except OSError:
        raise InputError(f"{source}: expected an IPv4 multicast address such as 239.192.7.1, found `{host}`") from None
    if not 224 <= packed[0] <= 239:
        raise InputError(f"{source}: expected an IPv4 multicast address (224.0.0.0 to 239.255.255.255), found `{host}`")
    return host, port
