"""Writers whose clocks are wrong: nothing is lost, and nothing that was removed comes back."""

import random
import time

import pytest
from support.bruteforce import entries
from support.hbase_server import hbase_options, tables

from simhash_hbase import Index, Profile
from simhash_hbase.stores.hbase import HBaseStore

pytestmark = pytest.mark.hbase

STEPS = 150
IDS = [f"id{number}" for number in range(6)]
BASE = 0x9E3779B97F4A7C15
FINGERPRINTS = [BASE ^ (1 << bit) for bit in (0, 20, 40)] + [~BASE & (1 << 64) - 1]


def ahead(ms):
    return lambda: time.time_ns() // 1_000_000 + ms


@pytest.mark.parametrize("version", [1, 2])
def test_writers_a_minute_ahead_and_behind_lose_nothing_and_bring_nothing_back(version):
    name = tables().take()
    stores = [HBaseStore.open(hbase_options(version, name)) for _ in range(3)]
    Index.create(stores[0], Profile.resolve(analyzer="shingle", match="distance"))
    writers = [Index(store, clock=ahead(ms)) for store, ms in zip(stores, (60_000, -60_000, 0), strict=True)]
    rng = random.Random(version)
    model: dict[str, int] = {}

    for _ in range(STEPS):
        writer, reader = rng.choice(writers), rng.choice(writers)
        document, simhash = rng.choice(IDS), rng.choice(FINGERPRINTS)
        if rng.random() < 0.4:
            assert list(writer.remove_many([document])) == [(document, document in model)]
            model.pop(document, None)
        else:
            writer.add_entries(entries({document: simhash}))
            model[document] = simhash
        held = {stored.id: stored.simhash for stored in reader.get_many(IDS) if stored is not None}
        assert held == model
        found = {match.id: match.distance for match in reader.query_simhash(simhash).matches}
        assert found == {d: n for d, h in model.items() if (n := (h ^ simhash).bit_count()) <= 3}

    assert writers[2].verify().wrong == 0
    for writer in writers:
        writer.close()
