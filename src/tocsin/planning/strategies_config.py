"""A broadcast strategy given by a file: the successors of each site, in sending order.

[children]
a = ["b", "c"]      # a is the root: nobody sends to it
c = ["d"]
"""

from typing import Any

from tocsin.core.config import Config, decode_config
from tocsin.core.errors import InputError
from tocsin.core.topology import refuse_bad_name
from tocsin.planning.strategies import GivenTree


class TreeConfig(Config, frozen=True, kw_only=True):
    """A file with a tree."""

    children: dict[str, list[str]]


def tree_from_document(document: dict[str, Any], source: str, delay: int, gap: int) -> tuple[GivenTree, list[str]]:
    """The strategy and the site names in the order of its relative names 1, 2 …: from the root, level by level."""
    children = decode_config(document, TreeConfig, source).children
    try:
        for sites in (list(children), *children.values()):
            for site in sites:
                refuse_bad_name(site)
    except InputError as error:
        raise InputError(f"{source}: `children`: {error}") from None
    names = [_root(children, source)]
    number = {names[0]: 1}
    for name in names:
        for child in children.get(name, []):
            number[child] = len(names) + 1
            names.append(child)
    for name in children:
        if name not in number:
            raise InputError(f"{source}: `children.{name}`: expected a path from `{names[0]}`, found a cycle")
    rows = [[], *([number[child] for child in children.get(name, [])] for name in names)]
    return GivenTree(rows, delay, gap), names


def _root(children: dict[str, list[str]], source: str) -> str:
    """The one site that nobody sends to."""
    sender: dict[str, str] = {}
    for name, sites in children.items():
        for site in sites:
            if site in sender:
                raise InputError(
                    f"{source}: `children.{name}`: expected one sender for each site, found `{sender[site]}` "
                    f"and `{name}` for `{site}`"
                )
            sender[site] = name
    roots = [name for name in children if name not in sender]
    if len(roots) != 1:
        found = "none" if not roots else " and ".join(f"`{name}`" for name in roots[:3])
        raise InputError(f"{source}: `children`: expected one site that nobody sends to, found {found}")
    return roots[0]
