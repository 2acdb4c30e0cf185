"""Repair, expiry and vacuum on a real HBase, where other clocks stamp the cells."""

import numpy as np
import pytest
from support.bruteforce import answered, entries
from support.hbase_server import hbase_options, tables
from support.places import Clock, server_goes_by

from simhash_hbase import Index, Profile
from simhash_hbase.bulk import Spool, StoreWriter, begin, load
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import Document, Place
from simhash_hbase.rows.documents import DocumentState, encode
from simhash_hbase.rows.keys import block_rows, document_row, id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import HBaseStore

pytestmark = pytest.mark.hbase

BASE = 0x9E3779B97F4A7C15
FAR = ~BASE & (1 << 64) - 1


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    server_goes_by(made, monkeypatch)
    return made


@pytest.fixture(params=[1, 2])
def make(request, clock):
    """Return what makes an index, through either Thrift interface."""
    made = []

    def make(**options):
        store = HBaseStore.open(hbase_options(request.param, tables().take()))
        profile = Profile.resolve(analyzer="shingle", match="distance", **options)
        made.append(Index.create(store, profile, clock=clock))
        return made[-1]

    yield make
    for index in made:
        index.close()


def test_what_is_damaged_is_told_and_repaired(make, clock):
    index = make()
    index.add_entries(entries({"a": BASE, "b": BASE ^ 1, "c": FAR}))
    rows = block_rows(index.profile.blocks, np.array([FAR], dtype=np.uint64))
    # As an operator deletes by hand: a little later than what was written.
    clock.advance(ms=5)
    index.store.delete(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("a"), b"", clock())])
    index.store.delete_rows(rows, timestamp=clock())
    index.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest("x")), STATE_QUALIFIER, b"\xc1")])
    [damaged] = index.store.get(FAMILY_DOCUMENTS, [(document_row(id_digest("x")), STATE_QUALIFIER)])
    clock.ms = max(clock.ms, damaged.timestamp) + 5

    found = index.verify()

    assert (found.missing_members, found.incomplete, found.undecodable, found.wrong) == (1, 1, 1, 3)
    assert index.verify(repair=True).repaired == 3
    assert index.verify().wrong == 0
    answers = index.query_entries(entries({"near": BASE, "far": FAR}))
    assert [answered(answer) for answer in answers] == [[("a", 0), ("b", 1)], [("c", 0)]]
    # The document knows of its member's new time, so both go.
    assert list(index.remove_many(["a"])) == [("a", True)]
    assert index.verify().wrong == 0


def load_all(index, folder, simhashes):
    spool = Spool(folder, index.store.url, index.profile)
    begin(index, spool, into_existing=True)
    documents = (Document(name, None, h, None, {}, Place("input", 0), None) for name, h in simhashes.items())
    list(spool.fill(documents, Analysis(index.profile)))
    load(index, spool, StoreWriter(index.store), into_existing=True)


def assert_all_found(index, simhashes):
    answers = index.query_entries(entries({f"near {name}": simhash for name, simhash in simhashes.items()}))
    assert [answered(answer) for answer in answers] == [[(name, 0)] for name in simhashes]
    assert index.verify().wrong == 0


@pytest.mark.parametrize("ahead_ms", [5_000, 60_000])
def test_what_vacuum_deletes_does_not_hide_what_is_loaded_at_once(make, clock, tmp_path, ahead_ms):
    index = make(grace_s=0)
    index.add_entries(entries({"a": BASE, "b": FAR}))
    list(index.remove_many(["a"]))
    clock.advance(ms=ahead_ms)
    index.vacuum()

    load_all(index, tmp_path / "load", {"a": BASE, "c": BASE ^ 0xFFFF})

    assert_all_found(index, {"a": BASE, "b": FAR, "c": BASE ^ 0xFFFF})


def test_a_removal_by_a_writer_whose_clock_is_ahead_is_kept_until_its_deletes_are_old_too(make, clock, tmp_path):
    index = make(grace_s=0)
    # The server stamped the cell a minute ago; the member was deleted up to the time of the writer's clock.
    removed = DocumentState("a", BASE, "removed", seen=clock() - 1_000, stamp=clock() - 1_000)
    row, digest = document_row(id_digest("a")), id_digest("a")
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, encode(removed), clock() - 61_000)])
    index.store.delete(FAMILY_DOCUMENTS, [Cell(member_row(BASE), digest, b"", removed.stamp)])
    clock.advance(ms=60_000)
    index.vacuum()

    load_all(index, tmp_path / "load", {"a": BASE})

    assert_all_found(index, {"a": BASE})


def test_documents_that_were_not_seen_expire_and_vacuum_takes_all_of_them(make, clock):
    index = make(ttl_days=30, grace_s=0)
    index.add_entries(entries({"old": BASE, "seen again": BASE ^ 1, "far": FAR}))
    clock.advance(days=20)
    index.add_entries(entries({"seen again": BASE ^ 1}))
    clock.advance(days=15)

    [answer] = index.query_entries(entries({"query": BASE}))

    assert answered(answer) == [("seen again", 1)]
    assert index.get("old") is None
    assert [stored.id for stored in index.export()] == ["seen again"]
    assert index.stats().states == {"added": 3}
    swept = index.vacuum()
    assert (swept.expired, swept.rows) == (2, 20)
    assert index.stats().states == {"added": 1}
    assert index.verify().wrong == 0
    assert index.vacuum().expired == 0


def test_a_removed_document_stays_away_and_vacuum_takes_its_rows_after_the_grace_period(make, clock):
    index = make(grace_s=3600)
    index.add_entries(entries({"gone": BASE, "stays": FAR}))
    list(index.remove_many(["gone"]))

    early = index.vacuum()
    clock.advance(ms=3_700_000)
    late = index.vacuum()

    assert (early.removed, early.rows) == (0, 0)
    assert (late.removed, late.rows) == (1, 10)
    assert index.verify().orphan_rows == 0
    assert len(next(index.store.scan_range(0, 1 << 40, page=100)).prefixes) == 10
