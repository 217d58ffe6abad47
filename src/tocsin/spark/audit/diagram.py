"""A witness as a space-time diagram: a line for each site, its events from left to right, each message in its colour.

What a site did first is further left; a delivery is to the right of its broadcast. Events of one message are
joined, from its broadcast if that is among the rows: two sites that deliver two messages in opposite order show
as a crossing.
"""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from tocsin.traces.rows import BROADCAST, CRASH, DELIVER, RECEIVE, RECOVER, ROLLBACK, VIEW, Row

COLORS = 6  # the style has --c1 to --c6
LANE, STEP = 74, 150
LEFT, TOP = 96, 46

ARROW_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z" class="tip"/></marker></defs>'
)

Message = tuple[str, int]  # origin, seqno


class _Node(NamedTuple):
    row: Row
    x: float
    y: float


def witness_diagram(rows: Sequence[Row], by_time: bool = False) -> str:
    """SVG text, drawn to the width it needs. `by_time`: events are placed by their times, which are of one clock."""
    if not rows:
        return ""
    distinct = list(dict.fromkeys(rows))
    sites = sorted({row.site for row in distinct})
    times = sorted({row.time_us for row in distinct})
    levels = {row: times.index(row.time_us) for row in distinct} if by_time else _levels(distinct)
    nodes = [_Node(row, LEFT + STEP * levels[row] + 30, TOP + LANE * sites.index(row.site)) for row in distinct]
    width = max(node.x for node in nodes) + 110
    height = TOP + LANE * (len(sites) - 1) + 52
    messages = list(dict.fromkeys(found for row in distinct if (found := _message(row)) is not None))
    several = len({row.group for row in distinct if row.group is not None}) > 1
    parts = [ARROW_TIP]
    for number, site in enumerate(sites):
        y = TOP + LANE * number
        parts.append(f'<line class="lane" x1="{LEFT - 8}" x2="{width - 12:.0f}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="site" x="{LEFT - 18}" y="{y + 5}" text-anchor="end">{escape(_shortened(site, 11))}</text>'
        )
    for number, message in enumerate(messages):
        parts += _links([node for node in nodes if _message(node.row) == message], number)
    for node in nodes:
        found = _message(node.row)
        parts.append(_mark(node, messages.index(found) if found is not None else -1, several, by_time))
    return (
        f'<svg class="diagram" viewBox="0 0 {width:.0f} {height}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="space-time diagram of the witness">{"".join(parts)}</svg>'
    )


def _message(row: Row) -> Message | None:
    if row.origin is None or row.seqno is None:
        return None
    return row.origin, row.seqno


def _levels(rows: Sequence[Row]) -> dict[Row, int]:
    """How far right each row is: behind what its site did before, and behind the broadcast of its message."""
    before: dict[Row, list[Row]] = {row: [] for row in rows}
    for row in rows:
        for other in rows:
            if other.site == row.site and other.order < row.order:
                before[row].append(other)
            elif row.event != BROADCAST and other.event == BROADCAST and _message(other) == _message(row):
                if other.site != row.site:
                    before[row].append(other)
    levels: dict[Row, int] = {}
    waiting = list(rows)
    while waiting:
        ready = [row for row in waiting if all(other in levels for other in before[row])]
        if not ready:  # a trace may say that a message was delivered before the site of its broadcast had it
            ready = [min(waiting, key=lambda row: (row.order, row.site))]
        for row in ready:
            levels[row] = max((levels.get(other, -1) + 1 for other in before[row]), default=0)
            waiting.remove(row)
    return levels


def _links(nodes: list[_Node], number: int) -> list[str]:
    """Arrows from the broadcast; without one, a dashed line from site to site."""
    color = f"var(--c{number % COLORS + 1})"
    source = next((node for node in nodes if node.row.event == BROADCAST), None)
    others = sorted((node for node in nodes if node is not source), key=lambda node: node.y)
    if source is not None:
        return [_link(source, node, color, 'marker-end="url(#tip)"') for node in others]
    return [_link(one, other, color, 'stroke-dasharray="5 4"') for one, other in pairwise(others)]


def _link(one: _Node, other: _Node, color: str, more: str) -> str:
    if one.y == other.y:  # along a lane: an arc above it
        middle = (one.x + other.x) / 2
        path = f"M{one.x:.0f} {one.y:.0f} Q{middle:.0f} {one.y - 46:.0f} {other.x:.0f} {other.y:.0f}"
    else:
        path = f"M{one.x:.0f} {one.y:.0f} L{other.x:.0f} {other.y:.0f}"
    return f'<path class="link" d="{path}" style="stroke:{color}" {more}/>'


def _mark(node: _Node, number: int, several_groups: bool, by_time: bool) -> str:
    row, x, y = node
    color = f"var(--c{number % COLORS + 1})" if number >= 0 else "var(--ink)"
    about = f"{row.event} at order {row.order}, {row.time_us:,} µs"
    if row.event == BROADCAST:
        shape = f'<rect x="{x - 7:.0f}" y="{y - 7:.0f}" width="14" height="14" rx="2" style="fill:{color}"/>'
    elif row.event == DELIVER:
        shape = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="8" style="fill:{color}"/>'
    elif row.event == RECEIVE:
        shape = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="7" class="hollow" style="stroke:{color}"/>'
    elif row.event == ROLLBACK:
        shape = f'<path class="cross" d="M{x - 7:.0f} {y - 7:.0f} l14 14 m0 -14 l-14 14" style="stroke:{color}"/>'
    elif row.event == VIEW:
        shape = f'<rect x="{x - 2:.0f}" y="{y - 16:.0f}" width="4" height="32" rx="2" style="fill:{color}"/>'
    else:
        shape = f'<path class="cross" d="M{x - 6:.0f} {y - 6:.0f} l12 12 m0 -12 l-12 12" style="stroke:{color}"/>'
    name, verb = escape(_name(row, several_groups)), escape(_shortened(_verb(row, by_time), 24))
    return (
        f"<g><title>{escape(about)}</title>{shape}"
        f'<text class="what" x="{x:.0f}" y="{y - 15:.0f}" text-anchor="middle">{name}</text>'
        f'<text class="when" x="{x:.0f}" y="{y + 26:.0f}" text-anchor="middle">{verb}</text></g>'
    )


def _name(row: Row, several_groups: bool) -> str:
    if row.event == VIEW:
        return f"view {row.view}"
    if row.event in (CRASH, RECOVER) or row.origin is None:
        return row.event
    name = f"{row.origin}/{row.seqno}"
    return _shortened(f"{row.group}:{name}" if several_groups and row.group is not None else name, 20)


def _verb(row: Row, by_time: bool) -> str:
    if row.event == VIEW:
        return "{" + " ".join(row.members or ()) + "}"
    return f"{row.event} at {row.time_us:,} µs" if by_time else row.event


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
