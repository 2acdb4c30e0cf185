"""Scans of many prefixes, cut into scripts; a new script continues where one has found enough rows."""

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.keys import pack_prefixes, unpack_rows
from simhash_hbase.stores.base import PrefixScan
from simhash_hbase.stores.redis import scripts
from simhash_hbase.stores.redis.connection import Connection

PREFIXES_A_CALL = 2_000
# A script stops at this number of rows, however few of its prefixes are done.
ROWS_AN_ANSWER = 20_000


def scan(connection: Connection, prefixes: NDArray[np.uint64], *, limit: int) -> PrefixScan:
    """Find the block rows under many prefixes."""
    pieces: dict[int, list[bytes]] = {start: [] for start in range(0, len(prefixes), PREFIXES_A_CALL)}
    # Start of each piece that is not done yet: where it goes on.
    places = {start: start for start in pieces}
    cut: list[int] = []
    while places:
        asked = [prefixes[at : start + PREFIXES_A_CALL] for start, at in places.items()]
        calls = ((scripts.BLOCKS, limit, ROWS_AN_ANSWER, b"".join(pack_prefixes(piece))) for piece in asked)
        going_on = {}
        answers = zip(places.items(), asked, connection.run(scripts.SCAN, calls), strict=True)
        for (start, at), piece, (done, rows, over) in answers:
            pieces[start].append(rows)
            cut += [at + position for position in over]
            if done < len(piece):
                going_on[start] = at + done
        places = going_on
    rows_found = unpack_rows(b"".join(chain.from_iterable(pieces.values())))
    return PrefixScan(rows_found, prefixes[np.array(sorted(cut), dtype=np.intp)])
