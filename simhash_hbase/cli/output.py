"""What a command prints: JSON lines or tables on standard output, everything else on standard error."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import BinaryIO, Self

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from simhash_hbase.inputs import Progress as InputProgress
from simhash_hbase.results import plain

__all__ = ["Output"]

FLUSH_BYTES = 1 << 16
CELL_CHARACTERS = 100
# A line of a cell up to this length is not broken if it holds a figure.
WHOLE_CHARACTERS = 32
PIPE_COLUMNS = 160


@dataclass(kw_only=True)
class Output:
    """Where and how a command prints.

    Notes
    -----
    As a context it prints, whatever happens inside, what was finished before. Lines are buffered; `flush` is called
    after each batch, so that what was printed was acknowledged and a pipe's reader sees it soon.
    """

    format: str = "json"
    """``json`` for JSON lines, ``table`` for people."""
    quiet: bool = False
    """Nothing but results and errors."""

    def __post_init__(self) -> None:
        self._encoder = msgspec.json.Encoder()
        self._stream: BinaryIO = sys.stdout.buffer
        self._buffer = bytearray()
        self._rows: list[Mapping[str, object]] = []
        self._console = Console(stderr=True)
        self._start = monotonic()

    def line(self, record: Mapping[str, object]) -> None:
        """Print one result."""
        if self.format == "table":
            self._rows.append(record)
            return
        self._encoder.encode_into(plain(record), self._buffer, len(self._buffer))
        self._buffer += b"\n"
        if len(self._buffer) >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hand what was printed to the reader."""
        self._stream.write(self._buffer)
        self._stream.flush()
        self._buffer.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Print what is left, tables all at once: their columns need every row."""
        if self._rows:
            _print_table(_table(self._rows))
            self._rows = []
        self.flush()

    def note(self, text: str) -> None:
        """Tell people something; standard error."""
        if not self.quiet:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Tell people something that is not as it should be; standard error."""
        self.note(text)

    def error(self, text: str) -> None:
        """Tell people why the exit code is not 0; standard error, also when quiet."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def summary(self, command: str, documents: int, **counts: int) -> None:
        """Tell how many, how long and how fast."""
        seconds = max(monotonic() - self._start, 1e-9)
        rest = "".join(f", {n:,} {name.replace('_', ' ')}" for name, n in counts.items() if n)
        self.note(f"{command}: {documents:,} documents{rest}; {seconds:.1f} s, {documents / seconds:,.0f} a second")

    @contextmanager
    def progress(self, name: str, total: int | None, consumed: InputProgress) -> Iterator["Ticker"]:
        """Show how much of the input is read, on a terminal."""
        if self.quiet or not self._console.is_terminal:
            yield Ticker(None, None, consumed)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console, transient=True) as bar:
            yield Ticker(bar, bar.add_task(name, total=total), consumed)


@dataclass
class Ticker:
    """Moves a progress bar, if there is one."""

    bar: Progress | None
    task: object
    consumed: InputProgress

    def move(self) -> None:
        """Show what has been read by now."""
        if self.bar is not None:
            self.bar.update(self.task, completed=self.consumed.bytes_read)  # type: ignore[arg-type]


def _table(rows: list[Mapping[str, object]]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table()
    for column in columns:
        cells = [_cell(row.get(column)) for row in rows]
        whole = [cell_len(line) for cell in cells for line in cell.splitlines() if _is_whole(line)]
        # Folded where there is no room: what is cut off with an ellipsis could be the end of a number.
        table.add_column(column, overflow="fold", min_width=max(whole, default=None))
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    return table


def _is_whole(line: str) -> bool:
    """Tell what may not be broken, whatever the width: a line of a cell with a figure and little else."""
    return len(line) <= WHOLE_CHARACTERS and any(character.isdigit() for character in line)


def _print_table(table: Table) -> None:
    """Print as wide as the terminal is; for a pipe, whose reader has no width, never narrow."""
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_COLUMNS)
    # What may not be broken can be wider than all that: the terminal then breaks the line, not a cell.
    console.print(table, crop=False, soft_wrap=False)


def _cell(value: object) -> str:
    if value is None:
        return ""
    simple = isinstance(value, str | int | float)
    text = str(plain(value)) if simple else msgspec.json.encode(plain(value)).decode()
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"
