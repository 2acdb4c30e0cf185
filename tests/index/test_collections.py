"""Collections of one index: nothing of one is seen in another, whatever their names, ids and rows are."""

import pytest
from hypothesis import given, strategies as st
from support.bruteforce import ALL_BITS, BASE, Written, answered, entries, flip, unmask, written_entries
from support.places import DAY_MS

from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.collections import Collection, collection_of, own_id
from simhash_hbase.rows.keys import index_row
from simhash_hbase.rows.layout import VALUE_QUALIFIER
from simhash_hbase.rows.names import MAX_NAME_BYTES
from simhash_hbase.stores.base import Cell

NAMES = ("news", "blogs", None)
# Alike to a careless eye, and all different.
TRICKY = (
    "a", "A", "a ", " a", "a/b", "a:b", "a\u200bb", "\u00e9", "e\u0301", "新闻", "新聞", ".", "..", "%00", "\\0",
    "None",
)  # fmt: skip
names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=MAX_NAME_BYTES // 4)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.fixture
def index(make_claiming_index):
    return make_claiming_index(match="verified", bands=2)


@pytest.fixture(params=[True, False], ids=["with masks", "on common rows"])
def views(request, index):
    """Return views of three collections; without masks all of them have their documents in the same rows."""
    made = {name: index.in_collection(name) for name in NAMES}
    for view in made.values():
        if not request.param:
            unmask(view)
    return made


def texts(count=4):
    """Make near copies, alike by sketch rows and by block rows."""
    written = (Written(flip(BASE, range(n)), (1 << 400) + n, (5, 6), bytes([n]) * 16) for n in range(count))
    return {f"document {n}": one for n, one in enumerate(written)}


@given(names | st.none(), names | st.none(), ids, ids)
def test_stored_ids_are_equal_only_if_collections_and_ids_are(one, other, first, second):
    stored, beside = Collection(one).stored_id(first), Collection(other).stored_id(second)
    assert (stored == beside) == ((one, first) == (other, second))
    assert (collection_of(stored), own_id(stored)) == (one or "", first)


def test_names_that_look_alike_are_different_collections():
    made = [Collection(name) for name in TRICKY]
    assert len({one.stored_id("x") for one in made}) == len({one.masked(0) for one in made}) == len(TRICKY)


@pytest.mark.parametrize("name", ["", "\0", "a\0b", "a\nb", "\x7f", "\x85", "\ud800", "é" * 65, "x" * 129, 7, b"news"])
def test_what_is_no_name_is_refused_in_one_sentence(make_memory_index, name):
    with pytest.raises(InvalidArgument, match=r"the name of a collection is .*: wanted") as refused:
        make_memory_index().in_collection(name)
    assert len(str(refused.value)) < 260
    assert "\n" not in str(refused.value)


@given(names, st.integers(0, ALL_BITS), st.lists(st.integers(0, 2**32 - 1), max_size=3))
def test_a_mask_that_keeps_distances_comes_off_again(name, simhash, segments):
    collection, other = Collection(name), flip(simhash, [0, 63])
    made = entries({"a": simhash, "b": other}, bands=[segments, segments])
    stored = collection.stored(made)
    one, two = stored.simhashes.tolist()
    back = collection.given(stored)

    assert (one ^ two).bit_count() == 2
    assert back.simhashes.tolist() == [simhash, other]
    assert back.segments.tolist() == [segments, segments]
    assert list(back.ids) == ["a", "b"]


def test_what_one_collection_holds_no_other_shows(views, index):
    added = written_entries(texts(3), 2)
    views["news"].add_entries(added)
    copies = written_entries({"copy": Written(BASE, 1 << 400, (5, 6), b"c" * 16)}, 2)
    views["news"].dedup_entries(copies, views["news"].deduplicator())

    for name in ("blogs", None):
        view = views[name]
        assert [a.matches for a in view.query_entries(added)] == [[], [], []]
        assert view.query_id("document 0") is None
        assert view.get_many(["document 0", "copy", "\0news\0document 0", "\0news\0copy"]) == [None] * 4
        assert view.copies("document 0") is None
        assert list(view.export()) == []
        assert [removed for _, removed in view.remove_many(["document 0", "\0news\0document 0"])] == [False, False]
        assert [d.is_original for d in view.dedup_entries(copies, view.deduplicator())] == [True]
    assert [len(view) for view in views.values()] == [3, 1, 1]
    assert ["document 1" in view for view in views.values()] == [True, False, False]
    assert {stored.id for stored in views["news"].export()} == {"document 0", "document 1", "document 2", "copy"}
    assert [copy.id for copy in views["news"].copies("copy").copies] == ["copy"]
    assert index.verify().wrong == 0


def test_fingerprints_that_meet_under_their_masks_are_no_copies(index):
    news, blogs = index.in_collection("news"), index.in_collection("blogs")
    # What a tenant could choose to be in the rows of another one.
    chosen = BASE ^ news.collection.masked(0) ^ blogs.collection.masked(0)
    news.claim_entries(entries({"a": BASE}, bands=[(0, 0)]))

    [decision] = blogs.claim_entries(entries({"b": chosen}, bands=[(0, 0)]))

    assert decision.is_original
    assert answered(blogs.query_simhash(chosen)) == [("b", 0)]
    assert answered(news.query_simhash(BASE)) == [("a", 0)]


def test_documents_of_several_collections_may_be_one_batch(views, index):
    made = written_entries(texts(2), 2)
    stored = [view.collection.stored(made) for view in views.values()]
    batch = type(made).joined(stored)
    decisions = index.deduplicator().decide(batch, now=index._now())
    assert [d.is_original for d in decisions] == [True, False] * len(NAMES)
    assert [own_id(d.of) for d in decisions if d.of] == ["document 0"] * len(NAMES)
    assert all(collection_of(d.id) == collection_of(d.of) for d in decisions if d.of)


def test_a_crowd_of_another_collection_cuts_no_answer(make_memory_index):
    index = make_memory_index(max_members=20, max_rows_per_prefix=20)
    news, blogs = index.in_collection("news"), index.in_collection("blogs")
    unmask(news)
    unmask(blogs)
    news.add_entries(entries({f"crowd {n}": BASE for n in range(150)}))
    blogs.add_entries(entries({"own": BASE}))

    [decision] = blogs.claim_entries(entries({"late": BASE}))
    answer = blogs.query_simhash(BASE)

    assert decision.of == "own"
    assert answered(answer) == [("own", 0)]
    assert not answer.truncated


def test_a_limit_counts_the_members_of_the_asked_collection(make_memory_index):
    index = make_memory_index(max_members=20)
    news, blogs = index.in_collection("news"), index.in_collection("blogs")
    unmask(news)
    unmask(blogs)
    news.add_entries(entries({f"crowd {n}": BASE for n in range(150)}))
    blogs.add_entries(entries({f"own {n}": BASE for n in range(20)}))
    assert len(blogs.query_simhash(BASE).matches) == 20
    assert not blogs.query_simhash(BASE).truncated

    blogs.add_entries(entries({"one more": BASE}))
    assert blogs.query_simhash(BASE).truncated
    assert news.query_simhash(BASE).truncated


def test_who_knows_all_names_cannot_choose_what_another_collection_keeps(index):
    news, blogs = index.in_collection("news"), index.in_collection("blogs")
    # By the names alone, as an index of 1.0 kept them.
    guessed = BASE ^ Collection("news").masked(0) ^ Collection("blogs").masked(0)
    news.add_entries(entries({"a": BASE}))
    blogs.add_entries(entries({f"{n}": guessed for n in range(50)}))

    kept = {row for page in index.store.scan_cells("d", b"", None, page=100) for row in (c.row[5:] for c in page)}

    assert news.collection.masked(BASE).to_bytes(8, "big") in kept
    assert blogs.collection.masked(guessed) != news.collection.masked(BASE)
    assert answered(news.query_simhash(BASE)) == [("a", 0)]


def test_an_index_without_its_secret_or_with_another_one_is_corrupt(index):
    news = index.in_collection("news")
    news.add_entries(entries({"a": BASE}))
    key = index_row("secret"), VALUE_QUALIFIER
    [secret] = index.store.get("m", [key])
    for value in (bytes([*secret.value[:-1], secret.value[-1] ^ 1]), None):
        cell = Cell(*key, value or b"", now_ms() + DAY_MS)
        index.store.put("m", [cell]) if value else index.store.delete("m", [cell])

        again = LocalIndex(index.store)
        assert again.query_simhash(BASE).matches == []
        with pytest.raises(CorruptIndex, match="secret"):
            again.in_collection("news")


def test_no_output_shows_the_secret(index):
    [secret] = index.store.get("m", [(index_row("secret"), VALUE_QUALIFIER)])
    shown = (index.profile.encode().decode(), repr(index.stats()), repr(index.in_collection("news")))
    assert len(secret.value) == 32
    assert all(secret.value.hex() not in one and repr(secret.value) not in one for one in shown)


def test_an_id_that_begins_like_a_stored_one_is_a_document_like_others(views):
    for name in ("\0news\0a", "\0\0a", "\0", "\0news"):
        for view in views.values():
            view.add_entries(written_entries({name: Written(BASE, 1 << 400, (5, 6))}, 2))
            assert view.get(name).id == name
            assert name in [match.id for match in view.query_simhash(BASE).matches]
            assert dict(view.remove_many([name])) == {name: True}
            assert view.get(name) is None


def test_views_of_collections_share_the_state_of_their_index(make_memory_index):
    index = make_memory_index()
    view = index.in_collection("news")
    times = [one._now() for one in (index, view, index, view)]
    assert sorted(set(times)) == times
    view.close()
    with pytest.raises(Exception, match="closed"):
        index.get("a")
