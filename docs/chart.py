"""The chart of README.md, from the tables of tests/bench/README.md: ``python docs/chart.py`` draws it anew.

Each bar is a mean over the four corpora; that of the documents a second is a geometric one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import prod
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests" / "bench" / "README.md"
PICTURES = ROOT / "docs" / "pictures"
CORPORA = ("lctt", "laws-zh", "laws-en", "graph")
NAMES = {
    "ours, `verified`, with sketch rows": "simhash-hbase",
    "Lance `MINHASHLSH`, its estimate ≥ 0.77": "Lance, judged",
    "rensa `RMinHashLSH`, its estimate ≥ 0.77": "rensa, judged",
    "datasketch `MinHashLSH`, its estimate ≥ 0.77": "datasketch, judged",
    "Lance `MINHASHLSH`": "Lance",
    "PyPI simhash, 3 bits": "PyPI simhash",
}
COLUMNS = {
    ".8-.9": "recall of copies with J .8 to .9",
    "precision J ≥ .8": "precision at J ≥ .8",
    "documents/s": "documents a second and core",
}
THEMES = {
    "light": {
        "page": "#ffffff",
        "text": "#1f2328",
        "quiet": "#59636e",
        "ours": "#0969da",
        "other": "#8c959f",
        "line": "#d1d9e0",
    },
    "dark": {
        "page": "#0d1117",
        "text": "#f0f6fc",
        "quiet": "#9198a1",
        "ours": "#4493f8",
        "other": "#656c76",
        "line": "#3d444d",
    },
}
WIDTH, LABEL, BAR, GAP = 840, 130, 172, 64
TOP, ROW, HEIGHT = 34, 26, 15
EDGE = 10


class Bar(NamedTuple):
    """One value of one index."""

    index: str
    value: float
    text: str


def tables() -> Iterator[dict[str, dict[str, float]]]:
    """Yield the table of each corpus: its columns by index."""
    section = TABLES.read_text(encoding="utf-8").partition("\n### Other indexes\n")[2].partition("\n## ")[0]
    for corpus in CORPORA:
        table = re.split(rf"\n{corpus}, [^\n]*\n\n", section)[1].partition("\n\n")[0]
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        yield {
            row[0].strip("*"): {name: float(row[head.index(name)].replace(",", "")) for name in COLUMNS} for row in rows
        }


def bars(column: str, found: Sequence[Mapping[str, Mapping[str, float]]]) -> list[Bar]:
    """Return the bars of one part of the chart."""
    made = []
    for index, name in NAMES.items():
        values = [table[index][column] for table in found]
        if column == "documents/s":
            mean = prod(values) ** (1 / len(values))
            made.append(Bar(name, mean, f"{round(mean, -1):,.0f}"))
        else:
            mean = sum(values) / len(values)
            made.append(Bar(name, mean, f"{mean:.2f}".lstrip("0")))
    return made


def chart(colours: Mapping[str, str]) -> str:
    """Return the chart as SVG."""
    found = list(tables())
    height = TOP + ROW * len(NAMES) + 6
    about = "; ".join(
        f"{title}: {', '.join(f'{bar.index} {bar.text}' for bar in bars(column, found))}"
        for column, title in COLUMNS.items()
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-EDGE} {-EDGE} {WIDTH + 2 * EDGE} {height + 2 * EDGE}" '
        f'width="{WIDTH}" font-family="system-ui, sans-serif" font-size="13" role="img">\n'
        f"<title>{escape(about)}</title>\n"
        # A page may be dark where the system is light, and the other way round.
        f'<rect x="{-EDGE}" y="{-EDGE}" width="100%" height="100%" rx="6" fill="{colours["page"]}"/>\n'
    ]
    for number, (column, title) in enumerate(COLUMNS.items()):
        left = LABEL + number * (BAR + GAP)
        made = bars(column, found)
        longest = max(bar.value for bar in made) if column == "documents/s" else 1.0
        parts.append(f'<text x="{left}" y="18" fill="{colours["quiet"]}">{escape(title)}</text>\n')
        parts.append(f'<path d="M{left} {TOP - 6}V{height - 6}" stroke="{colours["line"]}"/>\n')
        for row, bar in enumerate(made):
            y, is_ours = TOP + ROW * row, bar.index == "simhash-hbase"
            fill, weight = colours["ours" if is_ours else "other"], ' font-weight="600"' if is_ours else ""
            width = round(BAR * bar.value / longest, 1)
            if not number:
                parts.append(f'<text x="0" y="{y + 12}" fill="{colours["text"]}"{weight}>{bar.index}</text>\n')
            parts.append(f'<rect x="{left}" y="{y}" width="{width}" height="{HEIGHT}" rx="2" fill="{fill}"/>\n')
            text = f'<text x="{left + width + 6}" y="{y + 12}" fill="{colours["text"]}"{weight}>{bar.text}</text>\n'
            parts.append(text)
    return "".join([*parts, "</svg>\n"])


def draw() -> None:
    """Write the chart for light and for dark pages."""
    for theme, colours in THEMES.items():
        (PICTURES / f"peers-{theme}.svg").write_text(chart(colours), encoding="utf-8")


if __name__ == "__main__":
    draw()
