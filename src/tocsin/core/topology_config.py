"""Topology and group files (docs/formats.md): from a TOML or JSON document to checked values, and back."""

from typing import Any, Literal

from tocsin.core.config import Config, decode_config, suggestion
from tocsin.core.errors import InputError
from tocsin.core.topology import Topology, refuse_bad_name

SUGGESTED_NAMES_MAX = 1000  # above this, comparing a misspelt name with every known one takes seconds
SUGGESTION_LENGTH_MAX = 200  # an error is one line, not a list of all hosts


class NodeConfig(Config, frozen=True, kw_only=True, gc=False):
    """One `[[nodes]]`."""

    name: str
    kind: Literal["host", "switch"] = "host"
    crash: float = 0.0


class LinkConfig(Config, frozen=True, kw_only=True, gc=False):
    """One `[[links]]`."""

    ends: tuple[str, str]
    name: str = ""
    cost: float = 1.0
    loss: float = 0.0


class TopologyConfig(Config, frozen=True, kw_only=True):
    """A topology file."""

    nodes: list[NodeConfig]
    links: list[LinkConfig] = []


class GroupsConfig(Config, frozen=True, kw_only=True):
    """A group file."""

    groups: dict[str, list[str]]


def topology_from_document(document: dict[str, Any], source: str) -> Topology:
    """The topology that a document describes; `source` names the file in errors."""
    config = decode_config(document, TopologyConfig, source)
    topology = Topology()
    if not config.nodes:
        raise InputError(f"{source}: `nodes`: expected at least one node, found none")
    for place, node in enumerate(config.nodes):
        try:
            topology.add_node(node.name, node.kind == "switch", node.crash)
        except InputError as error:
            raise InputError(f"{source}: `nodes[{place}]`: {error}") from None
    for place, link in enumerate(config.links):
        first = topology.find_node(link.ends[0])
        second = topology.find_node(link.ends[1])
        try:
            if first < 0 or second < 0:
                unknown = link.ends[0] if first < 0 else link.ends[1]
                raise InputError(
                    f"ends: expected known nodes, found `{unknown}`{nearest_name(unknown, topology.node_names)}"
                )
            topology.add_link(first, second, link.cost, link.loss, link.name)
        except InputError as error:
            raise InputError(f"{source}: `links[{place}]`: {error}") from None
    return topology


def topology_to_document(topology: Topology) -> dict[str, Any]:
    """The document of a topology: `topology_from_document` makes an equal one of it."""
    names = topology.node_names
    return {
        "nodes": [
            {
                "name": name,
                "kind": "switch" if topology.is_switch(node) else "host",
                "crash": topology.crash[node],
            }
            for node, name in enumerate(names)
        ],
        "links": [
            {
                "name": label,
                "ends": [names[topology.link_first[link]], names[topology.link_second[link]]],
                "cost": topology.link_cost[link],
                "loss": topology.link_loss[link],
            }
            for link, label in enumerate(topology.link_labels())
        ],
    }


def groups_from_document(document: dict[str, Any], source: str) -> dict[str, list[str]]:
    """The groups that a document describes, in its order: no group is empty, no site is twice in one."""
    groups = decode_config(document, GroupsConfig, source).groups
    if not groups:
        raise InputError(f"{source}: `groups`: expected at least one group, found none")
    for name, sites in groups.items():
        try:
            refuse_bad_name(name)
            for site in sites:
                refuse_bad_name(site)
        except InputError as error:
            raise InputError(f"{source}: `groups.{name[:40]}`: {error}") from None
        if not sites:
            raise InputError(f"{source}: `groups.{name}`: expected at least one site, found none")
        if len(set(sites)) != len(sites):
            twice = next(site for place, site in enumerate(sites) if site in sites[:place])
            raise InputError(f"{source}: `groups.{name}`: expected each site once, found `{twice}` twice")
    return groups


def nearest_name(name: str, known: list[str]) -> str:
    """' (did you mean `x`?)', or the known names where they are few, or nothing where they are very many."""
    if len(known) > SUGGESTED_NAMES_MAX:
        return ""
    text = suggestion(name, known)
    return text if len(text) <= SUGGESTION_LENGTH_MAX else ""
