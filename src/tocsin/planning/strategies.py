"""Broadcast strategies: who passes a message on to whom, in which order and when.

Schneider, Gries, Schlichting: "Fast Reliable Broadcasts" (1982), sections 2.3 and 4.

    section 2.3      a strategy is a rooted ordered tree            Strategy, Chain, Bush, GivenTree
    section 4        strategy S, R_DE(t), T_DE(t), t_B, C           MinimumTime
    section 4        relative and logical names, as needed          MinimumTime.logical_name, sends, parent
    section 4        any site as the root                           relative_name, site_of

`delay` is the paper's D, the time from sending to receiving; `gap` is its E, the time between two sendings
of one processor. Processors have relative names 1 … N, the root being 1. Everything about one processor is
computed from its name alone, without the tree.

We differ from the paper: the sum in A_DE goes to floor((w - v) / E), not ceil, which would count receptions
after w. With that, A_DE(t mod E, t) = R_DE(t + D): those who send at t are those who make someone receive
at t + D. So one table, R at the times when it is not zero, answers every question. And R is not monotonic,
as the paper says it is (D = E = 2: 1, 0, 1, 0, 2 …); the sum of D consecutive values is, so the buffer
capacity C is right all the same.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from typing import Final

from tocsin.core.errors import InputError

SITES_MAX: Final = 10_000_000
TIME_MAX: Final = 1_000_000_000  # for delay and gap: a quarter of an hour in microseconds
LISTED_TIMES_MAX: Final = 10_000_000  # R(0) … R(t_B) is listed in full up to here


class Strategy(ABC):
    """A broadcast of one message among `sites` processors, names 1 … sites, the root being 1."""

    def __init__(self, sites: int, delay: int, gap: int) -> None:
        _need("sites", sites, 1, SITES_MAX)
        _need("delay", delay, 1, TIME_MAX)
        _need("gap", gap, 1, TIME_MAX)
        self.sites: int = sites
        self.delay: int = delay
        self.gap: int = gap

    @abstractmethod
    def parent(self, name: int) -> int:
        """Who sends to `name`; 0 for the root."""

    @abstractmethod
    def successors(self, name: int) -> list[int]:
        """Those to whom `name` sends, in that order; the first at once, the others `gap` apart."""

    @abstractmethod
    def received_at(self, name: int) -> int:
        """When `name` has the message, if the root has it at 0 and nothing fails."""

    @abstractmethod
    def completion_time(self) -> int:
        """The paper's t_B: when the last processor has the message."""

    def received(self) -> list[int]:
        """How many processors receive at each time 0 … t_B."""
        counts = _empty_counts(self.completion_time())
        for name in range(1, self.sites + 1):
            counts[self.received_at(name)] += 1
        return counts

    def buffer_capacity(self) -> int:
        """The paper's C: the most messages in transit at once, which is the most received in `delay` times."""
        return _largest_window(self.received(), self.delay)

    def sends(self, name: int) -> list[tuple[int, int]]:
        """What `successors` says, with the times: (receiver, sent_at)."""
        start = self.received_at(name)
        successors = self.successors(name)
        return [(successors[turn], start + turn * self.gap) for turn in range(len(successors))]

    def edges(self) -> list[tuple[int, int, int]]:
        """Every sending as (sender, receiver, sent_at), in the order in which they happen."""
        keyed: list[tuple[int, int, int]] = []
        for name in range(2, self.sites + 1):
            keyed.append((self.received_at(name) - self.delay, name, self.parent(name)))
        keyed.sort()
        return [(parent, name, sent_at) for sent_at, name, parent in keyed]


class Chain(Strategy):
    """Figure 2.1b: each sends to the next. Fastest when gap > (sites - 1) * delay."""

    def parent(self, name: int) -> int:
        return name - 1

    def successors(self, name: int) -> list[int]:
        return [name + 1] if name < self.sites else []

    def received_at(self, name: int) -> int:
        return (name - 1) * self.delay

    def completion_time(self) -> int:
        return (self.sites - 1) * self.delay


class Bush(Strategy):
    """Figure 2.1a: the root sends to everyone. Fastest when delay > (sites - 1) * gap."""

    def parent(self, name: int) -> int:
        return 0 if name == 1 else 1

    def successors(self, name: int) -> list[int]:
        return list(range(2, self.sites + 1)) if name == 1 else []

    def received_at(self, name: int) -> int:
        return 0 if name == 1 else (name - 2) * self.gap + self.delay

    def completion_time(self) -> int:
        return self.received_at(self.sites)


class MinimumTime(Strategy):
    """Strategy S: relay at once and every `gap` after that, as long as someone has not been sent the message."""

    def __init__(self, sites: int, delay: int, gap: int) -> None:
        super().__init__(sites, delay, gap)
        # The times up to t_B + delay at which anyone would receive among infinitely many processors,
        # increasing
        self._times: list[int] = []
        self._counts: list[int] = []  # R at those times, > 0
        self._totals: list[int] = []  # T at those times: the sum of the counts so far
        self._last: int = 0  # t_B
        self._fill()

    def _fill(self) -> None:
        """R(0) = 1; R(t) = R(t - D), plus R(t - E) if t > E: merge the known times shifted by D and by E."""
        times = [0]
        counts = [1]
        totals = [1]
        by_delay = 0  # the next known time to shift by delay …
        by_gap = 1  # … and by gap, which time 0 never is
        last = 0 if self.sites == 1 else -1
        while last < 0 or times[-1] <= last + self.delay:
            time = times[by_delay] + self.delay
            count = counts[by_delay]
            if by_gap < len(times) and times[by_gap] + self.gap <= time:
                earlier = times[by_gap] + self.gap
                if earlier == time:
                    count += counts[by_gap]
                    by_delay += 1
                else:
                    time = earlier
                    count = counts[by_gap]
                by_gap += 1
            else:
                by_delay += 1
            times.append(time)
            counts.append(count)
            totals.append(totals[-1] + count)
            if last < 0 and totals[-1] >= self.sites:
                last = time
        self._times = times
        self._counts = counts
        self._totals = totals
        self._last = last

    def received_count(self, time: int) -> int:
        """The paper's R_DE(time), of infinitely many processors; up to t_B + delay."""
        place = bisect_left(self._times, time)
        return self._counts[place] if place < len(self._times) and self._times[place] == time else 0

    def received_total(self, time: int) -> int:
        """The paper's T_DE(time): how many have received at or before that time; up to t_B + delay."""
        place = bisect_right(self._times, time)
        return self._totals[place - 1] if place > 0 else 0

    def completion_time(self) -> int:
        return self._last

    def received_at(self, name: int) -> int:
        return self._times[bisect_left(self._totals, name)]

    def logical_name(self, name: int) -> tuple[int, int]:
        """The class (receive time modulo gap) and the number within the class, counted from 1.

        All of a class send at the same times. Of its members, R(t + D) have received at or before t, hence
        R(t + D) - R(t) before t.
        """
        place = bisect_left(self._totals, name)
        time = self._times[place]
        index = name - (self._totals[place] - self._counts[place])
        earlier = self.received_count(time + self.delay) - self._counts[place]
        return time % self.gap, earlier + index

    def successors(self, name: int) -> list[int]:
        identity = self.logical_name(name)[1]
        time = self.received_at(name)
        result: list[int] = []
        while True:
            receiver = self.received_total(time + self.delay - 1) + identity
            if receiver > self.sites:
                return result
            result.append(receiver)
            time += self.gap

    def parent(self, name: int) -> int:
        """The sender has, as number within its class, the receiver's number among those who receive with it."""
        if name == 1:
            return 0
        place = bisect_left(self._totals, name)
        index = name - (self._totals[place] - self._counts[place])
        sent_at = self._times[place] - self.delay
        fewest = 0  # gaps before sent_at at which the sender received: its class had `index` members by then …
        most = sent_at // self.gap  # … and not one gap earlier
        while fewest < most:
            middle = (fewest + most + 1) // 2
            if self.received_count(sent_at - middle * self.gap + self.delay) >= index:
                fewest = middle
            else:
                most = middle - 1
        time = sent_at - fewest * self.gap
        before = self.received_count(time + self.delay) - self.received_count(time)
        return self.received_total(time - 1) + index - before

    def edges(self) -> list[tuple[int, int, int]]:
        """All at once: the k-th to receive at a time hears from the k-th of the class that sent `delay` before."""
        result: list[tuple[int, int, int]] = []
        members: dict[int, list[int]] = {}  # of each class, in the order of their numbers
        for place in range(len(self._times)):
            time = self._times[place]
            first = self._totals[place] - self._counts[place] + 1
            last = min(self._totals[place], self.sites)
            if time > 0:
                senders = members[(time - self.delay) % self.gap]
                for name in range(first, last + 1):
                    result.append((senders[name - first], name, time - self.delay))
            members.setdefault(time % self.gap, []).extend(range(first, last + 1))
            if last == self.sites:
                break
        return result

    def received(self) -> list[int]:
        """R_DE(0) … R_DE(t_B), of infinitely many processors: the last value may count more than there are."""
        counts = _empty_counts(self.completion_time())
        for place in range(len(self._times)):
            if self._times[place] <= self._last:
                counts[self._times[place]] = self._counts[place]
        return counts

    def buffer_capacity(self) -> int:
        return self.received_total(self._last) - self.received_total(self._last - self.delay)


class GivenTree(Strategy):
    """Any tree: `children[name]` lists the successors of `name` in sending order; `children[0]` is unused."""

    def __init__(self, children: list[list[int]], delay: int, gap: int) -> None:
        super().__init__(len(children) - 1, delay, gap)
        self._children: list[list[int]] = children
        self._parents: list[int] = [0] * len(children)
        self._received_at: list[int] = [0] * len(children)
        order = [1]  # from the root downwards
        for sender in order:
            for turn in range(len(children[sender])):
                receiver = children[sender][turn]
                if not 1 < receiver < len(children) or self._parents[receiver] != 0:
                    raise InputError(f"tree: expected names 2 to {self.sites}, each once, found {receiver}")
                self._parents[receiver] = sender
                self._received_at[receiver] = self._received_at[sender] + turn * gap + delay
                order.append(receiver)
        if len(order) != self.sites:
            raise InputError(f"tree: expected a tree of {self.sites} names below 1, found {len(order)} of them")

    def parent(self, name: int) -> int:
        return self._parents[name]

    def successors(self, name: int) -> list[int]:
        return self._children[name][:]

    def received_at(self, name: int) -> int:
        return self._received_at[name]

    def completion_time(self) -> int:
        return max(self._received_at)


SHAPES: Final = ("chain", "bush", "minimum")


def strategy(shape: str, sites: int, delay: int, gap: int) -> Strategy:
    """The strategy of that shape: "chain", "bush" or "minimum"."""
    if shape == "chain":
        return Chain(sites, delay, gap)
    if shape == "bush":
        return Bush(sites, delay, gap)
    if shape == "minimum":
        # Section 4.1: the two regimes in which the fastest tree has few levels or no branches need no table
        if delay > (sites - 1) * gap:
            return Bush(sites, delay, gap)
        if gap > (sites - 1) * delay:
            return Chain(sites, delay, gap)
        return MinimumTime(sites, delay, gap)
    raise InputError(f"shape: expected one of {', '.join(SHAPES)}, found `{shape}`")


def relative_name(site: int, root: int, sites: int) -> int:
    """The name of a site (0 … sites - 1) in broadcasts from `root`: the root is 1, its next neighbour 2 …"""
    return (site - root) % sites + 1


def site_of(name: int, root: int, sites: int) -> int:
    """The site that has that relative name in broadcasts from `root`."""
    return (name - 1 + root) % sites


def site_successors(plan: Strategy, root: int, site: int) -> list[int]:
    """The sites that `site` sends to in a broadcast from `root`, in sending order."""
    names = plan.successors(relative_name(site, root, plan.sites))
    return [site_of(name, root, plan.sites) for name in names]


def site_parent(plan: Strategy, root: int, site: int) -> int:
    """The site that sends to `site` in a broadcast from `root`; -1 for the root."""
    if site == root:
        return -1
    return site_of(plan.parent(relative_name(site, root, plan.sites)), root, plan.sites)


def _empty_counts(last: int) -> list[int]:
    """Room for a count at each time 0 … last."""
    if last > LISTED_TIMES_MAX:
        raise InputError(
            f"delay: expected a broadcast of at most {LISTED_TIMES_MAX} time units, found {last}; "
            "use a coarser unit of time for delay and gap"
        )
    return [0] * (last + 1)


def _largest_window(counts: list[int], width: int) -> int:
    """The largest sum of `width` consecutive counts."""
    largest = 0
    current = 0
    for time in range(len(counts)):
        current += counts[time]
        if time >= width:
            current -= counts[time - width]
        largest = max(largest, current)
    return largest


def _need(what: str, found: int, low: int, high: int) -> None:
    if not low <= found <= high:
        raise InputError(f"{what}: expected an integer from {low} to {high}, found {found}")
