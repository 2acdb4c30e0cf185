"""Block rows in LMDB: key = prefix, its sorted values = fingerprints; both of fixed size, so read in bulk."""

from collections.abc import Iterator
from itertools import chain, islice
from struct import iter_unpack

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.rows.keys import (
    ALL_PREFIXES,
    BlockRows,
    pack_prefix,
    pack_prefixes,
    pack_rows,
    pack_simhash,
    unpack_prefixes,
    unpack_rows,
    unpack_simhashes,
)
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES, PREFIX_BYTES, SIMHASH_BYTES
from simhash_hbase.stores.base import PrefixScan, first_rows
from simhash_hbase.stores.embedded.environment import Database, Transaction

U64 = np.uint64
_LAST_SIMHASH = (1 << 64) - 1
_PAIR = f"{PREFIX_BYTES}s{SIMHASH_BYTES}s"

# Prefixes read by one call of the driver: enough that the call costs nothing, few enough to bound its answer.
_SCAN_CHUNK = 1 << 16
_PUT_CHUNK = 1 << 20

# In a scan the driver reads all rows of a prefix, and the limit is applied afterwards: fine for thousands of rows, not
# for millions. So a prefix with more rows than this is noted in the database `h`, and its rows are read one by one, up
# to the limit. To keep writing fast, rows are counted only under prefixes of which a sampled row is written: one in
# 1,024, chosen by the fingerprint's bits. Once in ten million times a prefix with twice as many rows is missed; that
# costs memory, never a wrong answer. Nothing is removed from `h`: a prefix that shrank is still read correctly.
_HOT_ROWS = 1 << 14
_SAMPLE_BITS = 10
_SCATTER = U64(0x9E3779B97F4A7C15)


def scan(
    transaction: Transaction, blocks: Database, hot: Database, prefixes: NDArray[np.uint64], limit: int
) -> PrefixScan:
    """Find the rows under sorted distinct prefixes, at most a number of each."""
    with transaction.cursor(hot) as cursor:
        special = _hot_among(cursor, prefixes) if cursor.first() else None
    with transaction.cursor(blocks) as cursor:
        if special is not None and special.any():
            slow = [_scan_hot(cursor, prefix, limit) for prefix in prefixes[special].tolist()]
            return _merged([_scan_plain(cursor, prefixes[~special], limit), *slow])
        return _scan_plain(cursor, prefixes, limit)


def put_rows(transaction: Transaction, blocks: Database, hot: Database, rows: BlockRows) -> None:
    """Write sorted rows."""
    with transaction.cursor(blocks) as cursor:
        for i in range(0, len(rows.prefixes), _PUT_CHUNK):
            chunk = BlockRows(rows.prefixes[i : i + _PUT_CHUNK], rows.simhashes[i : i + _PUT_CHUNK])
            # Behind all rows that there are, sorted rows fill pages completely. The driver's own append does not: it
            # leaves out the second row of a prefix, which put between others later splits a full page.
            cursor.putmulti(iter_unpack(_PAIR, pack_rows(chunk)), dupdata=False)
            for prefix in _newly_hot(cursor, chunk):
                transaction.put(prefix, b"", db=hot)


def delete_rows(transaction: Transaction, blocks: Database, rows: BlockRows) -> None:
    """Delete rows; missing ones are skipped."""
    for prefix, simhash in iter_unpack(_PAIR, pack_rows(rows)):
        transaction.delete(prefix, simhash, db=blocks)


def has_rows(transaction: Transaction, blocks: Database, rows: BlockRows) -> NDArray[np.bool_]:
    """Look up single rows."""
    with transaction.cursor(blocks) as cursor:
        find = cursor.set_key_dup
        return np.array([find(prefix, simhash) for prefix, simhash in iter_unpack(_PAIR, pack_rows(rows))], np.bool_)


def next_rows(transaction: Transaction, blocks: Database, after: tuple[int, int], page: int) -> BlockRows:
    """Read at most a page of rows, beginning at a prefix and fingerprint."""
    with transaction.cursor(blocks) as cursor:
        if not _seek(cursor, *after):
            return BlockRows.empty()
        return _unpacked(b"".join(chain.from_iterable(islice(cursor.iternext(), page))))


def row_behind(rows: BlockRows) -> tuple[int, int]:
    """Return the prefix and fingerprint at which the next page begins."""
    prefix, simhash = int(rows.prefixes[-1]), int(rows.simhashes[-1])
    return (prefix + 1, 0) if simhash == _LAST_SIMHASH else (prefix, simhash + 1)


def _scan_plain(cursor: Transaction, prefixes: NDArray[np.uint64], limit: int) -> PrefixScan:
    if len(prefixes) <= _SCAN_CHUNK:
        return _read_all(cursor, prefixes, limit)
    starts = range(0, len(prefixes), _SCAN_CHUNK)
    return _joined([_read_all(cursor, prefixes[i : i + _SCAN_CHUNK], limit) for i in starts])


def _read_all(cursor: Transaction, prefixes: NDArray[np.uint64], limit: int) -> PrefixScan:
    keys = pack_prefixes(prefixes)
    packed = cursor.getmulti(keys, dupdata=True, dupfixed_bytes=SIMHASH_BYTES, keyfixed=True)
    return first_rows(_unpacked(packed), limit)


def _unpacked(packed: bytes | bytearray) -> BlockRows:
    if len(packed) % BLOCK_ROW_BYTES:
        raise CorruptIndex(f"a page is damaged: {len(packed):,} bytes of block rows, wanted {BLOCK_ROW_BYTES} each")
    return unpack_rows(packed)


def _scan_hot(cursor: Transaction, prefix: int, limit: int) -> PrefixScan:
    if not cursor.set_key(pack_prefix(prefix)):
        return PrefixScan(BlockRows.empty(), np.empty(0, dtype=U64))
    truncated = np.array([prefix] if cursor.count() > limit else [], dtype=U64)
    simhashes = unpack_simhashes(b"".join(islice(cursor.iternext_dup(), limit)))
    return PrefixScan(BlockRows(np.full(len(simhashes), prefix, dtype=U64), simhashes), truncated)


def _joined(scans: list[PrefixScan]) -> PrefixScan:
    return PrefixScan(
        BlockRows(
            np.concatenate([scan.rows.prefixes for scan in scans]),
            np.concatenate([scan.rows.simhashes for scan in scans]),
        ),
        np.concatenate([scan.truncated for scan in scans]),
    )


def _merged(scans: list[PrefixScan]) -> PrefixScan:
    rows, truncated = _joined(scans)
    # Stable: the rows of one prefix come from one scan, in order already.
    order = np.argsort(rows.prefixes, kind="stable")
    return PrefixScan(BlockRows(rows.prefixes[order], rows.simhashes[order]), np.sort(truncated))


def _newly_hot(cursor: Transaction, rows: BlockRows) -> Iterator[bytes]:
    sampled = rows.simhashes * _SCATTER >> U64(64 - _SAMPLE_BITS) == 0
    for prefix in pack_prefixes(rows.prefixes[sampled]):
        if cursor.set_key(prefix) and cursor.count() > _HOT_ROWS:
            yield prefix


def _hot_among(cursor: Transaction, prefixes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return np.isin(prefixes, unpack_prefixes(b"".join(cursor.iternext(values=False))))


def _seek(cursor: Transaction, prefix: int, simhash: int) -> bool:
    """Go to the first row at or after a place."""
    if prefix >= ALL_PREFIXES:
        return False
    key = pack_prefix(prefix)
    if cursor.set_range_dup(key, pack_simhash(simhash)):
        return True
    found = cursor.set_range(key)
    return bool(found and (cursor.key() != key or cursor.next_nodup()))
