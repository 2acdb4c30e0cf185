"""Tables for people: lists of results, and one result with its fields below each other."""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from simhash_hbase.cli.screen.terminal import erase_starting, harmless
from simhash_hbase.corpus.notes import per_second

CELL_CHARACTERS = 100
ESTIMATED_DIGITS = 3
# A line of a cell up to this length is not broken if it holds a figure.
WHOLE_CHARACTERS = 32
PIPE_COLUMNS = 160


def rows_table(rows: Sequence[Mapping[str, object]]) -> Table:
    """Make a table of results, a row each."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table()
    for column in columns:
        values = [row.get(column) for row in rows]
        whole = [cell_len(line) for value in values for line in shown(value).splitlines() if _is_whole(line)]
        numbers = all(isinstance(value, int | float | None) and not isinstance(value, bool) for value in values)
        # Folded where there is no room: what is cut off with an ellipsis could be the end of a number.
        table.add_column(
            column, overflow="fold", min_width=max(whole, default=None), justify="right" if numbers else "left"
        )
    for row in rows:
        table.add_row(*(Text(shown(row.get(column))) for column in columns))
    return table


def record_table(record: Mapping[str, object], about: Collection[str] = ()) -> Table:
    """Make a table of one result, a row a field; what is inside a field gets rows of its own.

    Numbers of the fields that `about` names are estimates.
    """
    table = Table("field", "value")
    for name, value in record.items():
        for label, item in _rows(name.replace("_", " "), value):
            table.add_row(Text(label), Text(shown(item, estimate=name in about), overflow="fold"))
    return table


def summary_table(name: str, documents: int, counts: Mapping[str, int], seconds: float, rate: float) -> Table:
    """Make the table that a command ends with."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_row(Text(name, style="bold"))
    table.add_row("  documents", f"{documents:,}")
    for count, number in counts.items():
        share = f"{number / documents:.1%}" if documents and count != "refused" else ""
        table.add_row(f"  {count.replace('_', ' ')}", f"{number:,}", share)
    table.add_row("  seconds", f"{seconds:,.1f}")
    table.add_row("  documents a second", per_second(rate))
    return table


def print_wide(draw: Callable[[int], Iterable[RenderableType]]) -> None:
    """Print on standard output as wide as the terminal is; for a pipe, whose reader has no width, never narrow."""
    erase_starting()
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_COLUMNS)
    for part in draw(console.width):
        # What may not be broken can be wider than all that: the terminal then breaks the line, not a cell.
        console.print(part, crop=False, soft_wrap=False)


def shown(value: object, *, estimate: bool = False) -> str:
    """Write one value for people; of an estimate three digits of each number.

    Examples
    --------
    >>> shown([["CEO", 11.95123], ["teller", 2.0]])
    'CEO 11.9512, teller 2'
    >>> shown({"table": 3, "rows": 1200})
    'table 3, rows 1,200'
    >>> shown({"date": "2026-11-21", "documents": 276_416}, estimate=True)
    'date 2026-11-21, documents about 276,000'
    """
    text = harmless(_written(value, _about if estimate else _number))
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"


def _number(value: float) -> str:
    return f"{round(value, 4):,}".removesuffix(".0")


def _about(value: float) -> str:
    return f"about {_number(round(value, ESTIMATED_DIGITS - len(str(value))) if isinstance(value, int) else value)}"


def _written(value: object, number: Callable[[float], str]) -> str:
    match value:
        case None | bool():
            text = {None: "", True: "yes", False: "no"}[value]
        case int() | float():
            text = number(value)
        case str():
            text = value
        case Mapping():
            text = ", ".join(f"{key} {_written(item, number)}" for key, item in value.items())
        case [str() as name, int() | float() as weight]:
            text = f"{name} {_written(weight, number)}"
        case Iterable():
            text = ", ".join(_written(item, number) for item in value)
        case _:
            text = str(value)
    return text


def _rows(name: str, value: object) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [(f"{name}: {inner}", item) for inner, item in value.items()]
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [(f"{name}: {number}", item) for number, item in enumerate(value, 1)]
    return [(name, value)]


def _is_whole(line: str) -> bool:
    """Tell what may not be broken, whatever the width: a line of a cell with a figure and little else."""
    return len(line) <= WHOLE_CHARACTERS and any(character.isdigit() for character in line)
