"""The propagation graph: a forest along which messages to overlapping groups flow and are ordered on the way.

Garcia-Molina, Spauster: "Ordered and Reliable Multicast Communication" (1988), section 3.1 and appendix I.

    main, new_subtree     propagation_forest
    PG1, PG2, PG3         need_properties (checked on every forest that is made here)
    PG4, extra nodes      Forest.extra_sites
    depth, load           Forest.depth, Forest.loads (section 4.1)

A message to a group goes to the group's primary destination and from there down the tree, into every
subtree with a member of the group. Sites and groups are dense integers; ties go to the smaller site number,
so whoever numbers the sites by name gets ties by name.

We differ from the paper: "occurs most frequently" is made unique (most unmarked groups, then the smallest
number); the closure that partitions the groups adds groups that share a *site* with those found, as the
text says and the printed loop does not; the recursion is a list of work, so that depth is no limit. The
partition under a new child is found by searching from all its candidates in lock step and stopping when all
searches but one have met or ended: the largest part, often nearly everything, is then known without being
walked.
"""

from heapq import heapify, heappop, heappush

from tocsin.core.errors import InputError


class Forest:
    """Groups of sites and the trees that their messages flow down."""

    def __init__(self, site_count: int, groups: list[list[int]]) -> None:
        self.site_count: int = site_count
        self.groups: list[list[int]] = groups  # the members of each group; none empty, no site twice in one
        self.parent: list[int] = [-1] * site_count  # -1 for roots and for sites in no group
        self.children: list[list[int]] = [[] for _ in range(site_count)]  # increasing; the inverse of parent
        self.roots: list[int] = []  # in the order found: the sites of most groups first
        self.primary: list[int] = [-1] * len(groups)  # the primary destination of each group, one of its members

    def levels(self) -> list[int]:
        """How far below its root each site is; -1 for sites in no group."""
        level = [-1] * self.site_count
        for site in self.downwards():
            level[site] = 0 if self.parent[site] < 0 else level[self.parent[site]] + 1
        return level

    def downwards(self) -> list[int]:
        """Every site of the forest after its parent; subtrees one after the other."""
        order: list[int] = []
        waiting = self.roots[::-1]
        while waiting:
            site = waiting.pop()
            order.append(site)
            children = self.children[site]
            for place in range(len(children) - 1, -1, -1):
                waiting.append(children[place])
        return order

    def relays(self, group: int) -> list[int]:
        """Every site that handles the group's messages: the paths from the primary destination to the members."""
        primary = self.primary[group]
        found = [primary]
        seen = {primary}
        for member in self.groups[group]:
            site = member
            while site not in seen:
                seen.add(site)
                found.append(site)
                site = self.parent[site]
        return found

    def extra_sites(self, group: int) -> list[int]:
        """The extra nodes: sites that handle the group's messages without being members, increasing."""
        members = set(self.groups[group])
        return sorted([site for site in self.relays(group) if site not in members])

    def depth(self, group: int, level: list[int]) -> int:
        """Steps from the primary destination to the furthest member; `level` is what `levels` answers."""
        return max([level[member] for member in self.groups[group]]) - level[self.primary[group]]

    def loads(self) -> list[int]:
        """Messages that each site receives and sends when one message goes to every group."""
        load = [0] * self.site_count
        for group in range(len(self.groups)):
            primary = self.primary[group]
            for site in self.relays(group):
                load[site] += 1  # from the source or from the parent
                if site != primary:
                    load[self.parent[site]] += 1
        return load


def propagation_forest(site_count: int, groups: list[list[int]]) -> Forest:
    """The paper's PG generator: the forest of the given groups, checked for PG1, PG2 and PG3."""
    generator = _Generator(site_count, groups)
    generator.run()
    need_properties(generator.forest)
    return generator.forest


class _Generator:
    """The state of `main` and `new_subtree`."""

    def __init__(self, site_count: int, groups: list[list[int]]) -> None:
        self.forest: Forest = Forest(site_count, groups)
        self.groups_of: list[list[int]] = [[] for _ in range(site_count)]
        for group in range(len(groups)):
            if not groups[group]:
                raise InputError(f"groups: expected no empty group, found group {group} empty")
            for site in groups[group]:
                self.groups_of[site].append(group)
        self.marked = bytearray(len(groups))  # 1 once the group has its primary destination
        self.placed = bytearray(site_count)  # 1 once the site has its place; it is then in no unmarked group
        self.open_groups: list[int] = [len(groups_of) for groups_of in self.groups_of]  # unmarked groups of each site
        # The lock-step search, one per subroot: a site or group belongs to it if it carries its number
        self.search = 0
        self.site_search: list[int] = [0] * site_count
        self.group_search: list[int] = [0] * len(groups)
        self.site_part: list[int] = [0] * site_count  # which of the searches found the site

    def run(self) -> None:
        heap = [(-self.open_groups[site], site) for site in range(self.forest.site_count)]
        heapify(heap)
        while heap:
            negative, site = heappop(heap)
            if self.open_groups[site] == 0:
                continue
            if self.open_groups[site] != -negative:
                heappush(heap, (-self.open_groups[site], site))
                continue
            self.forest.roots.append(site)
            self.grow(site)

    def grow(self, root: int) -> None:
        """`new_subtree` for the root and then for every subroot below it."""
        waiting = [root]
        while waiting:
            subroot = waiting.pop()
            intersecters = self.mark(subroot)
            chosen: list[int] = []
            with_groups: list[int] = []
            for site in intersecters:
                if self.open_groups[site] == 0:
                    chosen.append(site)
                else:
                    with_groups.append(site)
            newsites = self.one_of_each_part(with_groups)
            chosen.extend(newsites)
            chosen.sort()
            self.forest.children[subroot] = chosen
            for site in chosen:
                self.forest.parent[site] = subroot
                self.placed[site] = 1
            waiting.extend(newsites)

    def mark(self, subroot: int) -> list[int]:
        """Mark the site and make it the primary destination of its unmarked groups; their other unplaced sites."""
        self.placed[subroot] = 1
        found: list[int] = []
        seen = {subroot}
        for group in self.groups_of[subroot]:
            if self.marked[group]:
                continue
            self.marked[group] = 1
            self.forest.primary[group] = subroot
            for site in self.forest.groups[group]:
                self.open_groups[site] -= 1
                if site not in seen and not self.placed[site]:
                    seen.add(site)
                    found.append(site)
        return found

    def one_of_each_part(self, intersecters: list[int]) -> list[int]:
        """Partition the unmarked groups around the intersecters; from each part the one in most unmarked groups."""
        if len(intersecters) <= 1:
            return intersecters
        part = self.partition(intersecters)
        best: dict[int, int] = {}  # the part to the best of its intersecters
        for place in range(len(intersecters)):
            site = intersecters[place]
            other = best.get(part[place], -1)
            if other < 0 or (-self.open_groups[site], site) < (-self.open_groups[other], other):
                best[part[place]] = site
        return sorted(best.values())

    def partition(self, seeds: list[int]) -> list[int]:
        """For each seed the part it is in: two seeds are in one part if a chain of unmarked groups joins them."""
        self.search += 1
        joined = list(range(len(seeds)))  # a forest of parts that turned out to be one; see _root_of
        queues: list[list[int]] = []  # sites found and not yet looked at, per part
        for place in range(len(seeds)):
            self.site_search[seeds[place]] = self.search
            self.site_part[seeds[place]] = place
            queues.append([seeds[place]])
        active = list(range(len(seeds)))
        while len(active) > 1:
            for part in active:
                if joined[part] == part and queues[part]:  # else it met another search in this round
                    self.look_at(queues[part].pop(), part, joined, queues)
            active = [part for part in active if joined[part] == part and queues[part]]
        return [_root_of(joined, place) for place in range(len(seeds))]

    def look_at(self, site: int, part: int, joined: list[int], queues: list[list[int]]) -> None:
        """Find the sites that share an unmarked group with `site`; join the searches that it meets."""
        for group in self.groups_of[site]:
            if self.marked[group] or self.group_search[group] == self.search:
                continue
            self.group_search[group] = self.search
            for other in self.forest.groups[group]:
                if self.site_search[other] != self.search:
                    self.site_search[other] = self.search
                    self.site_part[other] = part
                    queues[part].append(other)
                    continue
                met = _root_of(joined, self.site_part[other])
                if met == part:
                    continue
                if len(queues[met]) > len(queues[part]):
                    part, met = met, part
                joined[met] = part
                queues[part].extend(queues[met])
                queues[met] = []


def _root_of(joined: list[int], part: int) -> int:
    """The part that `part` has become, shortening the way for the next time."""
    root = part
    while joined[root] != root:
        root = joined[root]
    while joined[part] != root:
        joined[part], part = root, joined[part]
    return root


def need_properties(forest: Forest) -> None:
    """PG1: each group has one primary destination. PG2: one path from it to each member. PG3: it is a member.

    In a forest a path downwards is unique, so PG2 is that every member lies in the subtree of the primary.
    """
    order = forest.downwards()
    first = [-1] * forest.site_count  # the subtree of a site is order[first … last]
    last = [-1] * forest.site_count
    for place in range(len(order)):
        assert first[order[place]] < 0, f"site {order[place]} has two places in the forest"
        first[order[place]] = place
        last[order[place]] = place
    for place in range(len(order) - 1, -1, -1):
        parent = forest.parent[order[place]]
        if parent >= 0:
            last[parent] = max(last[parent], last[order[place]])
    for group in range(len(forest.groups)):
        primary = forest.primary[group]
        assert primary in forest.groups[group], f"PG1, PG3: group {group} has {primary} for its primary destination"
        for member in forest.groups[group]:
            assert first[primary] <= first[member] <= last[primary], (
                f"PG2: no path from {primary}, the primary destination of group {group}, to {member}"
            )


def number_sites(groups: dict[str, list[str]]) -> tuple[list[str], list[list[int]]]:
    """The sites of named groups in name order, and the groups with sites as places in that order."""
    names = sorted({site for members in groups.values() for site in members})
    number = {name: place for place, name in enumerate(names)}
    return names, [[number[site] for site in members] for members in groups.values()]
