"""A generated topology as a few lines of a file: `shape = "random_regular"`, `nodes = 100`, `degree = 6` …"""

from typing import Any

from tocsin.core import generators
from tocsin.core.config import Config, decode_config
from tocsin.core.errors import InputError
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology


class _Shape(Config, frozen=True, kw_only=True, tag_field="shape"):
    """What every generated topology has."""

    cost: float = 1.0
    loss: float = 0.0
    crash: float = 0.0


class Ring(_Shape, frozen=True, kw_only=True, tag="ring"):
    nodes: int


class Grid(_Shape, frozen=True, kw_only=True, tag="grid"):
    rows: int
    columns: int


class RandomRegular(_Shape, frozen=True, kw_only=True, tag="random_regular"):
    nodes: int
    degree: int


class RandomTree(_Shape, frozen=True, kw_only=True, tag="random_tree"):
    nodes: int


class RandomConnected(_Shape, frozen=True, kw_only=True, tag="random_connected"):
    nodes: int
    links: int


class SwitchedTree(_Shape, frozen=True, kw_only=True, tag="switched_tree"):
    hosts: int
    switches: int


class RandomSwitched(_Shape, frozen=True, kw_only=True, tag="random_switched"):
    hosts: int
    switches: int
    trunks: int


GeneratedTopology = Ring | Grid | RandomRegular | RandomTree | RandomConnected | SwitchedTree | RandomSwitched

SHAPES: dict[str, type[GeneratedTopology]] = {
    "ring": Ring,
    "grid": Grid,
    "random_regular": RandomRegular,
    "random_tree": RandomTree,
    "random_connected": RandomConnected,
    "switched_tree": SwitchedTree,
    "random_switched": RandomSwitched,
}


def generated_from_document(document: dict[str, Any], source: str) -> GeneratedTopology:
    """The description of a generated topology in a file; `source` names the file in errors."""
    shape = document.get("shape")
    kind = SHAPES.get(shape) if isinstance(shape, str) else None
    if kind is None:
        raise InputError(f"{source}: `shape`: expected one of {', '.join(SHAPES)}, found {shape!r}")
    return decode_config(document, kind, source)


def generate(shape: GeneratedTopology, rng: Rng) -> Topology:
    """The topology of that description and seed."""
    cost, loss, crash = shape.cost, shape.loss, shape.crash
    match shape:
        case Ring():
            return generators.ring(shape.nodes, cost, loss, crash)
        case Grid():
            return generators.grid(shape.rows, shape.columns, cost, loss, crash)
        case RandomRegular():
            return generators.random_regular(shape.nodes, shape.degree, rng, cost, loss, crash)
        case RandomTree():
            return generators.random_tree(shape.nodes, rng, cost, loss, crash)
        case RandomConnected():
            return generators.random_connected(shape.nodes, shape.links, rng, cost, loss, crash)
        case SwitchedTree():
            return generators.switched_tree(shape.hosts, shape.switches, rng, cost, loss, crash)
        case RandomSwitched():
            return generators.random_switched(shape.hosts, shape.switches, shape.trunks, rng, cost, loss, crash)
