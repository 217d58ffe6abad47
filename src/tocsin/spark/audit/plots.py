"""Plots as SVG text: lines, bands and bars, with axes a person can read. They take their colours from the
page's style.
"""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 520, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 40
COLORS = 6  # the style has --c1 to --c6


class Series(NamedTuple):
    name: str
    points: Sequence[tuple[float, float]]


class Band(NamedTuple):
    """Between two lines over the same places."""

    name: str
    points: Sequence[tuple[float, float, float]]  # x, low, high


class Scale:
    """From values to places on the paper."""

    def __init__(self, low: float, high: float, start: float, end: float, is_log: bool = False) -> None:
        self.is_log = is_log
        self.low, self.high = low, high if high > low else low + 1
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        if self.is_log:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self._start + share * (self._end - self._start)

    def ticks(self, count: int = 5) -> list[float]:
        if self.is_log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            step = max(1, round((last - first) / count))
            powers = [10.0**power for power in range(first, last + 1, step)]
            return [value for value in powers if self.low <= value <= self.high]
        rough = (self.high - self.low) / count
        power = 10 ** math.floor(math.log10(rough))
        step = next((factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough), 10 * power)
        first = math.ceil(self.low / step)
        return [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]


def short_number(value: float) -> str:
    """1500 as 1.5k."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"


def short_time(microseconds: float) -> str:
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if abs(microseconds) >= limit:
            return f"{microseconds / limit:.3g} {unit}"
    return f"{microseconds:.3g} µs"


def line_plot(
    title: str,
    series: Sequence[Series],
    *,
    band: Band | None = None,
    x_label: str,
    y_label: str,
    x_text: Callable[[float], str] = short_number,
    y_text: Callable[[float], str] = short_number,
    x_log: bool = False,
    y_log: bool = False,
    y_high: float | None = None,
) -> str:
    """Lines, and a band behind them. Each line is named where it ends, or in a key if there are several."""
    xs = [x for line in series for x, _ in line.points] + [x for x, _, _ in (band.points if band else ())]
    ys = [y for line in series for _, y in line.points] + [high for _, _, high in (band.points if band else ())]
    if not xs:
        return _frame(title, f'<text class="none" x="{WIDTH / 2}" y="{HEIGHT / 2}">nothing to show</text>')
    x_low, y_low = min(xs), 0.0
    if x_log:
        x_low = max(min(x for x in xs if x > 0), 1e-9)
    if y_log:
        y_low = max(min((y for y in ys if y > 0), default=1.0), 1e-9)
    across = Scale(x_low, max(xs), LEFT, WIDTH - RIGHT, x_log)
    up = Scale(y_low, (y_high or max(ys) or 1.0) * (1.0 if y_high else 1.05), HEIGHT - BOTTOM, TOP, y_log)
    parts = [_axes(across, up, x_label, y_label, x_text, y_text)]
    if band is not None:
        edge = [f"{across.place(x):.1f},{up.place(high):.1f}" for x, _, high in band.points]
        edge += [f"{across.place(x):.1f},{up.place(low):.1f}" for x, low, _ in reversed(band.points)]
        parts.append(f'<polygon class="band" points="{" ".join(edge)}"><title>{escape(band.name)}</title></polygon>')
    for number, line in enumerate(series):
        points = " ".join(f"{across.place(x):.1f},{up.place(y):.1f}" for x, y in line.points)
        color = f"var(--c{number % COLORS + 1})"
        name = f"<title>{escape(line.name)}</title>"
        parts.append(f'<polyline class="line" style="stroke:{color}" points="{points}">{name}</polyline>')
    names = [(line.name, f"var(--c{number % COLORS + 1})") for number, line in enumerate(series)]
    if band is not None:
        names.append((band.name, "var(--band)"))
    return _frame(title, "".join(parts), _key(names) if len(names) > 1 else "")


def bar_plot(
    title: str,
    bars: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    value_text: Callable[[float], str] = short_number,
) -> str:
    """Bars side by side, a row each; a row may be made of parts, named in the key."""
    if not bars:
        return _frame(title, f'<text class="none" x="{WIDTH / 2}" y="{HEIGHT / 2}">nothing to show</text>')
    parts_named = list(dict.fromkeys(name for _, parts in bars for name, _ in parts))
    color = {name: f"var(--c{number % COLORS + 1})" for number, name in enumerate(parts_named)}
    longest = max(sum(value for _, value in parts) for _, parts in bars) or 1.0
    left = min(200, 14 + 7 * max(len(name) for name, _ in bars))
    step = 24
    height = TOP + step * len(bars) + 8
    across = Scale(0, longest * 1.12, left, WIDTH - RIGHT)
    drawn: list[str] = []
    for row, (name, parts) in enumerate(bars):
        y = TOP + row * step
        drawn.append(f'<text class="name" x="{left - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>')
        start = 0.0
        for part, value in parts:
            x, end = across.place(start), across.place(start + value)
            told = f"{name}, {part}: {value:,.0f}" if len(parts_named) > 1 else f"{name}: {value:,.0f}"
            drawn.append(
                f'<rect x="{x:.1f}" y="{y + 3}" width="{max(end - x - 1, 0.5):.1f}" height="{step - 8}" rx="2" '
                f'style="fill:{color[part]}"><title>{escape(told)}</title></rect>'
            )
            start += value
        drawn.append(f'<text class="tick" x="{across.place(start) + 5:.1f}" y="{y + 15}">{value_text(start)}</text>')
    key = _key([(name, color[name]) for name in parts_named]) if len(parts_named) > 1 else ""
    return _frame(title, "".join(drawn), key, height)


def _axes(
    across: Scale,
    up: Scale,
    x_label: str,
    y_label: str,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
) -> str:
    parts: list[str] = []
    floor = HEIGHT - BOTTOM
    for value in up.ticks(4):
        y = up.place(value)
        told = escape(y_text(value))
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{told}</text>')
    for value in across.ticks(6):
        x = across.place(value)
        anchor = "end" if x > WIDTH - RIGHT - 14 else "middle"
        told = escape(x_text(value))
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{floor}" y2="{floor + 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{floor + 16}" text-anchor="{anchor}">{told}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="label" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
    turned = f"translate(12 {(TOP + floor) / 2}) rotate(-90)"
    parts.append(f'<text class="label" transform="{turned}" text-anchor="middle">{escape(y_label)}</text>')
    return "".join(parts)


def _key(names: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<li><i style="background:{color}"></i>{escape(name)}</li>' for name, color in names)
    return f'<ul class="key">{items}</ul>'


def _frame(title: str, inside: str, key: str = "", height: float = HEIGHT) -> str:
    return (
        f'<figure class="plot"><figcaption>{escape(title)}</figcaption>{key}'
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">{inside}</svg></figure>'
    )
