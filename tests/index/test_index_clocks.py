"""Clocks that are hours off: no delete hides what was acknowledged, since timestamps go by the time of the server."""

import random

import numpy as np
import pytest
from support.bruteforce import BASE, FAR, answered, dedup, entries, neighbours
from support.places import HBASE_PLACES
from support.rows import block_rows_of
from support.server_doubles import SwappingOnly, TombstoneStore

from simhash_hbase import LocalIndex, Profile, StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.index.timestamps import MARGIN_MS, ServerClock
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.keys import BlockRows, id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.memory import MemoryStore

HOUR_MS = 3_600_000
IDS = [f"id{number}" for number in range(6)]
FINGERPRINTS = [BASE ^ (1 << bit) for bit in (0, 20, 40)] + [FAR]
PLACES = {"tombstones": lambda: TombstoneStore(now_ms)}
PLACES |= {name: lambda place=place: place(None, None).create() for name, place in HBASE_PLACES.items()}


def writers(store, *hours):
    """Open an index by clocks that are some hours ahead."""
    return [LocalIndex(store, clock=lambda off=off: now_ms() + round(off * HOUR_MS)) for off in hours]


@pytest.fixture(params=["tombstones", *(pytest.param(n, marks=pytest.mark.hbase) for n in HBASE_PLACES)])
def make(request):
    """Return what makes one index, and gives it clocks that are some hours ahead."""
    made = []

    def make(*hours, **options):
        made.append(store := PLACES[request.param]())
        LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance", **options))
        return writers(store, *hours)

    yield make
    for store in made:
        store.close()


@pytest.mark.parametrize("ahead", [0.1, 2, 24 * 365])
def test_vacuum_by_a_clock_that_is_ahead_hides_nothing_that_is_written_later(make, ahead):
    right, wrong = make(0, ahead, grace_s=0)
    right.add_entries(entries({"a": BASE, "c": FAR}))
    list(right.remove_many(["a"]))
    wrong.vacuum()
    right.add_entries(entries({"a": BASE, "b": BASE}))
    assert answered(right.query_simhash(BASE)) == [("a", 0), ("b", 0)]
    assert right.verify().wrong == 0


@pytest.mark.parametrize("ahead", [2, 24 * 365])
def test_documents_expire_by_the_servers_clock(make, ahead):
    right, wrong = make(0, ahead, grace_s=0, ttl_days=1)
    right.add_entries(entries({"a": BASE}))
    swept = wrong.vacuum()
    assert (swept.expired, swept.rows) == (0, 0)
    assert answered(right.query_simhash(BASE)) == [("a", 0)]


@pytest.mark.parametrize("write", [LocalIndex.add_entries, LocalIndex.claim_entries, dedup])
def test_what_a_writer_that_is_behind_writes_is_not_hidden_by_a_vacuum_before(make, write):
    right, behind = make(0, -2)
    old = now_ms() - 3 * 60_000
    # What vacuum deleted three minutes ago, when a grace of two had passed.
    right.store.delete_rows(block_rows_of(right, BASE), timestamp=old)
    right.store.delete(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("a"), b"", old)])

    write(behind, entries({"a": BASE}))

    assert answered(right.query_simhash(BASE)) == [("a", 0)]
    assert right.verify().wrong == 0


def test_what_a_writer_that_is_behind_refreshes_is_not_hidden_either(make):
    right, behind = make(0, -2, ttl_days=0.125)
    [early] = writers(right.store, -1)
    early.add_entries(entries({"a": BASE}))
    behind.claim_entries(entries({"b": BASE}))
    assert answered(right.query_simhash(BASE)) == [("a", 0)]
    assert right.verify().wrong == 0


@pytest.mark.parametrize("seed", range(3))
def test_writers_hours_ahead_or_behind_lose_nothing_beside_vacuums(make, seed):
    indexes = make(2, -2, 0, grace_s=0)
    rng = random.Random(seed)
    model = {}
    for _ in range(60):
        writer, reader = rng.choice(indexes), rng.choice(indexes)
        document, simhash = rng.choice(IDS), rng.choice(FINGERPRINTS)
        act = rng.random()
        if act < 0.3:
            assert list(writer.remove_many([document])) == [(document, document in model)]
            model.pop(document, None)
        elif act < 0.4:
            writer.vacuum()
        elif act < 0.5:
            assert writer.verify(repair=True).wrong == 0
        else:
            writer.add_entries(entries({document: simhash}))
            model[document] = simhash
        assert {stored.id: stored.simhash for stored in reader.get_many(IDS) if stored is not None} == model
        assert answered(reader.query_simhash(simhash)) == neighbours(model, simhash, 3)

    assert indexes[-1].verify().wrong == 0


def test_a_repair_counts_as_repaired_only_what_it_reads_back(make):
    [index] = make(0)
    index.add_entries(entries({"a": BASE, "b": FAR, "c": FAR ^ 1, "d": FAR ^ 1}))
    future = now_ms() + 2 * HOUR_MS
    index.store.delete_rows(block_rows_of(index, BASE), timestamp=future)
    index.store.delete(FAMILY_DOCUMENTS, [Cell(member_row(FAR), id_digest("b"), b"", future)])
    # What can be repaired: deleted in the past.
    for name in "cd":
        [cell] = index.store.get(FAMILY_DOCUMENTS, [(member_row(FAR ^ 1), id_digest(name))])
        index.store.delete(FAMILY_DOCUMENTS, [cell])

    found = index.verify(repair=True)

    assert (found.incomplete, found.missing_members) == (1, 3)
    assert (found.repaired, found.not_repaired, found.wrong) == (2, 2, 2)
    again = index.verify()
    assert (again.incomplete, again.missing_members, again.repaired, again.not_repaired) == (1, 1, 0, 0)
    assert answered(index.query_simhash(FAR)) == [("c", 1), ("d", 1)]
    # The documents know of their members' new time.
    list(index.remove_many(["c", "d"]))
    assert index.verify().stale_members == 0


def test_what_a_clock_ahead_wrote_wrongly_is_not_deleted_in_the_future(make):
    [index] = make(0)
    index.add_entries(entries({"a": BASE}))
    future = now_ms() + 2 * HOUR_MS
    odd = BlockRows(block_rows_of(index, FAR).prefixes[:1] ^ np.uint64(1 << 20), np.array([FAR], np.uint64))
    index.store.put_rows(odd, timestamp=future)
    index.store.put(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("x"), b"\xc1", future)])

    found = index.verify(repair=True)

    assert (found.malformed_rows, found.undecodable, found.repaired, found.not_repaired) == (1, 1, 0, 2)
    index.store.put(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("x"), b"later", future)])
    assert index.store.get(FAMILY_DOCUMENTS, [(member_row(BASE), id_digest("x"))])[0] is not None
    index.store.put_rows(odd, timestamp=future + 1)
    assert index.store.has_rows(odd).tolist() == [True]


def test_a_clock_that_is_put_right_leaves_no_document_of_its_process_expired():
    ahead = 0
    index = LocalIndex.create(
        MemoryStore(), Profile.resolve(analyzer="shingle", match="distance", ttl_days=1), clock=lambda: now_ms() + ahead
    )
    index.claim_entries(entries({"a": BASE, "c": FAR}))
    ahead = 24 * 365 * HOUR_MS
    index.claim_entries(entries({"b": BASE}))
    ahead = 0

    [decision] = index.claim_entries(entries({"d": FAR}))

    assert decision.of == "c"


BEGIN_MS = 1_700_000_000_000


class Clocks:
    server_ms, monotonic_s, wall_s, readings = BEGIN_MS, 5.0, 0.0, 0

    def read(self):
        self.readings += 1
        return self.server_ms

    def pass_by(self, seconds):
        self.server_ms += round(seconds * 1000)
        self.wall_s += seconds
        self.monotonic_s += seconds


def server_clock(store, clocks):
    return ServerClock(store, monotonic=lambda: clocks.monotonic_s, wall=lambda: clocks.wall_s)


@pytest.fixture
def clocks():
    return Clocks()


@pytest.fixture
def server(clocks):
    return server_clock(SwappingOnly(MemoryStore(clock=clocks.read)), clocks)


def test_it_is_the_server_s_time(server, clocks):
    for passed_s in (0, 1):
        clocks.pass_by(passed_s)
        assert server.server_time() == BEGIN_MS + 1000 * passed_s


def test_the_servers_clock_is_read_once_a_minute(server, clocks):
    for minute in range(3):
        for _ in range(4):
            assert server.time_below() == clocks.server_ms - MARGIN_MS
            clocks.pass_by(15.5)
        assert clocks.readings == minute + 1


def test_the_time_of_a_store_goes_up_although_no_time_passes(server, clocks):
    other = server_clock(SwappingOnly(MemoryStore(clock=lambda: BEGIN_MS + 9)), clocks)
    assert [one.time_below() - BEGIN_MS + MARGIN_MS for one in (server, server, other, server)] == [0, 1, 9, 2]


@pytest.mark.parametrize("step_s", [-7200, 7200])
def test_a_machine_that_slept_or_whose_clock_was_set_reads_it_again(server, clocks, step_s):
    server.time_below()
    clocks.wall_s += step_s
    assert server.time_below() > BEGIN_MS - MARGIN_MS
    assert clocks.readings == 2


class Unanswered(SwappingOnly):
    """A store that does not answer some of the first puts."""

    def __init__(self, inner, errors):
        super().__init__(inner)
        self.errors = errors

    def put(self, family, cells):
        if self.errors:
            raise self.errors.pop()
        super().put(family, cells)


@pytest.mark.parametrize("error", [StoreTimeout, StoreUnavailable])
@pytest.mark.parametrize("choose", [ServerClock.time_below, ServerClock.decision_time])
def test_a_store_that_does_not_answer_is_asked_for_its_time_three_times(clocks, choose, error):
    store = Unanswered(MemoryStore(clock=clocks.read), [error("no answer")] * 2)
    assert choose(server_clock(store, clocks)) == BEGIN_MS - MARGIN_MS


@pytest.mark.parametrize(("error", "calls"), [(StoreTimeout, 3), (StoreRefused, 1)])
def test_a_store_that_never_answers_or_refuses_is_asked_no_more(clocks, error, calls):
    store = Unanswered(MemoryStore(clock=clocks.read), [error("no") for _ in range(calls + 1)])
    with pytest.raises(error):
        server_clock(store, clocks).time_below()
    assert len(store.errors) == 1
