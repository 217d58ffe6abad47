"""Moving load away from the busiest sites of a propagation forest, at the price of depth.

Garcia-Molina, Spauster (1988), section 4.1 and figure 5: "the graph can often be modified to find the
correct balance between delay and load". The paper shows one such change; here are two elementary ones, both
of which keep PG1, PG2 and PG3. Let `s` be the busiest site and x, y children of it.

    push down   x goes below its sibling y. For the groups that flow into both, s sends one message less and
    y one
                more. A group that flows into x alone now passes y, an extra node for it: y receives it and
                sends it on
    rotate      y takes the place of s, with s as its child: y sends to s instead of s to y. For this y must
    be in
                every group that it takes over as primary destination, and handle every group that flows
                into s

Extra nodes are made only if they are allowed. A change is made only if y stays below the load that s had,
so that the sorted loads fall in each step and the process ends, and only if no group becomes deeper than
its depth in the given forest plus `depth_growth`. Pushing down comes first: it costs depth in one subtree,
a rotation in all of them. When the busiest site has no such change left, the largest load stays.
"""

from heapq import heapify, heappop, heappush

from tocsin.core.errors import InputError
from tocsin.planning.propagation import Forest, need_properties


def balanced(forest: Forest, depth_growth: int, allow_extra: bool = False) -> Forest:
    """A forest of the same groups with a smaller largest load, no group deeper by more than `depth_growth`."""
    if depth_growth < 0:
        raise InputError(f"depth growth: expected an integer >= 0, found {depth_growth}")
    best = _Balancer(forest, depth_growth, False)
    best.run()
    if allow_extra:  # greedy steps that may make extra nodes sometimes end worse than those that may not
        other = _Balancer(forest, depth_growth, True)
        other.run()
        if max(other.load) < max(best.load):
            best = other
    need_properties(best.forest)
    return best.forest


class _Balancer:
    """A forest being changed, with what is needed to judge a change without walking it."""

    def __init__(self, forest: Forest, depth_growth: int, allow_extra: bool) -> None:
        self.allow_extra: bool = allow_extra
        self.forest: Forest = Forest(forest.site_count, forest.groups)
        self.forest.parent = forest.parent[:]
        self.forest.children = [children[:] for children in forest.children]
        self.forest.roots = forest.roots[:]
        self.forest.primary = forest.primary[:]
        self.load: list[int] = forest.loads()
        level = forest.levels()
        self.depth_max: list[int] = [forest.depth(group, level) + depth_growth for group in range(len(forest.groups))]
        # below[site][group]: steps from the site to the group's furthest member in its subtree, for the
        # groups that the site handles
        self.below: list[dict[int, int]] = [{} for _ in range(forest.site_count)]
        self.above: dict[int, int] = {}  # the ancestors of the site looked at, and itself: steps up to each
        self.members: list[set[int]] = [set(members) for members in forest.groups]
        for group in range(len(forest.groups)):
            for site in forest.relays(group):
                self.below[site][group] = 0
        for site in forest.downwards()[::-1]:
            parent = forest.parent[site]
            for group, steps in self.below[site].items():
                if forest.primary[group] != site and self.below[parent][group] < steps + 1:
                    self.below[parent][group] = steps + 1

    def run(self) -> None:
        heap = [(-self.load[site], site) for site in range(self.forest.site_count) if self.load[site] > 0]
        heapify(heap)
        while heap:
            negative, busiest = heappop(heap)
            if self.load[busiest] != -negative:
                continue  # an old entry; the site has another one
            helper = self.relieve(busiest)
            if helper < 0:
                return
            heappush(heap, (-self.load[busiest], busiest))
            heappush(heap, (-self.load[helper], helper))

    def relieve(self, busy: int) -> int:
        """Make the best change at `busy`; the site that now carries what it lost, or -1."""
        self.look_up(busy)
        weights = [(-len(self.inflow(child)), child) for child in self.forest.children[busy]]
        weights.sort()
        for _, child in weights:
            helper = self.best_sibling(busy, child)
            if helper >= 0:
                self.push_down(busy, child, helper)
                return helper
        for negative, child in weights:
            if self.may_rotate(busy, child, -negative):
                self.rotate(busy, child, -negative)
                return child
        return -1

    def inflow(self, site: int) -> list[int]:
        """The groups whose messages come to the site from its parent."""
        return [group for group in self.below[site] if self.forest.primary[group] != site]

    def look_up(self, busy: int) -> None:
        """Note how far above `busy` each of its ancestors is."""
        self.above = {}
        site = busy
        while site >= 0:
            self.above[site] = len(self.above)
            site = self.forest.parent[site]

    def best_sibling(self, busy: int, child: int) -> int:
        """The sibling under which the child relieves `busy` most, among those the least loaded, or -1."""
        groups = self.inflow(child)
        for group in groups:  # the child's subtree would be one step deeper
            depth = self.above[self.forest.primary[group]] + 2 + self.below[child][group]
            if depth > self.depth_max[group]:
                return -1
        best = -1
        best_common = 0
        for sibling in self.forest.children[busy]:
            if sibling == child:
                continue
            common = 0
            for group in groups:
                if group in self.below[sibling]:
                    common += 1
            if common < len(groups) and not self.allow_extra:
                continue
            if common < best_common or common == 0 or self.load_with(sibling, groups, common) >= self.load[busy]:
                continue
            if common > best_common or self.load[sibling] < self.load[best]:
                best = sibling
                best_common = common
        return best

    def load_with(self, site: int, groups: list[int], common: int) -> int:
        """The load of a site that sends these groups on to a new child and handled only `common` of them so far."""
        return self.load[site] + len(groups) + (len(groups) - common)

    def push_down(self, busy: int, child: int, helper: int) -> None:
        groups = self.inflow(child)
        self.forest.children[busy].remove(child)
        self.adopt(helper, child)
        for group in groups:
            self.load[helper] += 1
            if group in self.below[helper]:
                self.load[busy] -= 1
            else:
                self.load[helper] += 1
            self.measure_upwards(helper, group, 2)

    def may_rotate(self, busy: int, child: int, weight: int) -> bool:
        if self.load[child] + weight >= self.load[busy]:
            return False
        primary = self.forest.primary
        handled = self.below[child]
        for group in self.inflow(child):
            if primary[group] == busy and child not in self.members[group]:
                return False  # PG3 forbids that the child become its primary destination
            if self.above[primary[group]] + 1 + self.below_without(busy, child, group) > self.depth_max[group]:
                return False
        flows_on = [group for group in self.inflow(busy) if group in handled]
        return len(flows_on) == len(self.inflow(busy))  # else the child would become an extra node

    def rotate(self, busy: int, child: int, weight: int) -> None:
        groups = self.inflow(child)
        parent = self.forest.parent[busy]
        self.forest.children[busy].remove(child)
        if parent >= 0:
            self.forest.children[parent].remove(busy)
            self.adopt(parent, child)
        else:
            self.forest.parent[child] = -1
            self.forest.roots[self.forest.roots.index(busy)] = child
        self.adopt(child, busy)
        self.load[busy] -= weight
        self.load[child] += weight
        for group in groups:
            if self.forest.primary[group] == busy:
                self.forest.primary[group] = child
            self.measure_upwards(busy, group, 3)

    def adopt(self, parent: int, child: int) -> None:
        self.forest.parent[child] = parent
        children = self.forest.children[parent]
        children.append(child)
        children.sort()

    def below_without(self, site: int, without: int, group: int) -> int:
        """`below` of the site for the group, not counting the child `without`."""
        steps = 0
        for child in self.forest.children[site]:
            if child != without and group in self.below[child] and self.forest.primary[group] != child:
                steps = max(steps, self.below[child][group] + 1)
        return steps

    def measure_upwards(self, site: int, group: int, changed: int) -> None:
        """Bring `below` up to date for one group, from the site towards the primary destination.

        The first `changed` sites have got or lost children; above them only a difference goes further.
        """
        while True:
            before = self.below[site].get(group, -1)
            self.below[site][group] = self.below_without(site, -1, group)
            changed -= 1
            unchanged_above = changed <= 0 and self.below[site][group] == before
            if unchanged_above or self.forest.primary[group] == site:
                return
            site = self.forest.parent[site]
