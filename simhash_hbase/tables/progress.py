"""Progress of the work on a table, on standard error: a bar for people, lines in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from simhash_hbase.inputs.meter import Meter, Unit

LINE_EVERY_S = 60.0
BAR_EVERY_S = 0.1


@contextmanager
def show_progress(
    name: str, total: float | None = None, *, noun: str = "documents", count: int = 0, unit: Unit = "things"
) -> Iterator[Meter]:
    """Show the progress of a task within the block: on a terminal and in a notebook a bar, elsewhere lines.

    There is a line a minute and one at the end. The meter that the block gets takes the numbers.
    """
    console = Console(stderr=True)
    begin = monotonic()

    def print_line(done: int) -> None:
        of = "" if total is None else f" of {total:,.0f}"
        line = f"{name}: {done:,}{of} {noun}, {monotonic() - begin:.1f} s"
        console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    if not (console.is_terminal or console.is_jupyter):
        lines = _Throttled(print_line, LINE_EVERY_S)
        yield lines
        lines.end()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(noun))
    bar = Progress(*columns, TimeRemainingColumn(), console=console, redirect_stdout=False, redirect_stderr=False)
    with bar:
        task = bar.add_task(name, total=total)
        drawn = _Throttled(lambda done: bar.update(task, completed=done), BAR_EVERY_S)
        yield drawn
        drawn.end()


class _Throttled:
    """A meter that draws its count at most once in `every_s` seconds, and its last count at the end."""

    def __init__(self, draw: Callable[[int], None], every_s: float) -> None:
        self._draw = draw
        self._every_s = every_s
        self._last_s = monotonic()
        self._count = 0

    def show(self, count: int, done: float | None = None) -> None:
        """Draw a count if the last one was drawn at least `every_s` seconds ago."""
        self._count = count
        if monotonic() - self._last_s >= self._every_s:
            self._last_s = monotonic()
            self._draw(count)

    def end(self) -> None:
        """Draw the last count, however soon after the one before."""
        self._draw(self._count)
