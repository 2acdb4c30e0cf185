"""Near-duplicates and passages in tables: pyarrow, Polars, pandas, DuckDB, datasets, whatever speaks Arrow.

The module `datatrove` has a filter for the pipelines of datatrove.
"""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, Unpack, overload

from simhash_hbase.errors import InvalidArgument, missing_extra

try:
    import pyarrow as pa
except ImportError as error:
    raise missing_extra("tables need pyarrow", "arrow") from error

from simhash_hbase.index.arguments import PassageOptions, PassageSearch
from simhash_hbase.index.index import Index
from simhash_hbase.inputs.records import listed
from simhash_hbase.profile.profile import ProfileOptions
from simhash_hbase.stores.addresses import Address
from simhash_hbase.tables.dedup import DedupRequest, Unreadable
from simhash_hbase.tables.passages import PassagesRequest
from simhash_hbase.tables.request import RefusedRows
from simhash_hbase.tables.shapes import apply

__all__ = ["RefusedRows", "drop_near_duplicates", "mark_near_duplicates", "mark_passages"]

T = TypeVar("T")


class Relation(Protocol):
    """A relation of DuckDB, a table or a query, as type checkers see it."""

    def fetchall(self) -> list[Any]:
        """Return all rows of the relation."""


class TableOptions(ProfileOptions, total=False):
    """Keywords of `drop_near_duplicates` and `mark_near_duplicates`, which explain them."""

    id: str | None
    keep: str
    exact: bool
    contained: float | None
    index: Index | Address | None
    workers: int
    max_document_bytes: int
    batch: str | None
    progress: bool
    learn_from: Iterable[str]


@overload
def drop_near_duplicates(
    table: Relation, text: str = ..., *, unreadable: Unreadable = ..., **options: Unpack[TableOptions]
) -> pa.Table: ...
@overload
def drop_near_duplicates(
    table: T, text: str = ..., *, unreadable: Unreadable = ..., **options: Unpack[TableOptions]
) -> T: ...
def drop_near_duplicates(
    table: Any,
    text: str = "text",
    *,
    id: str | None = None,
    keep: str = "first",
    index: Index | Address | None = None,
    unreadable: Unreadable = "raise",
    **options: Any,
) -> Any:
    """Return a table without the rows whose text is a near copy of another row's; the decisions are those of `dedup`.

    Parameters
    ----------
    table : pyarrow, Polars, pandas, DuckDB or datasets object, or list
        Anything that exports Arrow streams (``__arrow_c_stream__``), a Hugging Face `IterableDataset`, or a list of
        dictionaries or of strings.
    text : str
        Column with the texts.
    id : str, optional
        Column with the ids, strings or integers; without it a row's id is its number from 0.
    keep : str
        Which one of near copies stays: ``first``; ``longest``; ``best:COLUMN``, that with the highest number,
        ``best:-COLUMN`` with the lowest; ``rank:COLUMN=a,b,c``, that of the preferred source, where sources that are
        not listed come last. The first of equals is kept. Documents in an index always stay, whatever their score.
    index : Index, str or path, optional
        An index, or its address, that the rows are compared with and written to; it needs `id`. By default
        a temporary one.
    unreadable : {"raise", "keep", "drop"}
        The treatment of rows that cannot be decided: rows without a text or without usable words, with an id that
        came before, or without the value that `keep` asks for.
    **options
        ``workers``: number of processes that fingerprint, 1 by default. ``max_document_bytes``: texts that are longer
        are refused, 8 MB by default. ``exact``: whether pairs that the sketches bring together are judged by their
        texts. ``contained``: the share of a row's 5-character shingles that the row that stays must hold; it implies
        ``exact``. ``batch``: with `index`, the name of what the rows come in, such as a crawl; see `Index.batches`.
        ``progress``: whether standard error shows how many rows are done, by a bar on a terminal and in a notebook,
        elsewhere by a line a minute and a last one; by default nothing is shown. The others are fields of `Profile` for
        the temporary index, such as ``near="text"`` or ``agree="site"``, which names a column; by default its idf is
        learned from the table.

    Returns
    -------
    of the type of `table`
        A `LazyFrame` is computed, and so is a DuckDB relation, which gives a pyarrow `Table`, as a `RecordBatch` does.
        A stream, such as a `RecordBatchReader`, becomes a `RecordBatchReader` that works as it is read.

    Raises
    ------
    InvalidArgument
        When the table has no such column, or one of another type, or cannot be read, or options contradict each other;
        when a row cannot be decided and `unreadable` is ``raise``.
    IndexMissing
        When there is no index at the address.

    Warns
    -----
    RefusedRows
        When rows have no decision, and `unreadable` keeps them or leaves them out.

    Notes
    -----
    A stream takes the memory of some batches, and some hundred bytes a row, for the ids. Without `index`, or with
    another `keep` than ``first``, the stream is first copied to the folder for temporary files. Rows that were decided
    stay in `index` when an error ends the work; the same call again makes the same decisions.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"text": ["an article", "another thing", "an article"]})
    >>> drop_near_duplicates(table, analyzer="shingle").to_pylist()
    [{'text': 'an article'}, {'text': 'another thing'}]
    """
    return apply(table, DedupRequest(text, unreadable, {"id": id, "keep": keep, "index": index, **options}))


@overload
def mark_near_duplicates(table: Relation, text: str = ..., **options: Unpack[TableOptions]) -> pa.Table: ...
@overload
def mark_near_duplicates(
    table: list[str], text: str = ..., **options: Unpack[TableOptions]
) -> list[dict[str, Any]]: ...
@overload
def mark_near_duplicates(table: T, text: str = ..., **options: Unpack[TableOptions]) -> T: ...
def mark_near_duplicates(
    table: Any,
    text: str = "text",
    *,
    id: str | None = None,
    keep: str = "first",
    index: Index | Address | None = None,
    **options: Any,
) -> Any:
    """Return a table with the decisions of `drop_near_duplicates` added in four columns.

    Parameters, result and errors are the same. All rows stay; those that cannot be decided get nulls, and a warning.

    Notes
    -----
    ``duplicate_of``: id of the row that stays; null for that row itself. ``distance`` to it: bits of the fingerprint.
    ``similarity`` to it: estimated Jaccard similarity of 5-character shingles. ``cluster``: id of the row that stays,
    for that row, too; null for a row without a decision.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"text": ["an article", "another thing", "an article"]})
    >>> mark_near_duplicates(table, analyzer="shingle")["duplicate_of"].to_pylist()
    [None, None, '0']
    """
    return apply(table, DedupRequest(text, "keep", {"id": id, "keep": keep, "index": index, **options}, marks=True))


class PassageTableOptions(PassageOptions, total=False):
    """Keywords of `mark_passages`, which explains them."""

    id: str | None
    max_document_bytes: int
    progress: bool


@overload
def mark_passages(
    table: Relation, text: str = ..., *, index: Index | Address, **options: Unpack[PassageTableOptions]
) -> pa.Table: ...
@overload
def mark_passages(
    table: list[str], text: str = ..., *, index: Index | Address, **options: Unpack[PassageTableOptions]
) -> list[dict[str, Any]]: ...
@overload
def mark_passages(
    table: T, text: str = ..., *, index: Index | Address, **options: Unpack[PassageTableOptions]
) -> T: ...
def mark_passages(
    table: Any,
    text: str = "text",
    *,
    index: Index | Address,
    id: str | None = None,
    at_least: int = 1,
    same: str | None = None,
    **options: Any,
) -> Any:
    """Return a table with the spans of each text that other documents of an index contain, too; see `Index.passages`.

    All rows stay; those without a usable text get nulls, and a warning. Nothing is written to the index.

    Parameters
    ----------
    table, text
        As for `drop_near_duplicates`.
    index : Index, str or path
        An index that keeps passages, or its address, or that of a service.
    id : str, optional
        Column with the ids: a document of the index does not count for the row with its id. Without it all count.
    at_least : int
        Least number of other documents that hold a span.
    same : str, optional
        A column: other documents count only if they have the same value in the metadata of that name.
    **options
        ``max_document_bytes`` and ``progress``, as for `drop_near_duplicates`.

    Returns
    -------
    of the type of `table`
        As for `drop_near_duplicates`; a stream takes the memory of some batches.

    Raises
    ------
    InvalidArgument
        When the index keeps no passages; when the table has no such column, or one of another type, or cannot be read;
        when it takes no such option: `workers` would have nothing to fingerprint.
    IndexMissing
        When there is no index at the address.

    Warns
    -----
    RefusedRows
        When rows have no text, no letter, number or mark, or no value of `same`.

    Notes
    -----
    Three columns with the fields that ``simhash-hbase passages`` prints. ``passages``: a list of ``start`` and
    ``stop``, in characters of the text; ``documents``, how many others hold some of it; ``at_least``, whether there may
    be more; the ids of the ``first`` that was added, and of that which holds ``most``. ``share``: their share of the
    letters, numbers and marks of the text. ``truncated``: whether a limit kept something from being read.

    Examples
    --------
    >>> from simhash_hbase import create_index
    >>> with create_index("memory:", analyzer="shingle", passages=16) as index:
    ...     _ = index.add("notice", "All rights reserved. Please write to the editors before you copy this.")
    ...     [row] = mark_passages(["Please write to the editors before you copy this. So it is."], index=index)
    >>> [(span["start"], span["stop"], span["first"]) for span in row["passages"]]
    [(4, 45, 'notice')]
    """
    known = PassageTableOptions.__optional_keys__
    if unknown := options.keys() - known:
        raise InvalidArgument(f"mark_passages takes no {listed(sorted(unknown))}: it takes {', '.join(sorted(known))}")
    return apply(table, PassagesRequest(text, id, index, PassageSearch(at_least, same), **options))
