"""Short ways to write and read the rows of an index in tests."""

import msgspec

from simhash_hbase.rows import checksums
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.testing.rows import all_cells, all_pairs, uint64s


def block_rows_of(index, *simhashes):
    return block_rows(index.profile.blocks, uint64s(*simhashes))


def contents(store):
    return all_pairs(store, page=9_999), all_cells(store, page=9_999)


def sealed_fields(*fields):
    """Encode a cell from its fields, with a right checksum in place of the last."""
    return checksums.sealed(msgspec.msgpack.encode([*fields[:-1], checksums.PLACEHOLDER]))
