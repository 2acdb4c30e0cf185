"""Statistics equal a count of everything; those of a sample come near it, and regions are told as they are."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support.bruteforce import BASE, FAR, entries
from support.hbase_server import hbase_options, tables
from support.rows import block_rows_of

from simhash_hbase import LocalIndex, Profile, __version__
from simhash_hbase.index.upkeep import stats
from simhash_hbase.index.upkeep.stats import region_bounds, sampled_slices, whole_slices
from simhash_hbase.rows.layout import PREFIX_BITS
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.table import TableSchema

SPREAD = [i << 20 for i in range(300)]
REGIONS = ["", "40000000", "80000000", "c0000000"]
# First keys of any length: HBase splits where it wants when the table does not say otherwise.
STARTS = st.lists(st.binary(min_size=1, max_size=7), max_size=90).map(lambda keys: [b"", *sorted(set(keys))])


@given(STARTS)
def test_the_weights_of_a_sample_add_up_to_its_regions(starts):
    bounds = region_bounds(starts)
    slices = sampled_slices(bounds)

    assert slices == sorted(slices)
    assert all(before.stop <= after.start for before, after in pairwise(slices))
    for number, (start, stop) in enumerate(bounds):
        own = [part for part in slices if part.region == number]
        assert all(start <= part.start < part.stop <= stop for part in own)
        assert sum(part.weight * (part.stop - part.start) for part in own) == pytest.approx(stop - start)


@given(STARTS)
def test_the_slices_of_an_exact_count_have_every_prefix_once(starts):
    whole = whole_slices(region_bounds(starts))

    assert all(before.stop == after.start for before, after in pairwise(whole))
    assert (whole[0].start, whole[-1].stop) == (0, 1 << PREFIX_BITS)


def test_a_sample_of_one_region_reads_a_64th_of_it_in_64_places():
    slices = sampled_slices([(0, 1 << PREFIX_BITS)])
    assert [part.start >> PREFIX_BITS - 6 for part in slices] == list(range(64))
    assert {(part.stop - part.start, part.weight) for part in slices} == {(1 << PREFIX_BITS - 12, 64.0)}


def fill(index, count):
    """Add fingerprints of which many share prefixes and some are equal; return them."""
    rng = random.Random(1)
    near = [BASE ^ (rng.getrandbits(3) << at) for at in rng.choices([0, 20, 40], k=count)]
    return add(index, [simhash if rng.random() < 0.5 else rng.getrandbits(64) for simhash in near])


def add(index, simhashes):
    index.add_entries(entries([(f"d{number}", simhash) for number, simhash in enumerate(simhashes)]))
    return simhashes


@pytest.mark.parametrize("page", [1, 7, 10_000])
def test_figures_equal_a_count_of_all_rows(make_index, monkeypatch, page):
    monkeypatch.setattr(stats, "PAGE", page)
    index = make_index(max_rows_per_prefix=8, max_members=1)
    simhashes = fill(index, 200)
    prefixes = Counter(block_rows_of(index, *set(simhashes)).prefixes.tolist())

    found = index.stats()

    assert (found.exact, found.documents, found.states) == (True, 200, {"added": 200})
    assert (found.rows, found.prefixes) == (sum(prefixes.values()), len(prefixes))
    assert list(found.rows_per_prefix) == ["1", "5-8", "9-16", "17-32"]
    for label, n in found.rows_per_prefix.items():
        low, _, high = label.partition("-")
        assert n == sum(int(low) <= rows <= int(high or low) for rows in prefixes.values())
    assert [hot.rows for hot in found.hottest] == sorted(prefixes.values(), reverse=True)[:10]
    assert all(prefixes[int(hot.segment, 16) << 8 | hot.table] == hot.rows for hot in found.hottest)
    assert found.truncated_prefixes == sum(rows > 8 for rows in prefixes.values()) > 0
    assert found.truncated_fingerprints == sum(n > 1 for n in Counter(simhashes).values()) > 0


def test_days_and_distances_are_told_of_what_is_there(make_index):
    index = make_index()
    make_index.clock.ms = 1_767_225_599_999  # the last millisecond of 2025
    index.add_entries(entries({"old": BASE, "gone": FAR}))
    make_index.clock.advance(days=2)
    index.dedup_entries(entries({"at 1": BASE ^ 1, "at 2": BASE ^ 3, "also at 2": BASE ^ 5}), index.deduplicator())
    list(index.remove_many(["gone"]))

    found = index.stats()

    days = [(day.date, day.documents, day.duplicates) for day in found.days]
    assert days == [("2025-12-31", 1, 0), ("2026-01-02", 0, 3)]
    assert found.distances == {1: 1, 2: 2}
    assert found.states == {"added": 1, "duplicate": 3, "removed": 1}


def test_stats_name_the_format_with_the_profile_in_short(make_index):
    index = make_index(ttl_days=7)

    found = index.stats()

    assert (found.format, found.version, found.last_backup) == (index.profile.format, __version__, None)
    assert found.made_with == (index.profile.versions or {})
    wanted = ("analyzer", "hash", "scheme", "match", "distance", "ttl_days")
    assert {name: found.profile[name] for name in wanted} == {name: getattr(index.profile, name) for name in wanted}
    assert None not in found.profile.values()
    # A store without regions tells none.
    assert (found.regions, found.imbalance, found.rows, found.days) == (None, None, 0, [])


@pytest.mark.slow
def test_a_sample_comes_near_the_count(make_index, monkeypatch):
    index = make_index()
    add(index, np.random.default_rng(5).integers(0, 2**64, 3_000, dtype=np.uint64).tolist())
    monkeypatch.setattr(stats, "READ_WHOLE", 0)
    monkeypatch.setattr(stats, "ONE_IN", 8)
    random.seed(1)

    found = index.stats()

    assert not found.exact
    # About 375 documents and 3,750 prefixes are read: four standard deviations.
    assert found.documents == pytest.approx(3_000, rel=4 / 375**0.5)
    assert found.prefixes == pytest.approx(30_000, rel=4 / 3_750**0.5)
    assert found.days[0].documents == found.documents
    assert index.stats(exact=True).documents == 3_000


@pytest.fixture
def in_regions(version):
    """Return an index in HBase, seen through either Thrift interface, of four regions of which the first holds most."""
    name = tables().name()
    store = HBaseStore.create(hbase_options(2, name), TableSchema(regions=4))
    add(LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance")), SPREAD)
    store.close()
    with LocalIndex(HBaseStore.open(hbase_options(version, name))) as index:
        yield index


@pytest.mark.hbase
def test_regions_are_told_with_their_shares(in_regions):
    found = in_regions.stats()

    assert found.exact
    assert [region.start for region in found.regions] == REGIONS
    assert all(region.server.rpartition(":")[2].isdigit() for region in found.regions)
    prefixes = block_rows_of(in_regions, *SPREAD).prefixes
    assert [region.rows for region in found.regions] == np.bincount(prefixes >> 38, minlength=4).tolist()
    assert sum(region.cells for region in found.regions) == 600
    shares = [region.share for region in found.regions]
    assert sum(shares) == pytest.approx(1, abs=0.001)
    assert found.imbalance == pytest.approx(4 * max(shares), abs=0.001)
    assert found.imbalance > 2


@pytest.mark.hbase
def test_a_sample_reads_every_region(in_regions, monkeypatch):
    monkeypatch.setattr(stats, "READ_WHOLE_REMOTELY", -1)
    monkeypatch.setattr(stats, "PAGE", 1)
    found = in_regions.stats()
    assert not found.exact
    assert [region.start for region in found.regions] == REGIONS
    assert found.documents % 64 == 0
