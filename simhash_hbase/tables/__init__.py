"""Near-duplicates in tables: pyarrow, Polars, pandas, DuckDB, Hugging Face datasets, whatever speaks Arrow.

The module `datatrove` has a filter for the pipelines of datatrove.
"""

from typing import Any, Literal

from simhash_hbase.errors import MissingExtra

try:
    import pyarrow as pa  # noqa: F401 - the modules below need it
except ImportError as error:
    raise MissingExtra("tables need pyarrow: pip install 'simhash-hbase[arrow]'") from error

from simhash_hbase.index.index import Index
from simhash_hbase.tables.asked import Asked, RefusedRows
from simhash_hbase.tables.shapes import apply
from simhash_hbase.tables.work import Dropped, Marked

__all__ = ["RefusedRows", "drop_near_duplicates", "mark_near_duplicates"]


def drop_near_duplicates(
    table: Any,  # noqa: ANN401 - whatever speaks Arrow
    text: str = "text",
    *,
    id: str | None = None,
    keep: Literal["first", "longest"] = "first",
    index: Index | str | None = None,
    unreadable: Literal["raise", "keep", "drop"] = "raise",
    **options: Any,  # noqa: ANN401 - of several types
) -> Any:  # noqa: ANN401 - as the table
    """Leave out the rows whose text is a near copy of another row's; the decisions are those of `dedup`.

    Parameters
    ----------
    table : pyarrow, Polars, pandas, DuckDB or datasets object, or list
        Anything that exports Arrow streams (``__arrow_c_stream__``), a Hugging Face `IterableDataset`, or a list of
        dictionaries or of strings.
    text : str
        Column with the texts.
    id : str, optional
        Column with the ids, strings or integers; without it a row's id is its number from 0.
    keep : {"first", "longest"}
        Of near copies, which stays.
    index : Index or str, optional
        An index, or its address, that the rows are compared with and written to; it needs `id`. By default
        a temporary one.
    unreadable : {"raise", "keep", "drop"}
        What becomes of rows that cannot be decided: those without a text or without usable words, and those whose id
        came before.
    **options
        ``workers``: number of processes that fingerprint, 1 by default. ``max_document_bytes``: texts that are longer
        are refused, 8 MB by default. The others are fields of `Profile` for the temporary index, such as
        ``similarity=0.9``; by default its idf is learned from the table.

    Returns
    -------
    of the type of `table`
        A `LazyFrame` is computed, and so is a DuckDB relation, which gives a pyarrow `Table`. Of a stream, such as a
        `RecordBatchReader`, a `RecordBatchReader` that works as it is read.

    Raises
    ------
    InvalidArgument
        When the table has no such column, or one of another type, or cannot be read, or options contradict each other;
        when a row cannot be decided, unless `unreadable` says what becomes of it.
    IndexMissing
        When there is no index at the address.

    Warns
    -----
    RefusedRows
        When rows have no decision, and `unreadable` keeps them or leaves them out.

    Notes
    -----
    Of a stream some batches are in memory, and some hundred bytes a row, for the ids. Without `index`, or with
    ``keep="longest"``, the stream is first copied to the folder for temporary files. Rows that were decided stay in
    `index` when an error ends the work; the same call again makes the same decisions.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"text": ["an article", "another thing", "an article"]})
    >>> drop_near_duplicates(table, analyzer="shingle").to_pylist()
    [{'text': 'an article'}, {'text': 'another thing'}]
    """
    return apply(table, Asked.of(text, id, keep, index, unreadable, options), Dropped(unreadable == "keep"))


def mark_near_duplicates(
    table: Any,  # noqa: ANN401 - whatever speaks Arrow
    text: str = "text",
    *,
    id: str | None = None,
    keep: Literal["first", "longest"] = "first",
    index: Index | str | None = None,
    **options: Any,  # noqa: ANN401 - of several types
) -> Any:  # noqa: ANN401 - as the table
    """Add what `drop_near_duplicates` would decide, in four columns; parameters, result and errors are those of it.

    All rows stay; those that cannot be decided get nulls, and a warning.

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
    return apply(table, Asked.of(text, id, keep, index, "keep", options), Marked())
