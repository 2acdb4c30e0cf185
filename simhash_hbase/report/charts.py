"""Histograms: the counts of their bars, drawn as inline SVG, and as tables for those who cannot see them."""

import sqlite3
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_BINS = 50  # Bins of similarity, from 0 to 1.
_SHOWN_FROM = 35


class HistogramBar(NamedTuple):
    """One bar of a histogram."""

    label: str
    tick: str
    height: int
    start: float  # The least value in the bar.


def distance_bars(database: sqlite3.Connection) -> list[HistogramBar]:
    """Count duplicates by their distance to what was kept."""
    counts = dict(database.execute("SELECT distance, COUNT(*) FROM duplicate GROUP BY distance"))
    return [
        HistogramBar(f"distance {distance}", str(distance), counts.get(distance, 0), distance)
        for distance in range(max(counts, default=0) + 1)
    ]


def similarity_bars(database: sqlite3.Connection) -> list[HistogramBar]:
    """Count duplicates by their similarity to what was kept, where it is known."""
    bins = f"CAST(similarity * {_BINS} + 1e-9 AS INTEGER)"
    counts = dict(
        database.execute(f"SELECT {bins}, COUNT(*) FROM duplicate WHERE similarity IS NOT NULL GROUP BY {bins}")
    )
    if not counts:
        return []
    bars = []
    for number in range(min(*counts, _SHOWN_FROM), _BINS + 1):
        low, high = f"{number / _BINS:.2f}", f"{(number + 1) / _BINS:.2f}"
        label = "similarity 1" if number == _BINS else f"similarity from {low} to below {high}"
        tick = "1" if number == _BINS else low
        bars.append(HistogramBar(label, tick, counts.get(number, 0), number / _BINS))
    return bars


WIDTH, HEIGHT = 520, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 26, 30
_MOST_TICKS = 9
_DIGIT = 7.5
_GAP = 0.18


class Bound(NamedTuple):
    """A bound of the deciding rule."""

    value: float  # The end of one bar, and the start of the next.
    label: str


def histogram(
    name: str, title: str, unit: str, bars: Sequence[HistogramBar], *, bound: Bound | None, counted: str = "duplicates"
) -> str:
    """Draw bars."""
    most = max(bar.height for bar in bars) or 1
    step = (WIDTH - _LEFT - _RIGHT) / len(bars)
    each = -(-len(bars) // _MOST_TICKS)
    drawn = "".join(
        _bar(bar, _LEFT + at * step, step, bar.height / most, has_tick=(len(bars) - 1 - at) % each == 0)
        for at, bar in enumerate(bars)
    )
    if not all(_has_room(bar, step) for bar in bars):
        drawn += _text(WIDTH - _RIGHT, 12, "count end", f"highest bar: {most:,}")
    drawn += _line(bound, bars, step) if bound is not None else ""
    rows = "".join(f"<tr><td>{escape(bar.label)}</td><td>{bar.height:,}</td></tr>" for bar in bars)
    return (
        f'<figure class="chart" id="{name}"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}; the table below has the figures">'
        f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{HEIGHT - _BOTTOM}" y2="{HEIGHT - _BOTTOM}"/>'
        f"{drawn}</svg>"
        f'<p class="unit">{escape(unit)}</p>'
        "<details><summary>as a table</summary><table>"
        f"<thead><tr><th>{escape(unit)}</th><th>{escape(counted)}</th></tr></thead><tbody>{rows}</tbody></table></details></figure>"
    )


def _line(bound: Bound, bars: Sequence[HistogramBar], step: float) -> str:
    """Draw the rule's bound and its label."""
    each = bars[1].start - bars[0].start if len(bars) > 1 else 1
    place = (bound.value - bars[0].start) / each
    # Rounding must not push what is the end of the last bar out of the chart.
    if not 0 <= place <= len(bars) + 1e-6:
        return ""
    x = _LEFT + place * step
    side, text_x = ("start", x + 4) if place < len(bars) / 2 else ("end", x - 4)
    line = f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{HEIGHT - _BOTTOM}"/>'
    return line + _text(text_x, _TOP - 12, f"count {side}", bound.label)


def _bar(bar: HistogramBar, left: float, step: float, share: float, *, has_tick: bool) -> str:
    base = HEIGHT - _BOTTOM
    # A bar above zero must be visible.
    height = max(share * (base - _TOP), 1.5) if bar.height else 0
    middle = left + step / 2
    parts = [
        f"<g><title>{escape(bar.label)}: {bar.height:,}</title>",
        # The whole column responds to the pointer, however low its bar.
        f'<rect class="column" x="{left:.1f}" y="0" width="{step:.1f}" height="{base}"/>',
        f'<rect class="bar" x="{left + step * _GAP / 2:.1f}" y="{base - height:.1f}" width="{step * (1 - _GAP):.1f}"'
        f' height="{height:.1f}"/>',
    ]
    if bar.height and _has_room(bar, step):
        parts.append(_text(middle, base - height - 6, "count", f"{bar.height:,}"))
    if has_tick:
        parts.append(_text(middle, HEIGHT - 10, "tick", bar.tick))
    return "".join([*parts, "</g>"])


def _has_room(bar: HistogramBar, step: float) -> bool:
    return len(f"{bar.height:,}") * _DIGIT <= step


def _text(x: float, y: float, kind: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
