"""Read an index in HBase without this package: happybase, msgpack and the row keys of schema/README.md.

``python examples/read_table.py HOST PORT TABLE ID`` prints what the table holds of a document, and the fingerprints
within three bits of its own. HOST and PORT are those of a Thrift 1 gateway.
"""

import sys
from collections.abc import Iterator
from hashlib import blake2b
from itertools import combinations
from typing import Any

import happybase
from msgspec import msgpack

WIDTHS = (13, 13, 13, 13, 12)
"""Bits of the five blocks of a fingerprint, in the scheme 5x2."""


def document(table: happybase.Table, name: str) -> list[Any] | None:
    """Return the document cell of an id: id, fingerprint, state, last seen, and more."""
    digest = blake2b(name.encode(), digest_size=16).digest()
    cell = table.row(digest[:4] + b"\xff" + digest, columns=[b"d:s"]).get(b"d:s")
    fields: list[Any] | None = msgpack.decode(cell) if cell else None
    return fields


def prefixes(fingerprint: int) -> Iterator[bytes]:
    """Yield the prefixes under which fingerprints within three bits of this one are."""
    blocks = [fingerprint >> 64 - sum(WIDTHS[: at + 1]) & (1 << width) - 1 for at, width in enumerate(WIDTHS)]
    for flag, (a, b) in enumerate(combinations(range(len(WIDTHS)), 2), 1):
        segment = (blocks[a] << WIDTHS[b] | blocks[b]) << 32 - WIDTHS[a] - WIDTHS[b]
        yield segment.to_bytes(4, "big") + bytes([flag])


def neighbours(table: happybase.Table, fingerprint: int, distance: int = 3) -> set[int]:
    """Return the fingerprints of the table that differ in at most so many bits."""
    rows = (row for prefix in prefixes(fingerprint) for row, _ in table.scan(row_prefix=prefix, columns=[b"b"]))
    stored = {int.from_bytes(row[5:], "big") for row in rows}
    return {other for other in stored if (other ^ fingerprint).bit_count() <= distance}


if __name__ == "__main__":
    host, port, table_name, document_id = sys.argv[1:]
    connection = happybase.Connection(host, int(port))
    fields = document(connection.table(table_name), document_id)
    if fields is None:
        sys.exit(f"{document_id} is not in {table_name}")
    print(f"{document_id}: {fields[2]}, {fields[1]:016x}")
    for near in sorted(neighbours(connection.table(table_name), fields[1])):
        print(f"{near:016x}")
    connection.close()
