"""``verify`` reports cells that disagree, ``repair`` mends them, and ``vacuum`` deletes what has ended."""

from contextlib import suppress

import msgspec
import numpy as np
import pytest
from support.bruteforce import BASE, FAR, answered, entries
from support.places import index_at
from support.rows import block_rows_of, sealed_fields
from support.server_doubles import TombstoneStore

from simhash_hbase import CorruptIndex, IndexMissing, InvalidArgument, LocalIndex, Profile, StoreBusy, create_index
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.indexrows import begin_load, end_load
from simhash_hbase.index.timestamps import BatchClock
from simhash_hbase.rows.documentcells import DocumentState, Member, encode
from simhash_hbase.rows.keys import BlockRows, document_row, id_digest, index_row, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER, VALUE_QUALIFIER
from simhash_hbase.stores.base import Cell, Transactional
from simhash_hbase.testing.rows import rows_of

DAY_MS = 86_400_000


@pytest.fixture
def index(make_index):
    """Return an index with two near documents and one far from them."""
    index = make_index(grace_s=0)
    index.add_entries(entries({"a": BASE, "b": BASE ^ 1, "far": FAR}))
    make_index.clock.advance(ms=10)
    return index


def member(name, simhash, ms):
    value = Member(id=name, added=ms, length=0, features=0, digest=b"", sketch=b"")
    return Cell(member_row(simhash), id_digest(name), encode(value, checksum=True), ms)


def document(name, state, stamp, *, seen=None, timestamp=None):
    """Make a document cell that was written when it was seen, or before."""
    held = DocumentState(name, BASE, state, seen=seen or stamp, stamp=stamp)
    return Cell(document_row(id_digest(name)), STATE_QUALIFIER, encode(held, checksum=True), timestamp)


def test_a_member_that_no_document_names_is_left_over_but_not_wrong(index, make_index):
    index.store.put(FAMILY_DOCUMENTS, [member("far", BASE, make_index.clock() - 5)])

    # A writer puts its member before its document.
    found = index.verify(repair=True)

    assert (found.stale_members, found.wrong, found.repaired, found.members) == (1, 0, 0, 4)
    assert answered(index.query_simhash(BASE)) == [("a", 0), ("b", 1)]
    assert answered(index.query_simhash(FAR)) == [("far", 0)]
    assert index.vacuum().stale_members == 1
    assert (index.verify().stale_members, index.verify().members) == (0, 3)


def test_a_member_without_any_document_is_a_lost_document_where_no_crash_leaves_one(index, make_index):
    index.store.put(FAMILY_DOCUMENTS, [member("nobody", BASE, make_index.clock() - 5)])

    found = index.verify(repair=True)

    is_lost = isinstance(index.store, Transactional)
    assert (found.restored, found.stale_members, found.wrong) == ((1, 0, 0) if is_lost else (0, 1, 0))
    make_index.clock.advance(ms=10)
    index.vacuum()
    assert ("nobody", 0) in answered(index.query_simhash(BASE)) or not is_lost


def test_a_load_that_was_not_finished_lacks_no_documents(index, make_index):
    index.store.put(FAMILY_DOCUMENTS, [member("nobody", BASE, make_index.clock() - 5)])
    begin_load(index.store, "token")

    assert index.verify().missing_documents == 0


def test_a_lost_member_is_put_back_without_its_sketch(index, make_index):
    index.store.delete(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("a"), b"", make_index.clock())])
    assert answered(index.query_simhash(BASE)) == [("b", 1)]
    make_index.clock.advance(ms=10)
    found = [index.verify(repair=repair) for repair in (False, True, False)]
    assert [(one.missing_members, one.wrong) for one in found] == [(1, 1), (1, 0), (0, 0)]
    assert answered(index.query_simhash(BASE)) == [("a", 0), ("b", 1)]


def test_block_rows_under_a_wrong_prefix_are_deleted(index, make_index):
    index.store.put_rows(rows_of((0xABCDEF01, BASE), (0xABCDEF63, BASE)), timestamp=make_index.clock() - 5)
    found = [index.verify(repair=repair) for repair in (False, True, False)]
    assert [(one.malformed_rows, one.wrong) for one in found] == [(2, 2), (2, 0), (0, 0)]
    assert found[2].rows == 30


def test_block_rows_without_members_are_counted_but_not_wrong(index, make_index):
    index.store.put_rows(block_rows_of(index, 12345), timestamp=make_index.clock() - 5)
    verified = index.verify()
    assert (verified.orphan_rows, verified.wrong) == (10, 0)
    assert index.query_simhash(12345).matches == []
    make_index.clock.advance(ms=10)
    assert index.vacuum().rows == 10
    assert index.verify().rows == 30


def test_verify_finds_a_crowded_prefix_whole(make_index):
    index = make_index(max_rows_per_prefix=2)
    index.add_entries(entries({f"d{bit}": BASE ^ (1 << bit) for bit in range(8)}))
    index.claim_entries(entries({"copy": BASE ^ 1, "other copy": BASE ^ 2, "far": FAR}))
    found = index.verify()
    assert (found.documents, found.duplicates, found.members, found.wrong) == (9, 2, 9, 0)


def test_a_document_cell_without_a_whole_member_that_does_not_decode_is_removed(index, make_index):
    index.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest("a")), STATE_QUALIFIER, b"\xc1")])
    rows = index.profile.blocks.prefixes(np.array([BASE], np.uint64))[0]
    index.store.delete_rows(rows_of((int(min(rows)), BASE)), timestamp=make_index.clock() + DAY_MS)

    assert index.vacuum().removed == 0
    found = index.verify()
    assert (found.undecodable, found.documents, found.wrong) == (1, 2, 1)
    assert index.verify(repair=True).restored == 0
    left = index.verify()
    assert (left.wrong, left.stale_members) == (0, 1)
    assert answered(index.query_simhash(BASE)) == [("b", 1)]
    make_index.clock.advance(ms=10)
    assert index.vacuum().stale_members == 1


DAMAGES = {
    "no MessagePack": lambda fields: b"\xc1",
    "cut": lambda fields: encode_fields(fields)[:-1],
    "another id": lambda fields: encode_fields(["another", *fields[1:]]),
    "a negative fingerprint": lambda fields: encode_fields([fields[0], -1, *fields[2:]]),
    "a bit of the fingerprint": lambda fields: encode_fields([fields[0], fields[1] ^ 1 << 40, *fields[2:]]),
    "a bit of a time": lambda fields: encode_fields([*fields[:3], fields[3] ^ 1 << 62, *fields[4:]]),
    "a bit of the order": lambda fields: encode_fields([*fields[:5], [fields[5][0] ^ 1 << 50, 0], *fields[6:]]),
}
encode_fields = msgspec.msgpack.encode


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_document_cell_is_written_anew_from_its_member(index, damage):
    row = document_row(id_digest("a"))
    [before] = index.store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER)])
    answers, rows = answered(index.query_simhash(BASE)), index.stats(exact=True).rows
    value = damage(msgspec.msgpack.decode(before.value))
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, value)])

    for ask in (lambda: index.get("a"), lambda: list(index.export()), lambda: index.query_simhash(BASE), index.stats):
        with suppress(CorruptIndex):
            ask()
    assert index.verify().wrong > 0
    repaired = index.verify(repair=True)

    assert (repaired.restored, repaired.wrong, repaired.stale_members, repaired.orphan_rows) == (1, 0, 0, 0)
    assert answered(index.query_simhash(BASE)) == answers
    assert index.stats(exact=True).rows == rows
    [after] = index.store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER)])
    assert msgspec.msgpack.decode(after.value)[:3] == msgspec.msgpack.decode(before.value)[:3]


@pytest.mark.parametrize("of", [None, "copy"])
def test_a_duplicate_of_nothing_or_of_itself_is_wrong(index, of):
    index.claim_entries(entries({"copy": BASE}))
    row = document_row(id_digest("copy"))
    [cell] = index.store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER)])
    fields = msgspec.msgpack.decode(cell.value)
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, sealed_fields(*fields[:7], of, *fields[8:]))])

    assert index.verify().undecodable == 1


def test_a_duplicate_whose_original_nobody_has_is_counted(index, make_index):
    index.claim_entries(entries({"copy": BASE}))
    row = document_row(id_digest("copy"))
    [cell] = index.store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER)])
    fields = msgspec.msgpack.decode(cell.value)
    assert index.verify().without_original == 0
    value = sealed_fields(*fields[:7], "nobody", *fields[8:])
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, value)])

    found = index.verify()

    assert (found.without_original, found.stale_copies) == (1, 1)


@pytest.mark.parametrize("field", [1, 8], ids=["fingerprint", "distance"])
def test_a_changed_bit_of_a_duplicates_fingerprint_or_distance_is_found(index, field):
    index.claim_entries(entries({"a": BASE, "copy": BASE ^ 1}))
    row = document_row(id_digest("copy"))
    [cell] = index.store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER)])
    fields = msgspec.msgpack.decode(cell.value)
    assert index.verify().wrong == 0
    fields[field] ^= 2
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, sealed_fields(*fields))])

    found, repaired = index.verify(), index.verify(repair=True)

    assert (found.wrong_distances, found.wrong) == (1, 1)
    assert (repaired.wrong_distances, repaired.not_repaired, repaired.wrong) == (1, 1, 1)


@pytest.mark.parametrize("name", ["profile", "digest", "secret"])
def test_a_changed_or_missing_row_of_the_index_itself_is_found(index, name):
    key = index_row(name), VALUE_QUALIFIER
    [cell] = index.store.get("m", [key])
    changed = cell.value.replace(b'"similarity":0.77', b'"similarity":0.17').replace(b"a", b"b")
    index.store.put("m", [Cell(*key, changed if changed != cell.value else cell.value[:-1] + b"!")])
    with pytest.raises(CorruptIndex):
        index.verify()
    [cell] = index.store.get("m", [key])
    index.store.delete("m", [Cell(*key, b"", cell.timestamp)])
    with pytest.raises((CorruptIndex, IndexMissing)):
        index.verify()


def test_vacuum_is_refused_while_a_load_is_open(index):
    begin_load(index.store, "token")
    with pytest.raises(StoreBusy):
        index.vacuum()
    end_load(index.store, "token")
    assert index.vacuum().rows == 0


def test_repairing_beside_a_writer_changes_nothing(make_index):
    """Pages are read, then documents move away, then the pages are checked: the check has to look again."""
    index = make_index()
    index.add_entries(entries({f"d{number}": BASE ^ number for number in range(20)}))
    read = index.store.scan_cells

    def scan_then_move(*args, **options):
        pages = list(read(*args, **options))
        index.add_entries(entries({f"d{number}": FAR ^ number for number in range(20)}))
        yield from pages

    index.store.scan_cells = scan_then_move
    beside = index.verify(repair=True)
    index.store.scan_cells = read

    assert (beside.repaired, beside.wrong) == (0, 0)
    assert index.verify().wrong == 0


@pytest.mark.parametrize("count", [1, 9, 10])
def test_a_document_that_lacks_several_rows_counts_once(make_index, count):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": BASE, "c": BASE ^ 1}))
    rows = block_rows_of(index, BASE)
    index.store.delete_rows(BlockRows(rows.prefixes[:count], rows.simhashes[:count]), timestamp=1)
    found = [index.verify(repair=repair) for repair in (False, True, False)]
    assert [(one.incomplete, one.repaired, one.not_repaired) for one in found] == [(2, 0, 0), (2, 2, 0), (0, 0, 0)]
    assert (found[0].wrong, found[2].rows) == (2, 20)


@pytest.mark.parametrize(("late_ms", "found"), [(0, [("a", 0)]), (1, [])])
def test_a_document_is_found_until_its_time_to_live_has_passed(make_index, clock, late_ms, found):
    index = make_index(ttl_days=1, grace_s=0)
    index.add_entries(entries({"a": BASE}))
    seen = index.get("a").seen
    clock.advance(ms=DAY_MS + late_ms)
    assert index.get("a") is None or index.get("a").seen == seen
    assert answered(index.query_simhash(BASE)) == found
    assert index.vacuum().expired == 1 - len(found)


def make_hiding(clock, **options):
    """Make an index in a store whose deletes hide later writes."""
    store, profile = TombstoneStore(clock), Profile.resolve(analyzer="shingle", match="distance", **options)
    LocalIndex.create(store, profile)
    return index_at(store, clock)


@pytest.fixture
def hiding(clock):
    return make_hiding(clock)


def test_vacuum_puts_rows_back_whose_members_appear_behind_its_first_look(hiding, clock, monkeypatch):
    rows = block_rows_of(hiding, BASE, FAR)
    hiding.store.put_rows(rows, timestamp=clock())
    clock.advance(days=1)
    delete = hiding.store.delete_rows

    def delete_late(doomed, *, timestamp):
        # A writer finds the rows there, and writes nothing but its member and its document cell.
        hiding.store.put(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("a"), b"", clock())])
        delete(doomed, timestamp=timestamp)

    monkeypatch.setattr(hiding.store, "delete_rows", delete_late)

    swept = hiding.vacuum()

    assert swept.rows == 10
    assert hiding.store.has_rows(block_rows_of(hiding, BASE)).all()


@pytest.mark.parametrize(("age_ms", "swept"), [(3_599_999, 0), (3_600_000, 1)])
def test_vacuum_sweeps_only_what_is_older_than_the_grace_period(hiding, clock, age_ms, swept):
    now = clock()
    hiding.store.put_rows(block_rows_of(hiding, FAR), timestamp=now)
    states = {"p": "pending", "y": "yielded", "r": "removed", "x": "aborted"}
    hiding.store.put(FAMILY_DOCUMENTS, [document(name, state, now, timestamp=now) for name, state in states.items()])
    hiding.store.put(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("gone"), b"stale", now)])
    clock.advance(ms=age_ms)

    found = hiding.vacuum()

    assert (found.abandoned, found.removed, found.stale_members) == (2 * swept, 2 * swept, swept)
    assert found.rows == 10 * swept
    assert [held is None for held in read_states(hiding.store, ["r", "x"])] == [swept == 1] * 2


@pytest.mark.parametrize("seen_ms", [0, 1])
def test_vacuum_leaves_a_claim_alone_that_its_writer_renewed_within_the_grace_period(hiding, clock, seen_ms):
    # A claim's first cell has a timestamp that is no time.
    hiding.store.put(FAMILY_DOCUMENTS, [document("p", "pending", clock(), seen=clock() + seen_ms, timestamp=7)])
    clock.advance(ms=3_600_000)
    assert hiding.vacuum().abandoned == 1 - seen_ms


def test_a_claim_older_than_the_time_to_live_is_given_up(clock):
    index = make_hiding(clock, ttl_days=1)
    index.store.put(FAMILY_DOCUMENTS, [document("p", "pending", clock())])
    clock.advance(days=2)
    swept = index.vacuum()
    assert (swept.abandoned, swept.expired) == (1, 0)
    assert read_states(index.store, ["p"])[0][0].state == "aborted"


def test_a_document_that_is_gone_meanwhile_lacks_no_member(hiding, clock, monkeypatch):
    cell = document("gone", "added", clock())
    monkeypatch.setattr(hiding.store, "scan_cells", lambda *_, **__: iter([[cell]]))
    assert hiding.verify().missing_members == 0


@pytest.mark.parametrize(
    "damage", [lambda value: value[:-5], lambda value: value[:-2] + bytes([value[-2] ^ 1]) + value[-1:], None]
)
def test_a_damaged_idf_table_is_found(damage):
    index = create_index("memory:", learn_from=["the train is late", "tickets stay valid"])
    key = index_row("idf/000000"), VALUE_QUALIFIER
    [cell] = index.store.get("m", [key])
    if damage is None:
        index.store.delete("m", [cell])
    else:
        index.store.put("m", [Cell(*key, damage(cell.value))])

    for ask in (index.verify, lambda: LocalIndex(index.store).query("the train is late")):
        with pytest.raises(CorruptIndex):
            ask()


def test_a_changed_profile_is_no_index_with_other_answers(make_memory_index):
    store = make_memory_index(similarity=0.77).store
    key = index_row("profile"), VALUE_QUALIFIER
    [cell] = store.get("m", [key])
    store.put("m", [Cell(*key, cell.value.replace(b"0.77", b"0.17"))])
    with pytest.raises(CorruptIndex, match="not the one"):
        LocalIndex(store)


def test_a_document_that_agrees_with_nothing_is_left_as_it_is(index):
    """A changed bit of the fingerprint, and a member that is lost as well."""
    row = document_row(id_digest("a"))
    [cell] = index.store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER)])
    fields = msgspec.msgpack.decode(cell.value)
    changed = sealed_fields(fields[0], fields[1] ^ 1 << 40, *fields[2:])
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, changed)])
    key = member_row(BASE), id_digest("a")
    [lost] = index.store.get(FAMILY_DOCUMENTS, [key])
    index.store.delete(FAMILY_DOCUMENTS, [lost])

    found = [index.verify(repair=repair) for repair in (True, False)]

    assert [(one.missing_members, one.repaired, one.rows) for one in found] == [(1, 0, 30)] * 2
    assert found[0].not_repaired == 2


def test_a_document_whose_damaged_member_is_deleted_counts_once(make_index):
    index = make_index()
    index.add_entries(entries({"a": BASE}))
    [cell] = index.store.get(FAMILY_DOCUMENTS, [(member_row(BASE), id_digest("a"))])
    index.store.put(FAMILY_DOCUMENTS, [cell._replace(value=b"\xc1", timestamp=None)])
    index.store.delete_rows(block_rows_of(index, BASE), timestamp=1)
    told = []

    found = index.verify(repair=True, on_damage=lambda _, error: told.append(str(error)))

    assert (found.missing_members, found.incomplete, found.undecodable) == (1, 1, 1)
    assert sum("lacks rows" in line for line in told) == 1


def test_a_member_of_another_id_than_its_key_is_found(index):
    [cell] = index.store.get(FAMILY_DOCUMENTS, [(member_row(BASE), id_digest("a"))])
    fields = msgspec.msgpack.decode(cell.value)
    index.store.put(FAMILY_DOCUMENTS, [cell._replace(value=sealed_fields("x", *fields[1:]), timestamp=None)])

    assert index.verify().undecodable == 1


@pytest.mark.parametrize("old", [20, 11, 10])
def test_vacuum_asks_before_most_documents_go_as_expired(make_index, old):
    index = make_index(ttl_days=7, grace_s=0)
    index.add_entries(entries({f"old {number}": BASE ^ number for number in range(old)}))
    make_index.clock.advance(days=6)
    index.add_entries(entries({f"new {number}": FAR ^ number for number in range(20 - old)}))
    make_index.clock.advance(days=2)
    if old == 10:
        assert index.vacuum().expired == 10
        return

    with pytest.raises(InvalidArgument, match=f"{old} of 20 documents have expired: the latest was seen at 20.*`yes`"):
        index.vacuum()

    assert index.stats(exact=True).documents == 20
    assert index.vacuum(yes=True).expired == old


@pytest.mark.parametrize(("days", "asks"), [(8, True), (6, False)])
def test_vacuum_asks_where_nothing_was_seen_for_a_time_to_live_before_what_stays(make_index, days, asks):
    index = make_index(ttl_days=7, grace_s=0)
    index.add_entries(entries({f"old {number}": BASE ^ number for number in range(10)}))
    make_index.clock.advance(days=days)
    index.claim_entries(entries({f"ahead {number}": FAR ^ number << 32 for number in range(20)}))
    make_index.clock.advance(days=8 - days)
    if not asks:
        assert index.vacuum().expired == 10
        return

    with pytest.raises(
        InvalidArgument, match=r"10 of 30 documents have expired: nothing was seen from 20.* until 20.*`yes`"
    ):
        index.vacuum()

    assert index.vacuum(yes=True).expired == 10


def test_vacuum_of_a_few_documents_does_not_ask(make_index):
    index = make_index(ttl_days=7, grace_s=0)
    index.add_entries(entries({f"{number}": BASE ^ number for number in range(9)}))
    make_index.clock.advance(days=8)

    assert index.vacuum().expired == 9


@pytest.mark.parametrize(("days", "is_said"), [(6, False), (8, True)])
def test_a_clock_by_which_everything_has_expired_is_said(make_index, days, is_said):
    index = make_index(ttl_days=7)
    assert index.expiry_warning() is None
    index.add_entries(entries({"a": BASE, "b": FAR}))
    make_index.clock.advance(days=days)

    warning = index.expiry_warning()

    assert (warning is not None) == is_said
    assert not is_said or "all 2 documents" in warning
    index.add_entries(entries({"new": BASE}))
    assert index.expiry_warning() is None


def test_an_index_without_a_time_to_live_expires_by_no_clock(make_index):
    index = make_index()
    index.add_entries(entries({"a": BASE}))
    make_index.clock.advance(days=10_000)

    assert index.expiry_warning() is None


def test_a_clock_two_hours_behind_decides_alike(make_index, monkeypatch):
    index = make_index(ttl_days=7)
    index.claim_entries(entries({"a": BASE, "far": FAR}))
    monkeypatch.setattr(index, "_shared", type(index._shared)(BatchClock(make_index.clock)))
    make_index.clock.advance(ms=-2 * 3_600_000)

    [copy, again] = index.claim_entries(entries({"copy": BASE ^ 1, "a": BASE}))

    assert (copy.of, again.is_original) == ("a", True)
    assert index.vacuum().expired == 0
    assert index.verify().wrong == 0


def test_an_index_whose_profile_is_lost_is_not_made_again_over_its_documents(make_memory_index):
    index = make_memory_index()
    index.add_entries(entries({"a": BASE}))
    [cell] = index.store.get("m", [(index_row("profile"), VALUE_QUALIFIER)])
    index.store.delete("m", [cell])

    for opened in (lambda: LocalIndex(index.store), lambda: LocalIndex.create(index.store, index.profile)):
        with pytest.raises(CorruptIndex, match="restore a backup"):
            opened()


def test_an_original_of_another_document_is_damage(index):
    [[state, _]] = read_states(index.store, ["a"])
    other = msgspec.structs.replace(state, of="b")
    index.store.put(FAMILY_DOCUMENTS, [Cell(*state.key, encode(other, checksum=True))])
    assert index.verify().undecodable == 1


def test_a_damaged_note_of_a_backup_or_a_load_is_written_anew(index):
    for name in ("backup", "load"):
        index.store.put("m", [Cell(index_row(name), VALUE_QUALIFIER, b"{")])
        with pytest.raises(CorruptIndex, match="writes it anew"):
            index.verify()
        if name == "backup":
            index.note_backup("1h")
        else:
            begin_load(index.store, "token", take_over=True)
            end_load(index.store, "token")
        assert index.verify().wrong == 0
