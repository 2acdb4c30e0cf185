"""Row keys: the only module that turns prefixes, fingerprints and ids into bytes and back.

Inside the package a prefix is a 40-bit integer, ``segment << 8 | flag``, because integers sort and join fast in numpy;
their order is the byte order of the packed form. Every range is half-open.
"""

from collections.abc import Sequence
from itertools import chain
from struct import iter_unpack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument, short_repr
from simhash_hbase.rows import layout
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.digests import blake2b
from simhash_hbase.rows.names import exact

U64 = np.uint64
ALL_PREFIXES = 1 << layout.PREFIX_BITS  # The end of the range of all prefixes.
OWNER_BITS = 64 - layout.PREFIX_BITS
# Up to so many, as the prefixes of one query, integers are faster than arrays: 2 to 4 µs a call, rather than 3 to 7.
FEW = 64
FLAGS = U64((1 << layout.FLAG_BITS) - 1)  # Mask of the flag in a prefix.
NO_PREFIX = U64((1 << layout.PREFIX_BITS) - 1)
"""A prefix that no row has: it is above all prefixes of family ``b``."""

_DOCUMENT = bytes([layout.FLAG_DOCUMENT])
_COPIES = bytes([layout.FLAG_COPIES])
_MEMBERS = bytes([layout.FLAG_MEMBERS])
_PREFIX_FIELDS = [("segment", ">u4"), ("flag", "u1")]
_PACKED_PREFIX = np.dtype(_PREFIX_FIELDS)
_PACKED_ROW = np.dtype([*_PREFIX_FIELDS, ("simhash", ">u8")])


class BlockRows(NamedTuple):
    """Keys of block rows, which lead from a key prefix to a fingerprint, as two arrays, sorted by both.

    They are the rows of column family ``b``. No row comes twice.
    """

    prefixes: NDArray[np.uint64]
    simhashes: NDArray[np.uint64]

    @classmethod
    def empty(cls) -> "BlockRows":
        """Return no rows at all: two empty arrays."""
        return cls(np.empty(0, dtype=U64), np.empty(0, dtype=U64))

    def where(self, chosen: NDArray[np.bool_]) -> "BlockRows":
        """Return those rows for which a mask, an array of Booleans, is true."""
        return BlockRows(self.prefixes[chosen], self.simhashes[chosen])

    @classmethod
    def merged(cls, *parts: "BlockRows") -> "BlockRows":
        """Return several sorted sets of rows as one, sorted and without repeats."""
        prefixes, simhashes = (np.concatenate(column) for column in zip(*parts, strict=True))
        # A stable sort finds the parts, which are sorted, and merges them; few rows have a prefix in common.
        order = np.argsort(prefixes, kind="stable")
        prefixes, simhashes = prefixes[order], simhashes[order]
        is_same = prefixes[1:] == prefixes[:-1]
        if (is_same & (simhashes[1:] < simhashes[:-1])).any():
            shared = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
            simhashes[shared] = simhashes[shared][np.lexsort((simhashes[shared], prefixes[shared]))]
        return cls(prefixes, simhashes).without_repeats()

    def without_repeats(self) -> "BlockRows":
        """Return these rows, which are sorted, with each key once."""
        new = np.ones(len(self.prefixes), np.bool_)
        np.not_equal(self.prefixes[1:], self.prefixes[:-1], out=new[1:])
        new[1:] |= self.simhashes[1:] != self.simhashes[:-1]
        return self if new.all() else self.where(new)


def block_rows(scheme: Scheme, simhashes: NDArray[np.uint64]) -> BlockRows:
    """Return the block rows by which fingerprints are found: one for each fingerprint and each table of the scheme.

    A table is a choice of blocks of the fingerprint's bits, which are the beginning of the row's key.
    """
    ascending = distinct(simhashes)
    # The fingerprints ascend, so rows of one prefix that are in the order of their owners are in byte order.
    prefixes, owners = sort_prefixes(scheme.prefixes(ascending))
    return BlockRows(prefixes, ascending[owners])


def band_prefixes(scheme: Scheme, segments: NDArray[np.uint32], present: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the key prefixes of documents' sketch rows, shape (n documents, bands): a band's segment, then its flag.

    A band is a group of a MinHash sketch's minima, and `segments`, of the same shape, has 32 bits of each band's hash.
    The flags follow those of the block tables. A document for which `present` is false has no sketch, and gets
    `NO_PREFIX`, which no row has.
    """
    first = len(scheme.tables) + 1
    flags = np.arange(first, first + segments.shape[1], dtype=U64)
    return np.where(present[:, np.newaxis], segments.astype(U64) << U64(layout.FLAG_BITS) | flags, NO_PREFIX)


def band_rows(prefixes: NDArray[np.uint64], simhashes: NDArray[np.uint64]) -> BlockRows:
    """Return the sketch rows by which documents are found, from the prefixes that `band_prefixes` returns.

    `simhashes` are the documents' fingerprints, to which the rows lead.
    """
    # The fingerprints ascend, as for `block_rows`.
    order = np.argsort(simhashes)
    ascending, owners = sort_prefixes(prefixes[order])
    there = int(np.searchsorted(ascending, NO_PREFIX))
    return BlockRows(ascending[:there], simhashes[order][owners[:there]]).without_repeats()


def passage_prefixes(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the key prefix (segment and flag) of each passage's row, from the 64-bit hashes of the passages."""
    return hashes >> U64(layout.SEGMENT_BITS) << U64(layout.FLAG_BITS) | U64(layout.FLAG_PASSAGES)


def passage_rows(passages: Sequence[bytes], simhashes: NDArray[np.uint64]) -> BlockRows:
    """Return the passage rows, by which documents with a passage are found, from the packed hashes of their passages.

    A hash has 8 bytes. The rows lead to the documents' fingerprints, `simhashes`.
    """
    counts = [len(packed) // layout.PASSAGE_BYTES for packed in passages]
    prefixes = passage_prefixes(unpack_simhashes(b"".join(passages)))
    return BlockRows.merged(BlockRows(prefixes, np.repeat(simhashes, counts)))


def distinct(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return integers sorted and without repeats, as numpy's `unique` does, but many times faster for a million."""
    if len(values) <= FEW:
        return np.array(sorted(set(values.tolist())), dtype=U64)
    ascending = np.sort(values)
    new = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return ascending[new]


def sort_prefixes(prefixes: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Return the prefixes of n fingerprints, shape (n, tables), as one sorted array, and the fingerprint of each.

    A fingerprint is given by its position, from 0 to n - 1.
    """
    n, tables = prefixes.shape
    if n > 1 << OWNER_BITS:
        order = np.argsort(prefixes.reshape(-1), kind="stable")
        return prefixes.reshape(-1)[order], order // tables
    # Prefix and owner fit into one integer, and sorting integers is many times faster than `argsort`.
    keys = (prefixes << U64(OWNER_BITS) | np.arange(n, dtype=U64)[:, np.newaxis]).reshape(-1)
    keys.sort()
    return keys >> U64(OWNER_BITS), (keys & U64((1 << OWNER_BITS) - 1)).astype(np.intp)


def row_keys(scheme: Scheme, simhash: int) -> list[bytes]:
    """Return the keys of the block rows by which one fingerprint is found, 13 bytes each, one for each table.

    Examples
    --------
    >>> [key.hex() for key in row_keys(Scheme(4, 1), 0x0123456789ABCDEF)][:2]
    ['01230000010123456789abcdef', '45670000020123456789abcdef']
    """
    prefixes = scheme.prefixes(np.array([simhash], dtype=U64))[0]
    return packed_rows(BlockRows(prefixes, np.full(len(prefixes), simhash, dtype=U64)))


def packed_rows(rows: BlockRows) -> list[bytes]:
    """Return the keys of block rows, a prefix of 5 bytes and a fingerprint of 8 each, as a list."""
    return _cut(pack_rows(rows), layout.BLOCK_ROW_BYTES)


def pack_rows(rows: BlockRows) -> bytes:
    """Return the keys of block rows, a prefix of 5 bytes and a fingerprint of 8 each, as one byte string."""
    keys = _with_prefixes(rows.prefixes, _PACKED_ROW)
    keys["simhash"] = rows.simhashes
    return keys.tobytes()


def unpack_rows(packed: bytes | bytearray | memoryview) -> BlockRows:
    """Return the block rows in a byte string of `pack_rows`, which has 13 bytes for the key of each."""
    if not len(packed):
        return BlockRows.empty()
    keys = np.frombuffer(packed, _PACKED_ROW)
    return BlockRows(_prefixes_of(keys), keys["simhash"].astype(U64))


def pack_prefixes(prefixes: NDArray[np.uint64]) -> list[bytes]:
    """Return the prefixes of row keys (segment and flag) as a list of 5 bytes each."""
    if len(prefixes) <= FEW:
        return list(map(pack_prefix, prefixes.tolist()))
    return _cut(_with_prefixes(prefixes, _PACKED_PREFIX).tobytes(), layout.PREFIX_BYTES)


def pack_prefix(prefix: int) -> bytes:
    """Return the prefix of a row key as 5 bytes: its segment, 32 bits by which rows are found, and its flag."""
    return prefix.to_bytes(layout.PREFIX_BYTES, "big")


def unpack_prefixes(packed: bytes) -> NDArray[np.uint64]:
    """Return the prefixes of row keys in a byte string, which has 5 bytes for each."""
    return _prefixes_of(np.frombuffer(packed, _PACKED_PREFIX))


def row_prefix(row: bytes) -> int:
    """Return the prefix of a row key, its first 5 bytes, as an integer; a shorter key is padded with zero bytes.

    The first key of a region may be shorter.
    """
    return int.from_bytes(row[: layout.PREFIX_BYTES].ljust(layout.PREFIX_BYTES, b"\0"), "big")


def row_bounds(start: int, stop: int) -> tuple[bytes, bytes | None]:
    """Return the first key and the exclusive end of the rows whose key prefixes, as integers, are in ``[start, stop)``.

    The end is None where the range goes on to the last row of the index.
    """
    return pack_prefix(start), None if stop >= ALL_PREFIXES else pack_prefix(stop)


def pack_simhash(simhash: int) -> bytes:
    """Return one fingerprint as 8 bytes."""
    return simhash.to_bytes(layout.SIMHASH_BYTES, "big")


def unpack_simhashes(packed: bytes) -> NDArray[np.uint64]:
    """Return the fingerprints in a byte string, 8 bytes each."""
    return np.frombuffer(packed, dtype=">u8").astype(U64)


def last_row(prefix: bytes) -> bytes:
    """Return the last possible key of a block row with a 5-byte prefix: the prefix and the highest fingerprint."""
    return prefix + b"\xff" * layout.SIMHASH_BYTES


def prefix_stop(prefix: bytes) -> bytes:
    """Return the exclusive end of a scan over the rows whose keys begin with a 5-byte prefix.

    It is one byte longer than the last possible key of such a block row, so that key is inside, and start and stop
    still share the five bytes that a ROWPREFIX_FIXED_LENGTH bloom filter needs to be asked.
    """
    return last_row(prefix) + b"\0"


def checked_id_type(document_id: object) -> str:
    """Return a document's id as a plain str; raise `InvalidArgument` if it is no string."""
    if not isinstance(document_id, str):
        kind = type(document_id).__name__
        raise InvalidArgument(f"the id {short_repr(document_id)} is of type {kind}: wanted a string")
    return exact(document_id)


def check_simhash(simhash: object) -> int:
    """Return a fingerprint that a caller gives as an int.

    Raise `InvalidArgument` unless it is an integer of 64 bits.
    """
    if (
        isinstance(simhash, int | np.integer)
        and not isinstance(simhash, bool)
        and 0 <= simhash < 1 << layout.SIMHASH_BITS
    ):
        return int(simhash)
    wanted = f"an integer from 0 to 2**{layout.SIMHASH_BITS} - 1"
    raise InvalidArgument(f"the fingerprint is {short_repr(simhash)}: wanted {wanted}")


def id_digest(document_id: str) -> bytes:
    """Return the digest of a document's id, by which its cells are found: 16 bytes of BLAKE2b over its UTF-8."""
    try:
        encoded = (document_id if type(document_id) is str else checked_id_type(document_id)).encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"the id {document_id!r} is not Unicode text: {error.reason}") from error
    return blake2b(encoded, digest_size=layout.ID_DIGEST_BYTES).digest()


def document_row(digest: bytes) -> bytes:
    """Return the key of the row that holds a document's cell, from the 16-byte digest of its id."""
    return document_rows([digest])[0]


def document_rows(digests: Sequence[bytes]) -> list[bytes]:
    """Return the row keys of documents, from the 16-byte digests of their ids."""
    return [digest[: layout.SEGMENT_BYTES] + _DOCUMENT + digest for digest in digests]


def document_key(digest: bytes) -> tuple[bytes, bytes]:
    """Return the row key and the qualifier of the cell that describes a document, from the digest of its id."""
    return document_row(digest), layout.STATE_QUALIFIER


def member_key(text: tuple[int, bytes], digest: bytes) -> tuple[bytes, bytes]:
    """Return the row key and the qualifier of a member cell: it lists one document in the row of its fingerprint.

    `text` is the fingerprint of the document's text and the text's digest; `digest` is that of the document's id.
    """
    simhash, text_digest = text
    return member_row(simhash), digest + text_digest


def copies_row(digest: bytes) -> bytes:
    """Return the key of the row that lists the copies of an original, from the digest of the original's id."""
    return digest[: layout.SEGMENT_BYTES] + _COPIES + digest


def member_row(simhash: int) -> bytes:
    """Return the key of the row that lists the members of a fingerprint, which are the documents that have it."""
    packed = pack_simhash(simhash)
    return packed[: layout.SEGMENT_BYTES] + _MEMBERS + packed


def member_rows(simhashes: NDArray[np.uint64]) -> list[bytes]:
    """Return, for each of several fingerprints, the key of the row that lists its documents; see `member_row`."""
    if len(simhashes) <= FEW:
        return list(map(member_row, simhashes.tolist()))
    prefixes = simhashes >> U64(32) << U64(layout.FLAG_BITS) | U64(layout.FLAG_MEMBERS)
    return _cut(pack_rows(BlockRows(prefixes, simhashes)), layout.BLOCK_ROW_BYTES)


def index_row(name: str) -> bytes:
    """Return the key of a row about the index as a whole, such as ``profile`` or ``backup``, from the row's name."""
    return bytes(layout.SEGMENT_BYTES) + bytes([layout.FLAG_INDEX]) + name.encode("ascii")


def row_flag(row: bytes) -> int:
    """Return the flag of a row key, the byte that tells the kinds of rows apart.

    It is -1 for a damaged key that is too short.
    """
    return row[layout.SEGMENT_BYTES] if len(row) > layout.SEGMENT_BYTES else -1


def row_simhash(row: bytes) -> int:
    """Return the fingerprint at the end of a row's key, of a block row or a row of members, as an integer."""
    return int.from_bytes(row[layout.PREFIX_BYTES :], "big")


def row_digest(row: bytes) -> bytes:
    """Return the digest of an id, 16 bytes, at the end of the key of a document's row or of a row of copies."""
    return row[layout.PREFIX_BYTES :]


def _with_prefixes(prefixes: NDArray[np.uint64], form: np.dtype[np.void]) -> NDArray[np.void]:
    """Return an array of packed keys of dtype `form` in which only the prefixes, segment and flag, are filled in."""
    keys = np.empty(len(prefixes), form)
    keys["segment"] = prefixes >> U64(layout.FLAG_BITS)
    keys["flag"] = prefixes & FLAGS
    return keys


def _prefixes_of(keys: NDArray[np.void]) -> NDArray[np.uint64]:
    prefixes: NDArray[np.uint64] = keys["segment"].astype(U64) << U64(layout.FLAG_BITS) | keys["flag"]
    return prefixes


def _cut(packed: bytes, width: int) -> list[bytes]:
    return list(chain.from_iterable(iter_unpack(f"{width}s", packed)))
