"""Figures 2, 3, 4 and 5 and claims of Garcia-Molina and Spauster (1988) about propagation graphs."""

from tocsin.planning.balance import balanced
from tocsin.planning.propagation import Forest, number_sites, propagation_forest

FIGURE_3 = {
    "alpha_1": "cd",
    "alpha_2": "abc",
    "alpha_3": "bcde",
    "alpha_4": "def",
    "alpha_5": "ef",
    "alpha_6": "bg",
    "alpha_7": "ch",
    "alpha_8": "dj",
}
FIGURE_5 = {"alpha": "abcde", "beta": "bfgh", "gamma": "ab"}


class Named:
    """A forest with its names back."""

    def __init__(self, groups: dict[str, str], order: str = "") -> None:
        self.groups = list(groups)
        names, numbered = number_sites({name: list(sites) for name, sites in groups.items()})
        if order:  # ties go to the smaller number: number the sites as the paper broke its ties
            numbered = [[order.index(names[site]) for site in group] for group in numbered]
            names = list(order)
        self.names = names
        self.forest = propagation_forest(len(names), numbered)

    def tree(self, forest: Forest) -> dict[str, str]:
        return {
            self.names[site]: "".join(sorted(self.names[child] for child in forest.children[site]))
            for site in range(len(self.names))
            if forest.children[site]
        }

    def primaries(self) -> dict[str, str]:
        return {group: self.names[site] for group, site in zip(self.groups, self.forest.primary, strict=True)}

    def extra(self, forest: Forest) -> dict[str, str]:
        found = {
            group: "".join(self.names[site] for site in forest.extra_sites(number))
            for number, group in enumerate(self.groups)
        }
        return {group: sites for group, sites in found.items() if sites}

    def depths(self, forest: Forest) -> list[int]:
        level = forest.levels()
        return [forest.depth(group, level) for group in range(len(self.groups))]

    def loads(self, forest: Forest) -> dict[str, int]:
        return dict(zip(self.names, forest.loads(), strict=True))


def test_figure_2_the_site_in_both_groups_orders_them() -> None:
    named = Named({"alpha": "abcd", "beta": "cdef"})
    assert named.tree(named.forest) == {"c": "abdef"}
    assert named.primaries() == {"alpha": "c", "beta": "c"}


def test_figure_3_with_the_ties_of_the_paper() -> None:
    named = Named(FIGURE_3, order="dcebafghj")
    assert named.tree(named.forest) == {"d": "cej", "c": "abh", "e": "f", "b": "g"}
    assert named.primaries() == {
        "alpha_1": "d",
        "alpha_2": "c",
        "alpha_3": "d",
        "alpha_4": "d",
        "alpha_5": "e",
        "alpha_6": "b",
        "alpha_7": "c",
        "alpha_8": "d",
    }
    assert named.extra(named.forest) == {}


def test_figure_3_with_ties_by_name() -> None:
    """c and d are both in four groups: c is our root where the paper takes d. The properties are the same."""
    named = Named(FIGURE_3)
    assert named.tree(named.forest) == {"c": "abdh", "b": "g", "d": "ej", "e": "f"}
    assert named.primaries() == {
        "alpha_1": "c",
        "alpha_2": "c",
        "alpha_3": "c",
        "alpha_4": "d",
        "alpha_5": "e",
        "alpha_6": "b",
        "alpha_7": "c",
        "alpha_8": "d",
    }
    assert named.extra(named.forest) == {}
    assert named.depths(named.forest) == [1, 1, 2, 2, 1, 1, 1, 1]


def test_section_3_1_alpha_9_gets_the_same_tree_and_an_extra_node() -> None:
    named = Named({**FIGURE_3, "alpha_9": "da"}, order="dcebafghj")
    assert named.tree(named.forest) == {"d": "cej", "c": "abh", "e": "f", "b": "g"}
    assert named.primaries()["alpha_9"] == "d"
    assert named.extra(named.forest) == {"alpha_9": "c"}


def test_figure_5_load_for_depth() -> None:
    """The busiest site carries 11 messages in (a); a step of depth brings that to 6, two steps to 4."""
    named = Named(FIGURE_5)
    assert named.tree(named.forest) == {"b": "acdefgh"}
    assert named.loads(named.forest) == {"a": 2, "b": 11, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1}
    assert named.depths(named.forest) == [1, 1, 1]
    largest = []
    for growth in range(4):
        forest = balanced(named.forest, growth)
        assert named.extra(forest) == {}
        assert max(named.depths(forest)) <= 1 + growth
        largest.append(max(forest.loads()))
    assert largest == [11, 6, 4, 4]


def test_appendix_2_members_of_one_group_are_never_in_different_subtrees() -> None:
    """Figure 10 cannot happen: whatever the groups, a group lies on the paths below one of its members."""
    named = Named({**FIGURE_3, "alpha_9": "da", "alpha_10": "gj", "alpha_11": "hf"})
    for number, group in enumerate(named.forest.groups):
        for member in group:
            path = [member]
            while named.forest.parent[path[-1]] >= 0:
                path.append(named.forest.parent[path[-1]])
            assert named.forest.primary[number] in path
