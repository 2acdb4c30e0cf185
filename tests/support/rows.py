"""Short ways to write rows in tests: those of `simhash_hbase.testing`, and two of an index."""

from simhash_hbase.rows.keys import block_rows
from simhash_hbase.testing.rows import (
    LAST_PREFIX,
    LAST_SIMHASH,
    all_cells,
    all_pairs,
    found_by,
    pairs_of,
    rows_of,
    uint64s,
)

__all__ = [
    "LAST_PREFIX",
    "LAST_SIMHASH",
    "all_cells",
    "all_pairs",
    "block_rows_of",
    "contents",
    "found_by",
    "pairs_of",
    "rows_of",
    "uint64s",
]


def block_rows_of(index, *simhashes):
    return block_rows(index.profile.blocks, uint64s(*simhashes))


def contents(store):
    return all_pairs(store, page=9_999), all_cells(store, page=9_999)
