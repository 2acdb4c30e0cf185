"""Part ``rows``: what a scan costs, and each row that it reads, by how many rows there are under a prefix."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.measuring import Table, count, fixed, in_turns, microseconds
from bench.sizes import Sizes
from simhash_hbase.index.candidates import Reach, find_candidates
from simhash_hbase.profile import Profile
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.base import UNLIMITED
from simhash_hbase.stores.embedded import EmbeddedStore

PROFILE = Profile.resolve(analyzer="shingle", match="distance")
UNDER_A_PREFIX = (0, 2, 16, 119, 500)
WIDTHS = (13, 13, 13, 13, 12)
TABLES = 10
AT_ONCE = 100


def measure_rows(sizes: Sizes) -> list[Table]:
    """Query fingerprints whose blocks have so few values that each prefix has as many rows as in a larger index."""
    costs = [_cost(under, sizes) for under in UNDER_A_PREFIX]
    without = costs[0][1]
    rows = [
        [
            fixed(read / TABLES),
            fixed(read),
            microseconds(seconds),
            fixed((seconds - without) / read * 1e9, " ns") if read > TABLES else "—",
        ]
        for read, seconds in costs
    ]
    return [
        Table(
            title="A query by the rows under its prefixes",
            columns=["rows under a prefix", "rows a query", "a query", "a row more"],
            rows=rows,
            notes=[f"{count(sizes.crowded)} fingerprints, batches of {AT_ONCE}, the best of {sizes.repeats}."],
        )
    ]


def _cost(under: int, sizes: Sizes) -> tuple[float, float]:
    """Return the rows that a query reads, and its seconds."""
    rng = np.random.default_rng(under)
    values = [_values(rng, bits, sizes.crowded, under) for bits in WIDTHS]
    stored, asked = _drawn(rng, values, sizes.crowded), _drawn(rng, values, sizes.crowded_queries)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        store = EmbeddedStore.create(str(Path(folder) / "index"))
        store.put_rows(block_rows(PROFILE.blocks, stored), timestamp=1)
        [timed] = in_turns([partial(_ask, store, asked)], repeats=sizes.repeats)
        store.close()
    return timed.result / len(asked), timed.best / len(asked)


def _values(rng: np.random.Generator, bits: int, documents: int, under: int) -> NDArray[np.uint64]:
    """Choose the values of a block: of two blocks so many combinations that `under` documents share one."""
    most = min(2**bits, max(2, round((documents / max(under, 1)) ** 0.5))) if under else 2**bits
    return rng.permutation(2**bits)[:most].astype(np.uint64)


def _drawn(rng: np.random.Generator, values: list[NDArray[np.uint64]], wanted: int) -> NDArray[np.uint64]:
    """Draw fingerprints block by block, from the highest bits down."""
    drawn = np.zeros(wanted, np.uint64)
    for bits, few in zip(WIDTHS, values, strict=True):
        drawn = drawn << np.uint64(bits) | rng.choice(few, wanted)
    return drawn


def _ask(store: EmbeddedStore, asked: NDArray[np.uint64]) -> int:
    """Find what is near, so few queries at a time that hardly two ask for one prefix; return the rows read."""
    reach, read = Reach.of(PROFILE, PROFILE.rule), 0
    for at in range(0, len(asked), AT_ONCE):
        few = asked[at : at + AT_ONCE]
        found = find_candidates(store, few, PROFILE.blocks.prefixes(few), reach=reach, limit=UNLIMITED)
        for _ in found.parts():
            pass
        read += found.rows
    return read
