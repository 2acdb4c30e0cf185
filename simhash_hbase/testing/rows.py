"""Helpers of the contract's tests that write rows into a store and read them."""

import numpy as np

from simhash_hbase.rows.keys import BlockRows

LAST_PREFIX = (1 << 40) - 1
LAST_SIMHASH = (1 << 64) - 1


def rows_of(*pairs):
    ordered = sorted(set(pairs))
    return BlockRows(uint64s(*(prefix for prefix, _ in ordered)), uint64s(*(simhash for _, simhash in ordered)))


def uint64s(*values):
    return np.array(values, dtype=np.uint64)


def pairs_of(rows):
    return list(zip(rows.prefixes.tolist(), rows.simhashes.tolist(), strict=True))


def all_pairs(store, start=0, stop=1 << 40, page=1000):
    return [pair for rows in store.scan_range(start, stop, page=page) for pair in pairs_of(rows)]


def found_by(store, *prefixes, limit=1000):
    return pairs_of(store.scan(uint64s(*prefixes), limit=limit).rows)


def all_cells(store, family="d", start=b"", stop=None, page=1000):
    return [cell for cells in store.scan_cells(family, start, stop, page=page) for cell in cells]
