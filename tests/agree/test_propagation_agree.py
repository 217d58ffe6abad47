"""The propagation forest against appendix I written down as printed, sets and recursion and all."""

import pytest

from tocsin.core.rng import Rng
from tocsin.planning.propagation import propagation_forest


class Printed:
    """`main` and `new_subtree`, with the closure and the ties of the errata."""

    def __init__(self, groups: list[list[int]]) -> None:
        self.groups = [frozenset(group) for group in groups]
        self.unmarked_groups = set(range(len(groups)))
        self.unmarked_sites = {site for group in groups for site in group}
        self.children: dict[int, set[int]] = {site: set() for site in self.unmarked_sites}
        self.primary: dict[int, int] = {}
        self.roots: list[int] = []
        while self.unmarked_groups:
            root = self.most_frequent(self.unmarked_groups, set(self.children))
            self.roots.append(root)
            self.new_subtree(root)

    def most_frequent(self, groups: set[int], sites: set[int]) -> int:
        return min(sites, key=lambda site: (-sum(site in self.groups[group] for group in groups), site))

    def new_subtree(self, subroot: int) -> None:
        self.unmarked_sites.discard(subroot)
        own = {group for group in self.unmarked_groups if subroot in self.groups[group]}
        intersecters = {site for site in self.unmarked_sites if any(site in self.groups[group] for group in own)}
        for group in own:
            self.unmarked_groups.remove(group)
            self.primary[group] = subroot
        around = {group for group in self.unmarked_groups if self.groups[group] & intersecters}
        while True:
            sites = {site for group in around for site in self.groups[group]}
            more = {group for group in self.unmarked_groups if self.groups[group] & sites}
            if more <= around:
                break
            around |= more
        parts: list[set[int]] = []
        for group in sorted(around):
            touching = [part for part in parts if any(self.groups[group] & self.groups[other] for other in part)]
            parts = [part for part in parts if part not in touching]
            parts.append({group}.union(*touching))
        for site in intersecters:
            if not any(site in self.groups[group] for group in around):
                self.children[subroot].add(site)
                self.unmarked_sites.discard(site)
        for part in parts:
            inside = {site for group in part for site in self.groups[group]}
            newsite = self.most_frequent(part, inside & intersecters)
            self.children[subroot].add(newsite)
            self.new_subtree(newsite)


def shapes(seed: int) -> tuple[int, list[list[int]]]:
    """Dense, sparse, chained and nested groups, by turns."""
    rng = Rng(seed)
    sites = 2 + rng.below(40)
    count = 1 + rng.below(25)
    if seed % 4 == 3:  # a chain with random links, shuffled
        groups = [[place, place + 1, *([rng.below(sites)] if rng.chance(0.2) else [])] for place in range(sites - 1)]
        rng.shuffle(order := list(range(len(groups))))
        return sites, [sorted(set(groups[place])) for place in order]
    largest = (2, 4, 12)[seed % 4]
    return sites, [rng.sample(sites, 1 + rng.below(min(largest, sites))) for _ in range(count)]


@pytest.mark.parametrize("block", range(8))
def test_the_forest_is_the_printed_one(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        sites, groups = shapes(seed)
        forest = propagation_forest(sites, groups)
        printed = Printed(groups)
        assert forest.roots == printed.roots
        assert forest.primary == [printed.primary[group] for group in range(len(groups))]
        for site, children in printed.children.items():
            assert forest.children[site] == sorted(children), f"seed {seed}, site {site}"
