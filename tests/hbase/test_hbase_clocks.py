"""Writers whose clocks are wrong, each with a store of its own: nothing is lost, and nothing removed comes back."""

import pytest
from support.hbase_server import hbase_options, tables
from support.wrong_clocks import check_writers

from simhash_hbase import Index, Profile
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.stores.hbase import HBaseStore

pytestmark = pytest.mark.hbase


@pytest.mark.parametrize("version", [1, 2])
def test_writers_a_minute_ahead_and_behind_lose_nothing_and_bring_nothing_back(version):
    name = tables().take()
    stores = [HBaseStore.open(hbase_options(version, name)) for _ in range(3)]
    Index.create(stores[0], Profile.resolve(analyzer="shingle", match="distance"))
    seconds = (60, -60, 0)
    writers = [
        Index(store, clock=lambda off=off: now_ms() + off * 1_000) for store, off in zip(stores, seconds, strict=True)
    ]

    check_writers(writers, seed=version, steps=150)

    for writer in writers:
        writer.close()
