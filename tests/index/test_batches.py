"""Batches: which documents are in one, what the counts say, and what taking one back leaves."""

from collections import defaultdict
from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.corpus import text
from support.places import CLAIMING_PLACES, DAY_MS, HBASE_PLACES, Clock, IndexMaker

from simhash_hbase import InvalidArgument, LocalIndex, Profile, create_index
from simhash_hbase.index.answers import DocumentBatch
from simhash_hbase.index.batches import merged
from simhash_hbase.index.upkeep import walk
from simhash_hbase.rows.documentcells import decode_document
from simhash_hbase.rows.keys import document_key, id_digest

PROFILE = Profile.resolve(analyzer="shingle")
names = st.sampled_from(["monday", "tuesday", None])
ids = st.sampled_from("abcde")
texts = st.builds(text, st.sampled_from("xy"), changed=st.sampled_from([0, 3]))
documents = st.lists(st.tuples(ids, texts), max_size=3, unique_by=lambda pair: pair[0])
ACTS = {
    "add": (documents, names),
    "claim": (documents, names),
    "dedup": (documents, names),
    "remove": (ids,),
    "remove_batch": (st.sampled_from(["monday", "tuesday"]),),
}
steps = st.lists(
    st.sampled_from(sorted(ACTS)).flatmap(lambda name: st.tuples(st.just(name), *ACTS[name])), min_size=3, max_size=12
)


@pytest.fixture(params=[
    "memory", "embedded", "swapping", "redis",
    *(pytest.param(name, marks=pytest.mark.hbase) for name in HBASE_PLACES),
])  # fmt: skip
def index(request, tmp_path):
    """Return an empty index in one kind of place."""
    clock = Clock()
    store = {**CLAIMING_PLACES, **HBASE_PLACES}[request.param](tmp_path, clock).create()
    with LocalIndex.create(store, PROFILE) as index:
        yield index


class Model:
    """The batches by a dict: of each id its text, its state and its batch."""

    def __init__(self):
        self.documents = {}

    def write(self, name, text, state, batch):
        known = self.documents.get(name)
        stays = known and known[0] == text and (state != "added" or known[1] != "duplicate")
        if not stays:
            self.documents[name] = text, state, batch

    def counts(self):
        counts = defaultdict(lambda: [0, 0])
        for _, state, batch in self.documents.values():
            counts[batch][state == "duplicate"] += 1
        return {name: tuple(each) for name, each in counts.items()}


def act(index, model, step):
    """Carry out one act in an index and in its model."""
    name, *given = step
    if name in ("remove", "remove_batch"):
        [what] = given
        gone = {each for each, (_, _, batch) in model.documents.items() if what in (each, batch)}
        removed = list(index.remove_batch(what, yes=True)) if name == "remove_batch" else index.remove(what)
        assert removed == bool(gone) if name == "remove" else (sorted(removed) == sorted(gone))
        for each in gone:
            del model.documents[each]
        return
    pairs, batch = given
    results = {"add": index.add_many, "claim": index.claim_many, "dedup": index.dedup_many}[name](pairs, batch=batch)
    for (each, words), (_, result) in zip(pairs, list(results), strict=True):
        state = "added" if name == "add" else "original" if result.is_original else "duplicate"
        model.write(each, words, state, batch)


def test_batches_are_those_of_a_dict(index):
    numbers = count()

    @settings(
        max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    )
    @given(steps)
    def check(steps):
        view, model = index.in_collection(f"example {next(numbers)}"), Model()
        for step in steps:
            act(view, model, step)
            counts = {each.batch: (each.originals, each.duplicates) for each in view.batches()}
            assert counts == model.counts()
        for name in ("monday", "tuesday"):
            exported = {stored.id for stored in view.export(batch=name)}
            assert exported == {each for each, (_, _, batch) in model.documents.items() if batch == name}

    check()
    assert index.verify().wrong == 0


def test_copies_of_what_went_are_decided_anew(index):
    index.claim("monday/1", text("x"), batch="monday")
    copy = index.claim("tuesday/1", text("x", changed=1), batch="tuesday")
    list(index.remove_batch("monday", yes=True))

    assert copy.of == "monday/1"
    assert index.claim("wednesday/1", text("x", changed=2), batch="wednesday").is_original
    assert index.claim("tuesday/1", text("x", changed=1)).of_removed
    assert [each.batch for each in index.batches()] == ["tuesday", "wednesday"]


def test_a_document_stays_in_the_batch_that_brought_its_text(index):
    for name in ("monday", "tuesday"):
        index.add("a", text("x"), batch=name)
        index.claim("b", text("y"), batch=name)
    index.add("c", text("z"))
    index.add("c", text("z"), batch="tuesday")
    index.claim("b", text("w"), batch="tuesday")

    assert [index.get(name).batch for name in "abc"] == ["monday", "tuesday", None]


def test_other_writers_may_change_a_document_before_it_is_removed(index, monkeypatch):
    for name in ("a", "b"):
        index.add(name, text(name), batch="monday")
    page = next(walk.scan_documents(index.store))
    index.add("a", text("x"), batch="tuesday")
    monkeypatch.setattr("simhash_hbase.index.batches.scan_documents", lambda *_, **__: iter([page]))

    assert list(index.remove_batch("monday", yes=True)) == ["b"]
    assert index.get("a").batch == "tuesday"


def test_what_an_interrupt_leaves_is_removed_by_the_next_call(index, monkeypatch):
    monkeypatch.setattr(walk, "PAGE", 2)
    list(index.add_many([(f"d{n}", text(str(n))) for n in range(6)], batch="monday"))
    begun = index.remove_batch("monday", yes=True)
    first = next(begun)
    begun.close()

    rest = list(index.remove_batch("monday", yes=True))
    assert first not in rest
    assert index.batches() == []


@pytest.mark.parametrize(("here", "others", "asks"), [(10, 0, False), (11, 10, True), (11, 11, False)])
def test_most_of_an_index_is_removed_only_with_yes(here, others, asks):
    with create_index("memory:", analyzer="shingle") as index:
        list(index.add_many([(f"h{n}", text(f"h{n}")) for n in range(here)], batch="here"))
        list(index.add_many([(f"o{n}", text(f"o{n}")) for n in range(others)]))
        if asks:
            with pytest.raises(InvalidArgument, match=r"'here' has 11 of the 21 documents.*`yes`"):
                index.remove_batch("here")
        assert len(list(index.remove_batch("here", yes=asks))) == here


def test_progress_goes_once_from_nothing_to_all(monkeypatch):
    monkeypatch.setattr(walk, "PAGE", 8)
    shares = []
    with create_index("memory:", analyzer="shingle") as index:
        list(index.add_many([(f"d{n}", text(str(n))) for n in range(30)], batch="monday"))
        list(index.add_many([(f"o{n}", text(f"o{n}")) for n in range(30)]))
        list(index.remove_batch("monday", watch=lambda _, share: shares.append(share)))
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert 0.9 < shares[-1] <= 1


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 129, 7, "\ud800"])
def test_a_name_that_no_batch_has_is_refused_at_the_call(name):
    with create_index("memory:", analyzer="shingle") as index:
        for call in (index.add_many, index.claim_many, index.dedup_many):
            with pytest.raises(InvalidArgument, match="the name of a batch is"):
                call([], batch=name)
        for call in (
            lambda: index.add("a", text("x"), batch=name),
            lambda: index.remove_batch(name, yes=True),
            lambda: list(index.export(batch=name)),
        ):
            with pytest.raises(InvalidArgument, match="the name of a batch is"):
                call()


def test_a_batch_is_of_one_collection():
    with create_index("memory:", analyzer="shingle") as index:
        other = index.in_collection("other")
        for view in (index, other):
            view.add("a", text("x"), batch="monday")
        list(other.remove_batch("monday"))
        assert index.get("a").batch == "monday"
        assert other.batches() == []


def test_an_expired_document_is_in_no_batch():
    clock = Clock()
    maker = IndexMaker(CLAIMING_PLACES["memory"](None, clock), clock)
    index = maker(analyzer="shingle", ttl_days=1)
    index.add("a", text("x"), batch="monday")
    clock.advance(ms=2 * DAY_MS)
    index.add("b", text("y"), batch="tuesday")

    assert [each.batch for each in index.batches()] == ["tuesday"]
    assert list(index.remove_batch("monday")) == []
    maker.close()


def test_parts_of_an_index_add_up_to_the_whole(monkeypatch):
    monkeypatch.setattr(walk, "PAGE", 3)
    with create_index("memory:", analyzer="shingle") as index:
        list(index.add_many([(f"d{n}", text(str(n))) for n in range(9)], batch="monday"))
        counts = list(parts(partial(index.batches_after, pages=2)))
        removals = list(parts(partial(index.remove_batch_after, "monday", pages=2)))

        assert len(counts) > 1
        assert merged(each for part in counts for each in part.batches)[0].documents == 9
        assert sorted(name for part in removals for name in part.removed) == [f"d{n}" for n in range(9)]
        assert index.batches() == []
        with pytest.raises(InvalidArgument, match="after: wanted what the answer before has"):
            index.batches_after("no row", pages=1)


def parts(ask):
    after = None
    while True:
        part = ask(after)
        yield part
        if (after := part.after) is None:
            return


def test_the_counts_have_times(tmp_path):
    clock = Clock()
    clock.ms = 1_700_000_000_000
    store = CLAIMING_PLACES["embedded"](tmp_path, clock).create()
    with LocalIndex.create(store, PROFILE, clock=clock) as index:
        index.claim("a", text("x"), batch="monday")
        clock.advance(days=1)
        index.claim("b", text("x"), batch="monday")
        times = ("2023-11-14T22:13:20.000Z", "2023-11-15T22:13:20.000Z")
        assert index.batches() == [DocumentBatch("monday", 2, 1, 1, *times)]


def test_a_cell_without_batch_or_checksum_has_the_bytes_of_before(tmp_path):
    store = CLAIMING_PLACES["memory"](tmp_path, Clock()).create()
    with LocalIndex.create(store, PROFILE.replace(checksums=False)) as index:
        index.add("a", text("x"))
        index.add("b", text("y"), batch="monday")
        values = [cell.value for cell in store.get("d", [document_key(id_digest(name)) for name in "ab"])]

    assert [(decode_document(value).id, value[0]) for value in values] == [("a", 0x9E), ("b", 0x9F)]
