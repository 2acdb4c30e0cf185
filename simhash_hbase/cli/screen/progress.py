"""How far a long command is: a bar on a terminal, else a line now and then, or nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

from simhash_hbase.corpus.notes import counted, per_second
from simhash_hbase.pipeline.meter import Unit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

WINDOW_S = 30.0
SHOWN_EVERY_S = 0.1
SURE_AFTER_S = 1.0
LINE_EVERY_S = 60.0  # So that a log of a day stays readable.
MEGABYTE = 1e6
MUCH = MEGABYTE  # Bytes to read, which take more than a second.
SOON = 0.05  # Of a walk through an index: with less done after its first page, all of it takes a quarter of a second.

Say = Callable[[str], None]


class Pace:
    """How fast things go, by the last half minute.

    rich has one unit a task, and no rate when updates are half a minute apart; here the share is of bytes, the rate of
    documents, and a batch may take minutes.
    """

    def __init__(
        self, total: float | None, noun: str, *, count: int = 0, clock: Callable[[], float] = monotonic
    ) -> None:
        self.total = total
        self._noun = noun
        self._clock = clock
        self._seen = deque([(clock(), 0.0, count)])

    def add(self, count: int, done: float | None) -> bool:
        """Note how far it is now; return whether that is worth showing: ten times a second is enough."""
        now = self._clock()
        new = len(self._seen) < 2 or now - self._seen[-2][0] >= SHOWN_EVERY_S  # noqa: PLR2004
        if not new:
            self._seen.pop()
        self._seen.append((now, done or 0.0, count))
        while len(self._seen) > 2 and self._seen[1][0] < now - WINDOW_S:  # noqa: PLR2004 - two points make a pace
            self._seen.popleft()
        return new

    def rate(self) -> float:
        """Things a second."""
        (start, _, before), (now, _, count) = self._seen[0], self._seen[-1]
        return (count - before) / (now - start) if now > start else 0.0

    def left_s(self) -> float | None:
        """Seconds to the end; None when that is unknown."""
        (start, before, _), (now, done, _) = self._seen[0], self._seen[-1]
        if not self.total or done <= before or now - start < SURE_AFTER_S:
            return None
        return max(0.0, self.total - done) * (now - start) / (done - before)

    def share(self) -> float:
        """How much is done, of what there is to do: from 0 to 1."""
        return min(1.0, self._seen[-1][1] / self.total) if self.total else 0.0

    def said(self, *, rated: bool = True) -> str:
        """Write all of it in a line; without the rate where too little was done to tell it."""
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
    """Prints a line once a minute or as often as `every_s` says, and one soon where much is to be done."""

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
        """Print the line when it is time to."""
        self._pace.add(count, done)
        if self._clock() >= self._next or (self._beginning and self._pace.share() < SOON):
            self._say(f"{self._name}: {self._pace.said(rated=not self._beginning)}")
            self._next = self._clock() + self._every_s
        self._beginning = False


class Bar:
    """Moves a bar on a terminal; made by `live_bar`."""

    def __init__(self, bar: Progress, task: TaskID, pace: Pace) -> None:
        self._bar = bar
        self._task = task
        self._pace = pace

    def show(self, count: int, done: float | None = None) -> None:
        """Move it."""
        if self._pace.add(count, done):
            self._bar.update(self._task, completed=done, said=self._pace.said())

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the bar while something else is printed."""
        self._bar.stop()
        yield
        self._bar.start()


@contextmanager
def live_bar(name: str, total: float | None, pace: Pace, console: Console) -> Iterator[Bar]:
    """Show a bar on a terminal, which is gone afterwards."""
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[said]}"))
    with Progress(
        *columns, console=console, transient=True, expand=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        yield Bar(bar, bar.add_task(name, total=total, said=pace.said()), pace)
