"""Charts as SVG: readable in black and white (every line has its own marker and dashes), the key outside the data."""

import io
import math

import matplotlib
import matplotlib.ticker
from matplotlib.figure import Figure

from papers.common.paper import Chart, Line, Mark

matplotlib.rcParams.update(
    {
        "svg.hashsalt": "tocsin",  # equal charts are equal bytes
        "svg.fonttype": "none",
        "font.size": 10,
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

WIDTH, HEIGHT = 7.2, 3.9  # inches
PLACES_APART = 1.3  # labels of a logarithmic axis, as a factor
# dark enough to differ from paper, and in this order from each other in grey
COLORS = ("#14477d", "#c2570c", "#157a52", "#8b2f6b", "#5c5c5c", "#9a7b00", "#2b8cbe", "#111111")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)), (0, (3, 2)))


def svg(chart: Chart) -> str:
    """One chart. Measured lines have markers and intervals; a formula is a thin line of the same colour as the
    measured line before it, so that the two are seen together."""
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    number = -1
    named: set[str] = set()
    for line in chart.lines:
        if not line.formula:
            number += 1
        _draw(axes, line, max(number, 0) % len(COLORS), line.name not in named)
        named.add(line.name)
    if chart.x_log:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axes.xaxis.set_major_locator(matplotlib.ticker.FixedLocator(_places(chart)))
        axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    elif all(float(x).is_integer() for line in chart.lines for x, _ in line.points):
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    if chart.y_log:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    elif all(point.mean >= 0 for line in chart.lines for _, point in line.points):
        axes.set_ylim(bottom=0)
    for mark in chart.marks:
        _mark(axes, mark)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    if chart.lines:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Title": chart.title})
    return text.getvalue()


def _places(chart: Chart) -> list[float]:
    """Where a logarithmic axis is labelled: where something was measured, but not so densely that labels touch."""
    found: list[float] = []
    for x in sorted({float(x) for line in chart.lines for x, _ in line.points}):
        if not found or x >= PLACES_APART * found[-1]:
            found.append(x)
    return found


def _mark(axes: "matplotlib.axes.Axes", mark: Mark) -> None:
    """A cross at the place, its text below it and towards the middle."""
    axes.plot([mark.x], [mark.y], marker="x", color="black", markersize=10, markeredgewidth=2, linestyle="none")
    across, _ = axes.transAxes.inverted().transform(axes.transData.transform((mark.x, mark.y)))
    is_right = across > 0.5
    axes.annotate(
        mark.text,
        (mark.x, mark.y),
        xytext=(-10 if is_right else 10, -18),
        textcoords="offset points",
        ha="right" if is_right else "left",
        fontsize=9,
        bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "black", "lw": 0.6},
    )


def _draw(axes: "matplotlib.axes.Axes", line: Line, number: int, is_named: bool) -> None:
    xs = [x for x, _ in line.points]
    ys = [point.mean for _, point in line.points]
    color = COLORS[number]
    if line.formula:
        axes.plot(xs, ys, color=color, linestyle=":", linewidth=1.1, label=line.name if is_named else None)
        return
    halves = [point.half_width if math.isfinite(point.half_width) else 0.0 for _, point in line.points]
    axes.errorbar(
        xs,
        ys,
        yerr=halves,
        color=color,
        marker=MARKERS[number],
        linestyle=DASHES[number],
        markersize=5,
        markerfacecolor="white" if number % 2 else color,
        linewidth=1.4,
        capsize=2.5,
        label=line.name,
    )
