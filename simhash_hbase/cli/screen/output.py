"""Output of commands: JSON lines or tables on standard output, everything else on standard error.

The progress of a long command is a bar on a terminal, and elsewhere a line now and then. rich is imported for a
terminal and for tables only: the first line of a pipe does not wait for it.
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, Self

import click
import msgspec

from simhash_hbase.cli import exits
from simhash_hbase.cli.screen.terminal import erase_starting, harmless, secretless
from simhash_hbase.corpus.options import RunListener
from simhash_hbase.index.jsonforms import plain
from simhash_hbase.inputs.meter import Meter, Unit, counted, per_second, silent
from simhash_hbase.signals import whole

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID

    from simhash_hbase.index.index import Index
    from simhash_hbase.index.local import LocalIndex

    Drawing = Callable[[int], Iterable[RenderableType]]

FLUSH_BYTES = 1 << 16
ROWS_A_TABLE = 1_000  # Columns are as wide as their rows need, so rows wait for their table: not for ever.
WINDOW_S = 30.0
SHOWN_EVERY_S = 0.1
SURE_AFTER_S = 1.0
LINE_EVERY_S = 60.0  # A log of a day stays readable.
MEGABYTE = 1e6
MUCH = MEGABYTE  # Bytes to read, which take more than a second.
SOON = 0.05  # A walk whose first page is a smaller share of the index takes a quarter of a second or more.

Say = Callable[[str], None]


class Output(ABC):
    """The output of a command: its results on standard output, as JSON lines, tables or a page, and its messages.

    Used as a context, it prints the results that are still buffered when the block ends, also after an error. Commands
    call `flush` after each batch that the store has acknowledged: so a printed result is stored, and the reader of a
    pipe sees it soon.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._context = click.get_current_context()  # Of this thread alone.
        self.quiet = quiet  # Nothing but results and errors.
        self._has_said = False
        self._bar: Bar | None = None
        self._start = monotonic()

    @abstractmethod
    def line(
        self, record: Mapping[str, object], *, rows: Callable[[], Iterable[Mapping[str, object]]] | None = None
    ) -> None:
        """Print one of many results: `record` as JSON, or in a table the rows that `rows` returns for it.

        Without `rows` the table has one row, the record.
        """

    @abstractmethod
    def record(
        self,
        record: Mapping[str, object],
        *,
        about: Collection[str] = (),
        drawn: Drawing | None = None,
        page: Callable[[], bytes] | None = None,
    ) -> None:
        """Print the result of a command that has only one.

        As a table, numbers of the fields in `about` are marked as estimates; a command that passes `drawn`, a function
        of the terminal's width, draws its own table. `page` returns the HTML page for ``--format html``.
        """

    @abstractmethod
    def flush(self) -> None:
        """Write buffered results to standard output."""

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Hide the progress bar while the block prints lines on the same terminal."""
        erase_starting()
        with self._bar.hidden() if self._bar and sys.stdout.isatty() else nullcontext():
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def note(self, text: str) -> None:
        """Print a message for people on standard error; with ``--quiet`` print nothing."""
        if not self.quiet:
            self.error(text)

    def warn_of_expiry(self, index: Index) -> None:
        """Print a warning if all documents of the index have expired: this machine's clock may be ahead."""
        if warning := index.expiry_warning():
            self.note(f"warning: {warning}")

    def made(self, make: Callable[[], LocalIndex]) -> LocalIndex:
        """Return the index that `make` makes; print its warnings, and settings of the table that it could not make.

        Some gateways of HBase cannot make all settings of a table: an operator has to make those.
        """
        from simhash_hbase.api import WeakHashWarning

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WeakHashWarning)
            index = make()
        for warning in caught:
            self.note(f"warning: {warning.message}")
        if index.store.shortfalls:
            head = "warning: the gateway could not set everything; ask an operator to run schema/ for:"
            self.note("\n  ".join([head, *index.store.shortfalls]))
        return index

    @property
    def listener(self) -> RunListener:
        """The callbacks by which functions of the library print their notes and show their progress on this output."""
        return RunListener(self.note, self.meter, self.in_options)

    def in_options(self, sentence: str) -> str:
        """Return a message of the library in which parameters, in backticks, are options of the command line.

        A parameter that several commands have is named as this command's option.
        """
        return exits.in_options(sentence, self._context)

    def error(self, text: str) -> None:
        """Print an error message on standard error, also with ``--quiet``."""
        said = secretless(harmless(self.in_options(text)))
        self._has_said = True
        erase_starting()
        if self._is_terminal():
            self._console.print(said, markup=False, highlight=False, emoji=False, soft_wrap=True)
        else:
            print(said, file=sys.stderr, flush=True)

    def seconds(self) -> float:
        """Return how long the command has run."""
        return max(monotonic() - self._start, 1e-9)

    def summary(
        self, command: str, documents: int, *, seconds: float | None = None, decided_before: int = 0, **counts: int
    ) -> None:
        """Print the last line of a command: the numbers of documents and of `counts`, the seconds and the rate.

        `seconds` are those in which the documents were read and decided; None: all since the command began.
        `decided_before` of the documents were decided by an earlier run, and do not count in the rate.
        """
        seconds = self.seconds() if seconds is None else seconds
        rate = (documents - decided_before) / seconds
        counts = {"decided before": decided_before, **counts} if decided_before else counts
        rest = "".join(f", {counted(n, name.replace('_', ' '))}" for name, n in counts.items() if n)
        self.note(f"{command}: {counted(documents, 'documents')}{rest}; {seconds:.1f} s, {per_second(rate)} a second")

    @contextmanager
    def meter(
        self,
        name: str,
        total: float | None = None,
        *,
        noun: str = "documents",
        count: int = 0,
        unit: Unit = "things",
        every_s: float = LINE_EVERY_S,
    ) -> Iterator[Meter]:
        """Show the progress of a task on standard error; yield the meter, to which the caller reports it.

        `total` is the amount of work, in `unit`, or None if unknown; `noun` is the name of the things that are counted;
        `count` of them were finished by an earlier run. Where standard error is no terminal, a line is printed every
        `every_s` seconds.
        """
        if self.quiet:
            with silent(name) as meter:
                yield meter
        elif self._is_terminal():
            from rich.progress import BarColumn, Progress, TextColumn

            erase_starting()
            pace = Pace(total, noun, count=count)
            columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[said]}"))
            bar = Progress(
                *columns,
                console=self._console,
                transient=True,
                expand=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            with bar:
                self._bar = Bar(bar, bar.add_task(name, total=total, said=pace.said()), pace)
                try:
                    yield self._bar
                finally:
                    self._bar = None
        else:
            # After any message it is known that the command is at work, so no early line is needed.
            early = "things" if self._has_said else unit
            yield ProgressLines(name, Pace(total, noun, count=count), self.note, unit=early, every_s=every_s)

    @contextmanager
    def walk(self, name: str, *, soon: bool = True) -> Iterator[Callable[[int, float], None]]:
        """Show the progress of reading through a whole index; yield the callback to which the caller reports it.

        The callback takes the number of cells read, and the share of the index, from 0 to 1. Where standard error is no
        terminal, the first line of a long task comes after the first page of cells if `soon`, else after a minute.
        """
        with self.meter(name, 1.0, noun="cells", unit="share" if soon else "things") as meter:
            yield meter.show

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(stderr=True)

    def _is_terminal(self) -> bool:
        """Return whether standard error is a terminal whose cursor moves, whatever colours were asked for."""
        return sys.stderr.isatty() and not self._console.is_dumb_terminal


class JsonOutput(Output):
    """The output of ``--format json``: prints results as JSON lines, which are buffered."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._encoder = msgspec.json.Encoder()
        self._stream: BinaryIO = sys.stdout.buffer
        self._buffer = bytearray()

    def line(self, record: Mapping[str, object], *, rows: object = None) -> None:
        """Print one of many results as a line of JSON."""
        self._encoder.encode_into(plain(record), self._buffer, len(self._buffer))
        self._buffer += b"\n"
        if len(self._buffer) >= FLUSH_BYTES:
            self.flush()

    def encoded(self, lines: bytes | bytearray) -> None:
        """Print lines of JSON that are encoded already."""
        self._buffer += lines
        if len(self._buffer) >= FLUSH_BYTES:
            self.flush()

    def record(self, record: Mapping[str, object], *, page: Callable[[], bytes] | None = None, **_: object) -> None:
        """Print the one result of a command as a line of JSON."""
        self.line(record)

    def flush(self) -> None:
        """Write buffered results to standard output."""
        if self._buffer:
            self._has_said = True
            # Nobody knows how much of an interrupted write was done: lines would be torn or come twice.
            with whole(), self._room():
                left, self._buffer = memoryview(self._buffer), bytearray()
                while left:
                    # With PYTHONUNBUFFERED no buffer below writes the rest after an interrupt.
                    left = left[self._stream.write(left) :]
                self._stream.flush()


class PageOutput(JsonOutput):
    """The output of ``--format html``: prints the one result of a command as a page for a browser."""

    def record(self, record: Mapping[str, object], *, page: Callable[[], bytes] | None = None, **_: object) -> None:
        """Print the HTML page that `page` returns; without `page`, the result as a line of JSON."""
        if page is None:
            self.line(record)
            return
        with self._room():
            self._stream.write(page())


class TableOutput(Output):
    """The output of ``--format table``: prints results as tables for people."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._rows: list[Mapping[str, object]] = []

    def line(
        self, record: Mapping[str, object], *, rows: Callable[[], Iterable[Mapping[str, object]]] | None = None
    ) -> None:
        """Add the rows of one of many results to the table, which is printed after 1,000 rows or at the end."""
        for row in [record] if rows is None else rows():
            self._rows.append(row)
            if len(self._rows) >= ROWS_A_TABLE:
                self._print_rows()

    def record(
        self, record: Mapping[str, object], *, about: Collection[str] = (), drawn: Drawing | None = None, **_: object
    ) -> None:
        """Print a table of the one result of a command."""
        from simhash_hbase.cli.screen.tables import print_wide, record_table

        with self._room():
            print_wide(drawn or (lambda _: [record_table(record, about)]))

    def flush(self) -> None:
        """Do nothing: rows wait until their table has 1,000 rows, or the command ends."""

    def _print_rows(self) -> None:
        from simhash_hbase.cli.screen.tables import print_wide, rows_table

        with self._room():
            print_wide(lambda _: [rows_table(self._rows)])
        self._rows = []

    def __exit__(self, *_: object) -> None:
        if self._rows:
            self._print_rows()


OUTPUTS: Mapping[str, type[Output]] = {"json": JsonOutput, "table": TableOutput, "html": PageOutput}


class Pace:
    """The progress of a task: the share that is done, its rate in the last half minute, and the time left.

    The time left is that at the mean rate since the beginning: a group of batches may be written for longer than half a
    minute, in which nothing else is done.

    The library rich has one unit for all of these, and no rate when updates are half a minute apart; here the share may
    be of bytes and the rate of documents, and a batch may take minutes.
    """

    def __init__(
        self, total: float | None, noun: str, *, count: int = 0, clock: Callable[[], float] = monotonic
    ) -> None:
        self.total = total
        self._noun = noun
        self._clock = clock
        start = clock()
        self._seen = deque([(start, 0.0, count)])
        # What an earlier run did is passed over before the first count.
        self._begun = None if count else (start, 0.0)

    def add(self, count: int, done: float | None) -> bool:
        """Take how many things are finished, and how much of the total; return whether to show that.

        It is shown at most ten times a second.
        """
        now = self._clock()
        self._begun = self._begun or (now, done or 0.0)
        new = len(self._seen) < 2 or now - self._seen[-2][0] >= SHOWN_EVERY_S  # noqa: PLR2004
        if not new:
            self._seen.pop()
        self._seen.append((now, done or 0.0, count))
        while len(self._seen) > 2 and self._seen[1][0] < now - WINDOW_S:  # noqa: PLR2004 - two points make a pace
            self._seen.popleft()
        return new

    def rate(self) -> float:
        """Return the number of things finished a second, over the last half minute."""
        (start, _, before), (now, _, count) = self._seen[0], self._seen[-1]
        return (count - before) / (now - start) if now > start else 0.0

    def left_s(self) -> float | None:
        """Return the estimated seconds until the task ends; None if they are unknown."""
        now, done, _ = self._seen[-1]
        start, before = self._begun or (now, done)
        if not self.total or done <= before or now - start < SURE_AFTER_S:
            return None
        return max(0.0, self.total - done) * (now - start) / (done - before)

    def share(self) -> float:
        """Return the share of the task that is done, from 0 to 1; 0 if its total is unknown."""
        return min(1.0, self._seen[-1][1] / self.total) if self.total else 0.0

    def said(self, *, rated: bool = True) -> str:
        """Return the progress in words, such as "40%, 2,000 documents, 500 a second, 0:00:06 left".

        The rate is left out if not `rated`.
        """
        _, _, count = self._seen[-1]
        words = [counted(count, self._noun)]
        if rated and (rate := self.rate()):
            words.append(f"{per_second(rate)} a second")
        if self.total:
            words.insert(0, f"{self.share():.0%}")
        if (left := self.left_s()) is not None:
            words.append(f"{timedelta(seconds=round(left))} left")
        return ", ".join(words)


class ProgressLines:
    """Shows the progress of a task by lines: one every `every_s` seconds, the first one soon if there is much to do."""

    def __init__(
        self,
        name: str,
        pace: Pace,
        say: Say,
        clock: Callable[[], float] = monotonic,
        *,
        unit: Unit = "things",
        every_s: float = LINE_EVERY_S,
    ) -> None:
        self._name = name
        self._pace = pace
        self._say = say
        self._clock = clock
        self._every_s = every_s
        self._next = clock() + every_s
        self._beginning = unit == "share"
        if unit == "bytes" and pace.total is not None and pace.total >= MUCH:
            say(f"{name}: {pace.total / MEGABYTE:,.0f} MB to read")

    def show(self, count: int, done: float | None = None) -> None:
        """Take how many things are finished, and how much of the total; print a line if it is time for one."""
        self._pace.add(count, done)
        if self._clock() >= self._next or (self._beginning and self._pace.share() < SOON):
            self._say(f"{self._name}: {self._pace.said(rated=not self._beginning)}")
            self._next = self._clock() + self._every_s
        self._beginning = False


class Bar:
    """Updates a progress bar on a terminal with the counts of a task.

    The caller opens the bar and removes it. Where there is no terminal, `ProgressLines` prints lines instead.
    """

    def __init__(self, bar: Progress, task: TaskID, pace: Pace) -> None:
        self._bar = bar
        self._task = task
        self._pace = pace

    def show(self, count: int, done: float | None = None) -> None:
        """Take how many things are finished, and how much of the total; redraw the bar, with words beside it."""
        if self._pace.add(count, done):
            self._bar.update(self._task, completed=done, said=self._pace.said())

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the bar while the block prints something else."""
        self._bar.stop()
        yield
        self._bar.start()
