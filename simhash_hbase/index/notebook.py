"""Results as small HTML tables, which notebooks show; whatever comes from documents is escaped and cut."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

MOST_ROWS = 20
MOST_CHARACTERS = 200


class Shown:
    """A dataclass that notebooks show as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_of(self)


def html_of(value: object) -> str:
    """Write a value as HTML: dataclasses and mappings as a row a field, sequences of them as tables.

    Examples
    --------
    >>> html_of({"id": "<b>", "similarity": 0.123456})
    '<table><tr><th>id</th><td>&lt;b&gt;</td></tr><tr><th>similarity</th><td>0.1235</td></tr></table>'
    """
    if (row := _fields(value)) is not None:
        cells = "".join(f"<tr><th>{_escape(name)}</th><td>{html_of(item)}</td></tr>" for name, item in row.items())
        return f"<table>{cells}</table>" if cells else "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _rows(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:,}" if isinstance(value, int) else str(round(value, 4) if isinstance(value, float) else value)
    return _escape(text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…")


def _fields(value: object) -> Mapping[str, object] | None:
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    return {str(name): item for name, item in value.items()} if isinstance(value, Mapping) else None


def _rows(values: Sequence[object]) -> str:
    rows = [_fields(value) or {"": value} for value in values[:MOST_ROWS]]
    if not rows:
        return "none"
    head = "".join(f"<th>{_escape(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{html_of(item)}</td>' for item in row.values())}</tr>" for row in rows)
    rest = f"<p>and {len(values) - MOST_ROWS:,} more</p>" if len(values) > MOST_ROWS else ""
    return f"<table><tr>{head}</tr>{body}</table>{rest}"


def _escape(text: str) -> str:
    # It brings a table of all entities with it, and most processes show nothing.
    from html import escape  # noqa: PLC0415

    return escape(text)
