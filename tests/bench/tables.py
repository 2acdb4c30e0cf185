"""Results as Markdown tables, for README.md of this folder."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Table", "count", "fixed", "microseconds", "rate", "times"]

_MANY = 10.0


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table and what has to be known to read it."""

    title: str
    """A sentence without its full stop."""
    columns: Sequence[str]
    """Heads; the first column is text, the others are numbers."""
    rows: Sequence[Sequence[str]]
    """Cells, as they are printed."""
    notes: Sequence[str] = ()
    """Sentences about how it was measured."""

    def markdown(self) -> str:
        """Write the table.

        Returns
        -------
        str
            A heading, the table, and its notes as a list.

        Examples
        --------
        >>> print(Table(title="Sums", columns=["of", "is"], rows=[["1+1", "2"]], notes=["By hand."]).markdown())
        #### Sums
        <BLANKLINE>
        | of | is |
        | --- | ---: |
        | 1+1 | 2 |
        <BLANKLINE>
        - By hand.
        """
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [_line(cells) for cells in (self.columns, rule, *self.rows)]
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([f"#### {self.title}", "", *lines, *notes])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def count(value: float) -> str:
    """Write a whole number.

    Examples
    --------
    >>> count(1234567.8)
    '1,234,568'
    """
    return f"{value:,.0f}"


def rate(items: float, seconds: float) -> str:
    """Write how many a second."""
    return count(items / seconds)


def times(ours: float, theirs: float) -> str:
    """Write how many times as fast something is, from two durations of the same work.

    Examples
    --------
    >>> times(2.0, 9.0), times(1.0, 123.4)
    ('4.5 x', '123 x')
    """
    ratio = theirs / ours
    return f"{ratio:.0f} x" if ratio >= _MANY else f"{ratio:.2g} x"


def microseconds(seconds: float) -> str:
    """Write a short duration.

    Examples
    --------
    >>> microseconds(0.000_123_4), microseconds(0.000_004_56)
    ('123 µs', '4.6 µs')
    """
    value = seconds * 1e6
    return f"{value:,.0f} µs" if value >= _MANY else f"{value:.1f} µs"


def fixed(value: float, unit: str = "") -> str:
    """Write a number with one decimal.

    Examples
    --------
    >>> fixed(12.345, " %")
    '12.3 %'
    """
    return f"{value:,.1f}{unit}"
