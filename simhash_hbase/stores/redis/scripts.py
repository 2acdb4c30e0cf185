"""The Lua scripts that run inside the server, one for each call of the seam.

A script runs alone, so nothing changes between its reads and its writes: the highest timestamp wins without a race, and
the counters of rows and cells are exact. The server does nothing else meanwhile, so a call sends its work in chunks,
many in one round trip.

The scripts are sent whole each time: half a kilobyte beside a chunk, and no special case for a restarted server or one
that forgot them. They make the keys they touch from their arguments, so they do not run on Redis Cluster, which has one
database only and would split a query's prefixes into many calls.

Keys, each after ``simhash-hbase:``
-----------------------------------
``format``
    Text: the version of this form; a database with this key holds an index.
``rows``
    Hash: how many block rows (``b``) and cells (``d:FLAG``, ``m:FLAG``; the flag is the row's fifth byte) there are.
``b:PREFIX``
    Sorted set of simhashes, 8 bytes each, all with score 0. It is the *set for each segment and flag* of the write-ups:
    with equal scores Redis keeps members in byte order, so a limit cuts every set at the same place; a plain set has no
    order. Small sets take no more memory than plain ones, since Redis stores both as one packed list.
``d:ROW``, ``m:ROW``
    Hash: qualifier to timestamp (8 bytes, big-endian) and value.
"""

from pathlib import Path

SPACE = "simhash-hbase:"
FORMAT = SPACE + "format"
COUNTERS = SPACE + "rows"
BLOCKS = SPACE + "b:"
STAMP_BYTES = 8


def _script(name: str) -> str:
    lines = Path(__file__).with_name("lua").joinpath(f"{name}.lua").read_text("ascii").splitlines()
    # Comments need not be sent.
    return "\n".join(line for line in lines if not line.startswith("--"))


SCAN = _script("scan")
PUT_ROWS = _script("put_rows")
DELETE_ROWS = _script("delete_rows")
HAS_ROWS = _script("has_rows")
PUT = _script("put")
DELETE = _script("delete")
GET = _script("get")
GET_ROWS = _script("get_rows")
