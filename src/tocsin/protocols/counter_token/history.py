"""Which view, and which place, each position of the log belongs to: what a replay needs beside the log.

A site that was away gets the deliveries it lacks with the views between them, and with several groups in the one
order of all of them, by their places. The log keeps each group's deliveries by position; here are, for each group, the
runs of positions that share a view and a place. With a single group the place does not matter, and a run is a whole
view.
"""

from bisect import bisect_right

from tocsin.core.machine import GroupId, SiteId


class History:
    """Runs by group, and the members of the views in them."""

    def __init__(self, groups: int) -> None:
        self._one_group = groups == 1
        self.starts: list[list[int]] = [[] for _ in range(groups)]  # by group, increasing: where runs start
        self.keys: list[list[tuple[int, int]]] = [[] for _ in range(groups)]  # by group: (view, place) of each run
        self.views: dict[int, list[SiteId]] = {}  # members by number, increasing

    def starts_run(self, group: GroupId, view: int, place: int) -> bool:
        """Whether a delivery with this key cannot go into the group's last run."""
        keys = self.keys[group]
        if not keys:
            return True
        return keys[-1][0] != view or (not self._one_group and keys[-1][1] != place)

    def start_run(self, group: GroupId, position: int, view: int, place: int) -> None:
        self.starts[group].append(position)
        self.keys[group].append((view, place))

    def runs(self, group: GroupId, position: int, count: int) -> list[tuple[int, int, int]]:
        """(length, view, place) of the runs that cover these positions."""
        starts = self.starts[group]
        keys = self.keys[group]
        found: list[tuple[int, int, int]] = []
        place = bisect_right(starts, position) - 1
        if place < 0:
            return found
        end = position + count
        while position < end:
            limit = starts[place + 1] if place + 1 < len(starts) else end
            length = min(limit, end) - position
            found.append((length, keys[place][0], keys[place][1]))
            position += length
            place += 1
        return found

    def trim(self, firsts: list[int], present: int) -> None:
        """Forget runs wholly below these positions, and views that no run is left of; the present one stays."""
        oldest = present
        for group in range(len(firsts)):
            drop = bisect_right(self.starts[group], firsts[group]) - 1
            if drop > 0:
                del self.starts[group][:drop]
                del self.keys[group][:drop]
            if self.keys[group]:
                oldest = min(oldest, self.keys[group][0][0])
        for view in list(self.views):
            if view < oldest:
                del self.views[view]
