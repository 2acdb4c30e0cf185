"""Choosing a scheme: what a number of documents costs, before anything is written."""

from dataclasses import dataclass

from simhash_hbase.blocks import Scheme
from simhash_hbase.errors import InvalidArgument

__all__ = ["PlannedScheme", "plan_scheme"]

# Measured on the embedded store, 1 M uniform fingerprints, ids of 40 bytes; see README, Choosing parameters.
EMBEDDED_BYTES_A_ROW = 25
EMBEDDED_BYTES_A_DOCUMENT = 380
EMBEDDED_ROWS_A_SECOND = 600_000
# HBase, FAST_DIFF and SNAPPY, bulk load, 10.2 M rows: 111 MB and 900,000 rows a second.
HBASE_BYTES_A_ROW = 11
HBASE_BYTES_A_DOCUMENT = 260
HBASE_ROWS_A_SECOND = 900_000
REGION_BYTES = 10 * 2**30


@dataclass(frozen=True, slots=True)
class PlannedScheme:
    """One scheme and what it costs."""

    scheme: str
    distance: int
    """Complete up to so many bits."""
    tables: int
    """Scans of a query."""
    rows: int
    """Block rows in all."""
    rows_a_scan: int
    """Unrelated rows that one scan reads, for the tables with the most bits."""
    rows_a_query: int
    """All scans alike: tables times `rows_a_scan`, as the write-ups of the method count."""
    rows_a_query_exact: float
    """Each table by its own bits."""
    embedded_bytes: int
    """On disk in a ``file:`` index."""
    hbase_bytes: int
    """On disk in HBase, one replica, FAST_DIFF and SNAPPY."""
    hbase_regions: int
    """Regions of 10 GiB."""
    load_hours: float
    """Bulk load into HBase by one writer."""


def plan_scheme(scheme: Scheme, documents: int) -> PlannedScheme:
    """Compute what a scheme costs for uniform fingerprints.

    Parameters
    ----------
    scheme : Scheme
        What to plan for.
    documents : int
        Fingerprints in the index; at least 1.

    Returns
    -------
    PlannedScheme

    Raises
    ------
    InvalidArgument
        When `documents` is below 1.

    Examples
    --------
    >>> planned = plan_scheme(Scheme.parse("5x2"), 2**34)
    >>> planned.tables, planned.rows_a_scan, planned.rows_a_query, planned.rows_a_query_exact
    (10, 256, 2560, 3584.0)
    """
    if documents < 1:
        raise InvalidArgument(f"documents {documents}: wanted at least 1")
    tables = len(scheme.tables)
    rows = documents * tables
    a_scan = round(documents / 2 ** max(table.bits for table in scheme.tables))
    hbase_bytes = rows * HBASE_BYTES_A_ROW + documents * HBASE_BYTES_A_DOCUMENT
    return PlannedScheme(
        scheme=str(scheme),
        distance=scheme.distance,
        tables=tables,
        rows=rows,
        rows_a_scan=a_scan,
        rows_a_query=a_scan * tables,
        rows_a_query_exact=round(scheme.expected_rows(documents), 4),
        embedded_bytes=rows * EMBEDDED_BYTES_A_ROW + documents * EMBEDDED_BYTES_A_DOCUMENT,
        hbase_bytes=hbase_bytes,
        hbase_regions=max(1, -(-hbase_bytes // REGION_BYTES)),
        load_hours=round(rows / HBASE_ROWS_A_SECOND / 3600, 4),
    )
