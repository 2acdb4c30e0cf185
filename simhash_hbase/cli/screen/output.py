"""What a command prints: JSON lines or tables on standard output, everything else on standard error."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, BinaryIO, Self

import msgspec
from rich.console import Console

from simhash_hbase.cli.screen.controls import harmless, secretless
from simhash_hbase.cli.screen.interrupts import whole
from simhash_hbase.cli.screen.plurals import counted
from simhash_hbase.cli.screen.progress import Lines, Meter, Pace, Silent, live_bar
from simhash_hbase.cli.screen.tables import print_wide, record_table, rows_table, summary_table
from simhash_hbase.index.jsonforms import plain

FLUSH_BYTES = 1 << 16
ROWS_A_TABLE = 1_000
"""Columns are as wide as their rows need, so rows wait for their table: not for ever."""


@dataclass(kw_only=True)
class Output:
    """Where and how a command prints.

    As a context it prints, whatever happens inside, what was finished before. Lines are buffered; `flush` is called
    after each batch, so that what was printed was acknowledged and a pipe's reader sees it soon.
    """

    format: str = "json"
    """``json`` for JSON lines, ``table`` for people."""
    quiet: bool = False
    """Nothing but results and errors."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Take what `output_options` added to a command."""
        return cls(format=options["format_"], quiet=options["quiet"])

    def __post_init__(self) -> None:
        self._encoder = msgspec.json.Encoder()
        self._stream: BinaryIO = sys.stdout.buffer
        self._buffer = bytearray()
        self._rows: list[Mapping[str, object]] = []
        self._console = Console(stderr=True)
        self._meter: Meter = Silent()
        self._start = monotonic()

    def line(self, record: Mapping[str, object]) -> None:
        """Print one of many results."""
        if self.format == "table":
            self._rows.append(record)
            if len(self._rows) >= ROWS_A_TABLE:
                self._print_rows()
            return
        self._encoder.encode_into(plain(record), self._buffer, len(self._buffer))
        self._buffer += b"\n"
        if len(self._buffer) >= FLUSH_BYTES:
            self.flush()

    def record(self, record: Mapping[str, object]) -> None:
        """Print the one result of a command."""
        if self.format == "table":
            print_wide(lambda _: [record_table(record)])
        else:
            self.line(record)

    def flush(self) -> None:
        """Hand what was printed to the reader."""
        if self._buffer:
            # Nobody can tell how much of a write was done before it was interrupted: lines would be torn or come twice.
            with whole(), self._room():
                left, self._buffer = memoryview(self._buffer), bytearray()
                while left:
                    # With PYTHONUNBUFFERED there is nothing behind it that would write what an interrupt left.
                    left = left[self._stream.write(left) :]
                self._stream.flush()

    def _print_rows(self) -> None:
        with self._room():
            print_wide(lambda _: [rows_table(self._rows)])
        self._rows = []

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Keep a bar out of the way of lines on the same terminal."""
        if not sys.stdout.isatty():
            yield
            return
        with self._meter.hidden():
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Print what is left."""
        if self._rows:
            self._print_rows()
        self.flush()

    def note(self, text: str) -> None:
        """Tell people something; standard error."""
        if not self.quiet:
            self.error(text)

    def warn(self, text: str) -> None:
        """Tell people something that is not as it should be; standard error."""
        self.note(text)

    def error(self, text: str) -> None:
        """Tell people why the exit code is not 0; standard error, also when quiet."""
        self._console.print(secretless(harmless(text)), markup=False, highlight=False, soft_wrap=True)

    def summary(self, command: str, documents: int, **counts: int) -> None:
        """Tell how many, how long and how fast: a table on a terminal, else a line."""
        seconds = max(monotonic() - self._start, 1e-9)
        if self._is_terminal() and not self.quiet:
            self._console.print(summary_table(command, documents, counts, seconds))
            return
        rest = "".join(f", {counted(n, name.replace('_', ' '))}" for name, n in counts.items() if n)
        self.note(
            f"{command}: {counted(documents, 'documents')}{rest}; {seconds:.1f} s, {documents / seconds:,.0f} a second"
        )

    @contextmanager
    def meter(
        self, name: str, total: float | None = None, *, noun: str = "documents", count: int = 0
    ) -> Iterator[Meter]:
        """Show how far something is, on standard error."""
        if self.quiet:
            yield Silent()
        elif self._is_terminal():
            with live_bar(name, total, Pace(total, noun, count=count), self._console) as bar:
                self._meter = bar
                try:
                    yield bar
                finally:
                    self._meter = Silent()
        else:
            yield Lines(name, Pace(total, noun, count=count), self.note)

    @contextmanager
    def walk(self, name: str) -> Iterator[Callable[[int, float], None]]:
        """Show how far a walk through an index is; yields what is to be told so."""
        with self.meter(name, 1.0, noun="cells") as meter:
            yield meter.show

    def _is_terminal(self) -> bool:
        """Tell a terminal from a pipe, whatever colours were asked for."""
        return sys.stderr.isatty() and not self._console.is_dumb_terminal
