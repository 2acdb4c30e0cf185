"""The copies of an original: listed with their sources, whatever becomes of them, of it, or of a late request."""

from dataclasses import replace

import msgspec
import pytest
from support.bruteforce import BASE, FAR, entries
from support.cost import NotingStore
from support.places import HBASE_PLACES, SERVERLESS_PLACES, IndexMaker
from support.rows import sealed_fields
from support.server_doubles import SwappingOnly

from simhash_hbase import LocalIndex, Profile
from simhash_hbase.index import copies
from simhash_hbase.rows.keys import copies_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell

ELSEWHERE = BASE ^ 0xFFFFFFFF


@pytest.fixture(params=[*SERVERLESS_PLACES, pytest.param("thrift2", marks=pytest.mark.hbase)])
def make_index(request, tmp_path, clock):
    maker = IndexMaker({**SERVERLESS_PLACES, **HBASE_PLACES}[request.param](tmp_path, clock), clock)
    yield maker
    maker.close()


@pytest.fixture
def index(make_index):
    """Return an index where b is a copy of a that came from a wire, 50 ms ago."""
    return with_a_copy(make_index)


def with_a_copy(make_index, **options):
    made = make_index(**{"grace_s": 0, **options})
    claim(made, {"a": BASE, "far": FAR})
    claim(made, {"b": BASE ^ 1}, "wire")
    make_index.clock.advance(ms=50)
    return made


def sourced(documents, source=None):
    made = entries(documents)
    return made if source is None else replace(made, metadata=[{"source": source}] * len(made))


def claim(index, documents, source=None):
    return [decision.of for decision in index.claim_entries(sourced(documents, source))]


def dedup(index, documents, source=None):
    return [decision.of for decision in index.dedup_entries(sourced(documents, source), index.deduplicator())]


def of_copies(found):
    """Return what a check or a repair tells of entries of copies, after how much is wrong otherwise."""
    return found.wrong, found.copies, found.missing_copies, found.stale_copies


def listed(index, name):
    """Return the original, and id, distance and source of each copy."""
    found = index.copies(name)
    return found and (found.of, [(c.id, c.distance, c.metadata and c.metadata["source"]) for c in found.copies])


def cells(index, name):
    return index.store.get_rows(FAMILY_DOCUMENTS, [copies_row(id_digest(name))], limit=100)[0]


@pytest.mark.parametrize("decide", [claim, dedup])
def test_copies_are_listed_with_their_sources_by_the_id_of_original_or_copy(make_index, decide):
    index = make_index()
    decide(index, {"a": BASE})
    make_index.clock.advance(ms=50)
    assert decide(index, {"b": BASE ^ 1, "far": FAR}, "wire") == ["a", None]
    make_index.clock.advance(ms=50)
    decide(index, {"c": BASE}, "paper")

    expected = ("a", [("b", 1, "wire"), ("c", 0, "paper")])
    assert [listed(index, name) for name in ("a", "b", "c")] == [expected] * 3
    assert (listed(index, "far"), listed(index, "nobody")) == (("far", []), None)
    found = index.copies("b")
    assert (found.id, found.of_removed, found.count, found.truncated) == ("b", False, 2, False)
    assert (found.first, found.last) == (found.copies[0].added, found.copies[1].seen)
    assert index.get("a").added < found.first < found.last
    sources = {stored.id: stored.metadata and stored.metadata["source"] for stored in index.export()}
    assert sources == {"a": None, "b": "wire", "far": "wire", "c": "paper"}
    assert of_copies(index.verify()) == (0, 2, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.add_entries(entries({"b": BASE ^ 1})),
        lambda index: claim(index, {"b": ELSEWHERE}),
        lambda index: list(index.remove_many(["b"])),
    ],
    ids=["add", "claim", "remove"],
)
def test_a_document_is_in_the_list_of_copies_while_it_is_one(make_index, index, change):
    change(index)
    assert (listed(index, "a"), cells(index, "a")) == (("a", []), [])
    # Above the delete, by the stamp of its document cell.
    make_index.clock.advance(ms=-50)
    list(index.remove_many(["b"]))
    assert claim(index, {"b": BASE ^ 1}, "again") == ["a"]
    assert listed(index, "a") == ("a", [("b", 1, "again")])


def test_the_list_of_copies_goes_with_its_original_at_once(make_index, monkeypatch):
    monkeypatch.setattr(copies, "FIRST_COPIES", 2)
    monkeypatch.setattr(copies, "MORE_COPIES", 3)
    index = make_index()
    claim(index, {"a": BASE, **{f"copy {i}": BASE ^ 1 << i for i in range(12)}})
    assert len(cells(index, "a")) == 12

    list(index.remove_many(["a", "nobody"]))

    assert (cells(index, "a"), index.copies("a")) == ([], None)
    found = index.copies("copy 3")
    assert (found.of, found.of_removed, found.copies) == ("a", True, [])


@pytest.mark.parametrize("moved", [BASE ^ 3, BASE ^ 7, ELSEWHERE])
def test_copies_of_an_earlier_text_say_so_whatever_its_distance(make_index, index, moved):
    index.add_entries(entries({"a": moved}))

    assert [copy.of_removed for copy in index.copies("a").copies] == [True]
    assert index.copies("b").of_removed
    for decide in (index.claim_entries, lambda e: index.dedup_entries(e, index.deduplicator())):
        [decision] = decide(entries({"b": BASE ^ 1}))
        assert (decision.of, decision.of_removed) == ("a", True)
    make_index.clock.advance(ms=50)
    index.add_entries(entries({"a": BASE}))
    assert [copy.of_removed for copy in index.copies("a").copies] == [False]


@pytest.mark.parametrize("decide", [claim, dedup])
def test_an_original_that_is_a_copy_for_a_while_has_its_copies_again_afterwards(make_index, index, decide):
    assert decide(index, {"a": FAR ^ 1}) == ["far"]
    make_index.clock.advance(ms=300_000)
    assert (index.vacuum().stale_copies, index.verify().stale_copies) == (0, 0)
    assert decide(index, {"a": ELSEWHERE}) == [None]
    assert listed(index, "a") == listed(index, "b") == ("a", [("b", 1, "wire")])
    assert index.copies("b").of_removed
    assert of_copies(index.verify()) == (0, 1, 0, 0)


def test_an_original_that_comes_back_after_it_has_expired_has_its_copies_again(make_index, clock):
    index = make_index(ttl_days=10, grace_s=0)
    claim(index, {"a": BASE})
    clock.advance(days=0.9)
    claim(index, {"b": BASE ^ 1}, "wire")
    clock.advance(days=9.5)
    assert (index.copies("a"), listed(index, "b")) == (None, ("a", []))
    index.vacuum()

    index.add_entries(entries({"a": BASE}))

    assert listed(index, "a") == ("a", [("b", 1, "wire")])
    clock.advance(days=1)
    assert (listed(index, "a"), index.vacuum().stale_copies, cells(index, "a")) == (("a", []), 1, [])


def test_what_is_not_read_of_many_copies_is_told(make_index):
    index = make_index(max_members=5)
    claim(index, {"a": BASE})
    for names, truncated in (("bcdef", False), ("g", True)):
        claim(index, dict.fromkeys(names, BASE ^ 1))
        found = index.copies("a")
        assert (found.count, len(found.copies), found.truncated) == (5, 5, truncated)


def test_a_copy_that_is_offered_again_is_written_anew_where_documents_expire(make_index, clock):
    index = with_a_copy(make_index, ttl_days=10)
    [before] = cells(index, "a")
    clock.advance(days=6)

    claim(index, {"b": BASE ^ 1}, "paper")

    # HBase collects cells by their timestamps.
    [after] = cells(index, "a")
    assert (after.timestamp >= before.timestamp + 5 * 86_400_000, after.value) == (True, before.value)
    assert index.copies("a").copies[0].seen > index.copies("a").copies[0].added


def renamed(cell, name):
    """Make the entry of another copy."""
    value = sealed_fields(name, *msgspec.msgpack.decode(cell.value)[1:])
    return cell._replace(qualifier=id_digest(name), value=value)


def test_verify_repairs_what_the_list_of_copies_lacks_or_has_too_much(make_index, index):
    claim(index, {"c": BASE}, "wire")
    make_index.clock.advance(ms=200_000)
    of_b, of_c = sorted(cells(index, "a"), key=lambda cell: cell.qualifier != id_digest("b"))
    index.store.delete(FAMILY_DOCUMENTS, [of_b])
    strangers = [
        of_c._replace(row=copies_row(id_digest("gone"))),
        renamed(of_c, "nobody"),
        of_c._replace(row=copies_row(id_digest("b"))),
    ]
    index.store.put(FAMILY_DOCUMENTS, strangers)
    assert listed(index, "a") == ("a", [("c", 0, "wire")])

    assert of_copies(index.verify()) == (0, 4, 1, 3)
    assert index.verify(repair=True).repaired_copies == 4

    assert of_copies(index.verify()) == (0, 2, 0, 0)
    # What came with it is in the lost cell alone.
    assert listed(index, "a") == ("a", [("b", 1, None), ("c", 0, "wire")])
    # The document knows of its entry's new time, so both go.
    list(index.remove_many(["b"]))
    assert [cell.qualifier for cell in cells(index, "a")] == [id_digest("c")]


def test_an_original_that_comes_back_lists_all_copies_after_a_repair(make_index):
    index = with_a_copy(make_index, grace_s=3_600)
    list(index.remove_many(["a"]))
    make_index.clock.advance(ms=50)

    index.add_entries(entries({"a": BASE}))
    claim(index, {"c": BASE ^ 2}, "paper")

    assert listed(index, "a") == ("a", [("c", 1, "paper")])
    assert index.verify(repair=True).repaired_copies == 1
    assert listed(index, "a") == ("a", [("b", 1, None), ("c", 1, "paper")])


def test_a_repair_leaves_an_entry_alone_whose_decision_may_be_under_way(make_index):
    index = with_a_copy(make_index, grace_s=3_600)
    [cell] = cells(index, "a")
    index.store.put(FAMILY_DOCUMENTS, [renamed(cell, "under way")])
    repaired = index.verify(repair=True).repaired_copies
    assert repaired == (0 if index.verify().stale_copies else 1)
    assert len(cells(index, "a")) == 2 - repaired


def test_an_entry_that_comes_late_changes_no_answer(make_index, index):
    [late] = cells(index, "a")
    claim(index, {"b": FAR ^ 1}, "paper")
    index.store.put(FAMILY_DOCUMENTS, [late])
    assert (listed(index, "a"), listed(index, "b")) == (("a", []), ("far", [("b", 1, "paper")]))
    make_index.clock.advance(ms=300_000)
    index.vacuum()
    assert cells(index, "a") == []


def test_a_delete_that_comes_late_takes_no_later_entry(index):
    [early] = cells(index, "a")
    claim(index, {"b": FAR ^ 1}, "paper")
    claim(index, {"b": BASE ^ 1}, "wire again")
    index.store.delete(FAMILY_DOCUMENTS, [Cell(early.row, early.qualifier, b"", early.timestamp)])
    assert listed(index, "a") == ("a", [("b", 1, "wire again")])


@pytest.mark.parametrize("decide", [claim, dedup])
def test_an_entry_is_written_before_the_decision_that_it_belongs_to(decide):
    noting = NotingStore()
    LocalIndex.create(noting, Profile.resolve(analyzer="shingle", match="distance"))
    index = LocalIndex(SwappingOnly(noting))
    decide(index, {"a": BASE})
    noting.take()

    decide(index, {"b": BASE ^ 1})

    writes = [(name, arguments) for name, arguments in noting.take() if name in ("put", "compare_and_set")]
    assert [name for name, _ in writes] == ["put", "compare_and_set"]
    assert [cell.row for cell in writes[0][1][1]] == [copies_row(id_digest("a"))]
