"""Part ``claim``: what deciding among many writers costs beside a plain query and a plain write."""

import secrets
import tempfile
from collections.abc import Callable
from time import perf_counter

import numpy as np

from bench.documents import numbered_entries
from bench.hbase_instance import running_hbase
from bench.measuring import Table, count, fixed, in_turns, rate
from bench.sizes import Sizes
from simhash_hbase.api import create_index
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.rows.analysed import Entries

COLUMNS = ("index", "documents", "`query` + `add` /s", "`claim` /s", "ratio")


def measure_claim(sizes: Sizes) -> list[Table]:
    """Claim documents in a folder and in HBase: all new ones, then with a near copy at every second place."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, running_hbase() as instance:
        places = {
            "`file:`": lambda: f"file:{folder}/{secrets.token_hex(4)}",
            "HBase, Thrift 2": lambda: f"hbase://{instance.thrift2}/{instance.new_table()}",
            "HBase, without a gateway": lambda: f"hbase+rpc://{instance.region_server}/{instance.new_table()}",
        }
        rows = [_row(place, url, copies, sizes) for place, url in places.items() for copies in (False, True)]
    title = "`claim` beside `query` + `add` of the same documents"
    notes = [
        f"Batches of {count(sizes.claim_batch)} in turns, {count(sizes.held)} documents in the index before; "
        "medians of wall-clock time."
    ]
    return [Table(title=title, columns=COLUMNS, rows=rows, notes=notes)]


def _row(place: str, url: Callable[[], str], copies: bool, sizes: Sizes) -> list[str]:
    plain, claiming = (create_index(url(), analyzer="jieba", match="distance") for _ in range(2))
    with plain, claiming:
        held = numbered_entries(0, np.random.default_rng(17).integers(0, 2**64, sizes.held, dtype=np.uint64))
        # The servers compile what they do often: both sides do all of it before.
        for index in (plain, claiming):
            index.claim_entries(held)
        batches = [_batch(number, held, copies, sizes) for number in range(sizes.rounds)]
        left, right = iter(batches), iter(batches)
        work = [lambda: _query_and_add(plain, next(left)), lambda: claiming.claim_entries(next(right))]
        beside, ours = in_turns(work, repeats=sizes.rounds, clock=perf_counter)
    n = sizes.claim_batch
    return [
        place,
        "every second a near copy" if copies else "all new",
        rate(n, beside.typical),
        rate(n, ours.typical),
        fixed(100 * beside.typical / ours.typical, " %"),
    ]


def _query_and_add(index: LocalIndex, batch: Entries) -> None:
    index.query_entries(batch)
    index.add_entries(batch)


def _batch(number: int, held: Entries, copies: bool, sizes: Sizes) -> Entries:
    """Make new documents; of every second one the fingerprint is a bit from one that the index holds."""
    simhashes = np.random.default_rng(1_000 + number).integers(0, 2**64, sizes.claim_batch, dtype=np.uint64)
    if copies:
        simhashes[::2] = np.resize(held.simhashes, len(simhashes[::2])) ^ np.uint64(1 << number % 64)
    return numbered_entries(sizes.held + number * sizes.claim_batch, simhashes)
