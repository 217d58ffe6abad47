"""Dynamic groups: section 5.1 of the paper. The manager decides on graphs; Close and Open carry them through the trees.

| paper                                               | here                                                   |
|-----------------------------------------------------|--------------------------------------------------------|
| the manager computes a new graph                    | `_on_change`: it decides on the groups; all compute the forest |
| Close, to each root and down to every node          | `Plan` to the roots, `Close` as the last message of every edge |
| Open, with the new graph                            | the Close brings it: who has closed a graph opens the next |
| graph numbers; messages of a graph not yet open wait | `Decision.number`, `_hold`                             |
| queued messages are re-routed                       | `_open`: sources turn to the new primary destination    |

Every site hears of every graph, in order: from its parent in the graph before, or from the manager if nobody is above
it. A site leaves a graph when its Close has come, that is, with all messages of the graph that concern it; so what is
ordered in one graph comes, at every site, before what is ordered in the next. Nobody waits for anybody else.

A primary destination must know how far each source has got. Members know it, having all of the group's messages. A new
member asks the primary destination of the graph before (`Ask`), which has closed that graph then; until it knows, it
orders nothing in the group and closes no graph.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message
from tocsin.protocols.propagation_graph.graph import tops
from tocsin.protocols.propagation_graph.messages import Ask, Change, Close, Decision, Heard, Places, Plan
from tocsin.protocols.propagation_graph.options_config import PropagationGraphOptions
from tocsin.protocols.propagation_graph.passing import FUTURE_MAX, GAP, RESEND
from tocsin.protocols.propagation_graph.record_messages import Asked, Counted, Opened, Planned
from tocsin.protocols.propagation_graph.sourcing import Sourcing
from tocsin.protocols.propagation_graph.stage import Stage

CHANGE: Final = "CHANGE"  # a change asked for here is not yet in a graph
MANAGE: Final = "MANAGE"  # somebody has not heard of a graph
COUNT: Final = "COUNT"  # key: group; the places of its sources are not known here

PLANS_MAX: Final = 16  # graphs under way; the next change waits
NEW_GROUPS_MAX: Final = 64  # a change may name a group at most so far beyond the last


class Changing(Sourcing):
    """The manager's part, and how a site goes from one graph to the next."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, PropagationGraphOptions)
        super().__init__(setup, outbox)
        self._manager: SiteId = min(options.manager, setup.sites - 1)
        self._previous: Decision | None = None  # the graph before the present one
        self._coming: dict[int, Decision] = {}  # from the manager, not yet open here; by number
        self._asked_count = 0  # changes asked for here so far
        self._asked: list[Asked] = []  # those not yet in a graph, oldest first
        self._change_armed = False
        # The manager's
        self._made: dict[int, Decision] = {}  # by number: from the graph before the first not heard of by all
        self._unheard: dict[int, list[SiteId]] = {}  # by number: who has to be told and has not confirmed
        self._manage_armed = False

    def quiet(self) -> bool:
        return not self._asked and not self._unheard and not self._coming and super().quiet()

    # Asking for a change

    def change_group(self, now: Micros, group: GroupId, members: list[SiteId]) -> None:
        asked = Asked(self._asked_count, group, tuple(sorted(set(members))))
        self._asked_count += 1
        self._persist(asked)
        self._asked.append(asked)
        self._ask_manager(now)

    def _ask_manager(self, now: Micros) -> None:
        for asked in list(self._asked):
            change = Change(asked.number, asked.group, asked.members)
            if self._manager == self._site:
                self._on_change(now, self._site, change)
            else:
                self._outbox.send(self._manager, change)
        if self._asked and not self._change_armed:
            self._change_armed = True
            self._outbox.set_timer(CHANGE, 0, now + 2 * self._resend_us)

    def _forget_asked(self, decision: Decision) -> None:
        """Changes asked for here that a graph brings."""
        for asker, count in decision.applied:
            if asker == self._site:
                self._asked = [asked for asked in self._asked if asked.number >= count]

    # The manager

    def _on_change(self, now: Micros, asker: SiteId, change: Change) -> None:
        """Decide on the graph with this change."""
        if self._site != self._manager or len(self._unheard) >= PLANS_MAX:
            return
        last = self._made[max(self._made)]
        applied = dict(last.applied)
        if change.number != applied.get(asker, 0) or not self._is_sound_group(last, change):
            return
        applied[asker] = change.number + 1
        groups = list(last.groups)
        while len(groups) <= change.group:
            groups.append(())
        groups[change.group] = change.members
        decision = Decision(last.number + 1, tuple(groups), tuple(sorted(applied.items())))
        self._persist(Planned(decision))
        self._make(decision)
        self._tell_graphs(now)
        self._take_plan(now, decision)

    def _is_sound_group(self, last: Decision, change: Change) -> bool:
        if not change.members or change.group > len(last.groups) + NEW_GROUPS_MAX:
            return False
        return self._are_sound_members(change.members)

    def _are_sound_members(self, members: tuple[int, ...]) -> bool:
        before = -1
        for member in members:
            if member <= before or member >= self._sites:
                return False
            before = member
        return True

    def _make(self, decision: Decision) -> None:
        """Note a graph of ours, and who has to be told of it."""
        previous = self._made.get(decision.number - 1)
        self._made[decision.number] = decision
        if previous is not None:
            above_all = tops(previous, self._sites, self._balance)
            self._unheard[decision.number] = [site for site in above_all if site != self._site]
            self._forget_made()

    def _forget_made(self) -> None:
        for number in sorted(self._unheard):
            if not self._unheard[number]:
                del self._unheard[number]
        oldest = min(self._unheard) if self._unheard else max(self._made)
        for number in sorted(self._made):
            if number < oldest - 1:
                del self._made[number]

    def _tell_graphs(self, now: Micros) -> None:
        for number in sorted(self._unheard):
            for site in self._unheard[number]:
                self._outbox.send(site, Plan(self._made[number]))
        if self._unheard and not self._manage_armed:
            self._manage_armed = True
            self._outbox.set_timer(MANAGE, 0, now + 2 * self._resend_us)

    def _on_heard(self, source: SiteId, heard: Heard) -> None:
        waiting = self._unheard.get(heard.number)
        if waiting is not None and source in waiting:
            waiting.remove(source)
            self._forget_made()

    # From one graph to the next

    def _on_plan(self, now: Micros, source: SiteId, plan: Plan) -> None:
        if source == self._manager and self._is_sound_decision(plan.decision):
            if plan.decision.number <= self._stage.number:
                self._outbox.send(source, Heard(plan.decision.number))
            else:
                self._take_plan(now, plan.decision)

    def _is_sound_decision(self, decision: Decision) -> bool:
        if decision.number > self._stage.number + PLANS_MAX + 1:
            return False
        for members in decision.groups:  # noqa: SIM110
            if not self._are_sound_members(members):
                return False
        return True

    def _take_plan(self, now: Micros, decision: Decision) -> None:
        self._coming[decision.number] = decision
        self._open_coming(now)

    def _open_coming(self, now: Micros) -> None:
        """Nobody is above this site: it closes when the manager says so."""
        following = self._coming.get(self._stage.number + 1)
        while following is not None and self._stage.parent < 0 and self._maybe_close(now, following):
            if self._manager != self._site:
                self._outbox.send(self._manager, Heard(following.number))
            following = self._coming.get(self._stage.number + 1)

    def _on_close(self, now: Micros, source: SiteId, close: Close) -> None:
        stage = self._stages.get(close.graph)
        if stage is not None and source == stage.parent and self._is_sound_decision(close.decision):
            self._put_early(now, stage, close.number, close)

    def _maybe_close(self, now: Micros, decision: Decision) -> bool:
        if decision.number != self._stage.number + 1:
            return False
        for group in self._uncounted:
            if self._stage.graph.primary_of(group) == self._site:
                return False
        self._persist(Opened(decision))
        closed = self._stage
        self._switch(decision)
        self._open(now, closed)
        return True

    def _switch(self, decision: Decision) -> None:
        """Close the present graph and open the next; also when records are read back after a crash."""
        closed = self._stage
        closed.close(decision)
        self._previous = closed.graph.decision
        self._stage = self._add_stage(decision)
        for group in range(len(decision.groups)):
            if not self._stage.graph.has_member(group, self._site):
                self._uncounted.pop(group, 0)
            elif not closed.graph.has_member(group, self._site) and closed.graph.primary_of(group) >= 0:
                self._uncounted[group] = decision.number
        self._start_graph(decision)

    def _start_graph(self, decision: Decision) -> None:
        """What every new graph means for sources and primary destinations."""
        self._streams = {}
        self._final = {}
        for (group, source), place in self._places.items():
            if self._stage.graph.primary_of(group) == self._site:
                self._final[(group, source)] = place  # ordered in an older graph: nobody takes that back
        self._forget_asked(decision)
        for number in sorted(self._coming):
            if number <= decision.number:
                del self._coming[number]
        for outlet in self._outlets.values():
            outlet.start_over()

    def _open(self, now: Micros, closed: Stage) -> None:
        """What opening a graph makes others do."""
        self._tell_views(closed)
        if closed.number in self._stages:
            for child in closed.graph.children:
                self._pump_edge(now, closed, child)
            self._progress(now, closed)
        if self._gap_armed:
            self._gap_armed = False
            self._outbox.cancel_timer(GAP, 0)
        self._count(now)
        self._pump_outlets(now)
        held = self._future
        self._future = []
        for source, message in held:
            self.on_message(now, source, message)

    def _tell_views(self, closed: Stage) -> None:
        """The application hears who is in its groups where that has changed."""
        before = closed.graph.decision.groups
        after = self._stage.graph.decision.groups
        for group in range(len(after)):
            old = before[group] if group < len(before) else ()
            if after[group] != old and (self._site in after[group] or self._site in old):
                self._outbox.install_group(group, self._stage.number, list(after[group]))

    def _hold(self, source: SiteId, message: Message) -> None:
        """A message of a graph that is not yet open here."""
        if len(self._future) < FUTURE_MAX:
            self._future.append((source, message))

    def _end_old_graphs(self) -> None:
        for number in sorted(self._stages):
            stage = self._stages[number]
            if stage is not self._stage and stage.is_over():
                for child in stage.graph.children:
                    self._outbox.cancel_timer(RESEND, number * self._sites + child)
                del self._stages[number]

    # How far the sources have got

    def _count(self, now: Micros) -> None:
        """A new member that is primary destination asks the one before it."""
        for group in sorted(self._uncounted):
            if self._stage.graph.primary_of(group) == self._site:
                self._on_count_timer(now, group)

    def _on_count_timer(self, now: Micros, group: GroupId) -> None:
        previous = self._previous
        if group in self._uncounted and previous is not None:
            before = self._primary_before(previous, group)
            if before >= 0 and before != self._site:
                self._outbox.send(before, Ask(self._stage.number, group))
            self._outbox.set_timer(COUNT, group, now + 2 * self._resend_us)

    def _primary_before(self, previous: Decision, group: GroupId) -> SiteId:
        stage = self._stages.get(previous.number)
        graph = stage.graph if stage is not None else self._graph_of(previous)
        return graph.primary_of(group)

    def _on_ask(self, source: SiteId, ask: Ask) -> None:
        """Answer when the graph before the asker's is closed here and the places at its end are known here."""
        joined = self._uncounted.get(ask.group, ask.graph)
        if self._stage.number < ask.graph or joined < ask.graph:
            return
        places: list[tuple[int, int]] = []
        for group, origin in sorted(self._places):
            if group == ask.group:
                places.append((origin, self._places[(group, origin)]))
        self._outbox.send(source, Places(ask.graph, ask.group, tuple(places)))

    def _on_places(self, now: Micros, source: SiteId, answer: Places) -> None:
        if answer.graph != self._stage.number or answer.group not in self._uncounted or self._previous is None:
            return
        if source != self._primary_before(self._previous, answer.group):
            return
        record = Counted(answer.group, tuple([pair for pair in answer.places if pair[0] < self._sites]))
        self._persist(record)
        self._note_counted(record)
        self._outbox.cancel_timer(COUNT, answer.group)
        for group, origin in sorted(self._streams):
            if group == answer.group:
                self._take_submissions(now, group, origin)
                self._acknowledge_source(now, group, origin)
        self._pump_outlets(now)
        self._take_early(now)
        self._open_coming(now)

    def _note_counted(self, record: Counted) -> None:
        self._uncounted.pop(record.group, 0)
        for origin, place in record.places:
            known = self._places.get((record.group, origin), 0)
            self._places[(record.group, origin)] = max(known, place)
            self._final[(record.group, origin)] = max(known, place)
