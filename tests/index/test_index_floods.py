"""Many documents with one fingerprint, or with fingerprints near each other: the work is bounded, the answers right."""

import random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.bruteforce import Written, clustered, entries, flip, matches, similarity, sketch_near, written_entries
from support.cost import count_cells, peak_bytes
from support.places import Clock, IndexMaker, Memory, Swapping
from support.server_doubles import SwappingOnly

from simhash_hbase import LocalIndex
from simhash_hbase.index import candidates, members, search
from simhash_hbase.index.arguments import Search
from simhash_hbase.profile.matching import rounded
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS

BASE = 0x9E3779B97F4A7C15
FAR = ~BASE & (1 << 64) - 1
SKETCH = random.Random(5).getrandbits(512)
UNLIKE = random.Random(6).getrandbits(512)
CHECKED = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def in_order_of_digests(count):
    return sorted((f"copy {i}" for i in range(count)), key=id_digest)


def flood(index, names, *, sketches=None):
    """Add copies, each later than the one before."""
    index.add_entries(entries(dict.fromkeys(names, BASE), sketches=sketches or [SKETCH] * len(names)))


def claim(index, name, simhash=BASE, sketch=SKETCH):
    [decision] = index.claim_entries(entries({name: simhash}, sketches=[sketch]))
    return decision.is_original or decision.of


def dedup(index, documents):
    return index.dedup_entries(documents, index.deduplicator())


@pytest.mark.slow
@pytest.mark.parametrize(("decide", "cells"), [(LocalIndex.claim_entries, 5), (dedup, 3)])
@pytest.mark.parametrize("new", [{"c": BASE}, {"c": BASE ^ 1}, {f"c{i}": BASE for i in range(20)}])
def test_decisions_on_copies_of_many_read_a_bounded_number_of_cells(
    make_claiming_index, decide, cells, new, monkeypatch
):
    index = make_claiming_index(match="verified")
    names = in_order_of_digests(1_500)
    flood(index, names)
    counts = count_cells(index.store, monkeypatch)
    decisions = decide(index, entries(new, sketches=[SKETCH] * len(new)))
    assert {d.of for d in decisions} == {names[0]}
    assert sum(counts) <= 2 * search.FIRST_MEMBERS + 1 + cells * len(new)


@pytest.mark.parametrize("copies", [2, search.FIRST_MEMBERS])
def test_of_a_hundred_copies_the_earliest_is_named_whatever_its_digest(make_claiming_index, copies):
    index = make_claiming_index(match="verified")
    names = in_order_of_digests(copies)[::-1]
    for name in names:
        flood(index, [name])
    assert claim(index, "new") == names[0]


@pytest.fixture
def in_small_pages(make_claiming_index, monkeypatch):
    """Return an index whose members are read seven at a time behind the first hundred."""
    monkeypatch.setattr(search, "MORE_MEMBERS", 7)
    return make_claiming_index(match="verified")


@pytest.mark.parametrize("at", [100, 101, 149])
@pytest.mark.parametrize("why", ["removed", "unlike", "moved"])
def test_what_is_behind_the_first_hundred_is_found(in_small_pages, at, why):
    index, names = in_small_pages, in_order_of_digests(150)
    flood(index, names, sketches=[SKETCH if n == at or why != "unlike" else UNLIKE for n in range(150)])
    others = [name for n, name in enumerate(names) if n != at]
    if why == "removed":
        keep_members(index, others, lambda: list(index.remove_many(others)))
    elif why == "moved":
        keep_members(index, others, lambda: index.add_entries(entries(dict.fromkeys(others, FAR))))

    assert claim(index, "new") == names[at]
    assert claim(index, "near", BASE ^ 1) == names[at]
    assert [d.of for d in dedup(index, entries({"x": BASE}, sketches=[SKETCH]))] == [names[at]]


def keep_members(index, names, change):
    """Make a change, and put back the members that it deletes: as a writer leaves them that ends in the middle."""
    keys = [(member_row(stored.simhash), id_digest(stored.id)) for stored in index.get_many(names)]
    held = index.store.get(FAMILY_DOCUMENTS, keys)
    change()
    index.store.put(FAMILY_DOCUMENTS, [cell._replace(timestamp=cell.timestamp + 10_000) for cell in held])
    assert all(index.store.get(FAMILY_DOCUMENTS, keys))


def test_where_no_member_of_many_is_an_original_the_claim_becomes_one(in_small_pages):
    index, names = in_small_pages, in_order_of_digests(150)
    flood(index, names)
    keep_members(index, names, lambda: list(index.remove_many(names)))
    assert claim(index, "new") is True
    assert claim(index, "next") == "new"


def test_a_farther_original_is_not_named_before_all_nearer_members_were_read(in_small_pages):
    index, names = in_small_pages, in_order_of_digests(150)
    flood(index, names, sketches=[UNLIKE] * 149 + [SKETCH])
    index.add_entries(entries({"far": BASE ^ 1, "farther": BASE ^ 3}, sketches=[SKETCH] * 2))
    assert claim(index, "new") == names[149]


class Vanishing(SwappingOnly):
    """Has originals when a claim looks for the second time, of which the nearest goes before it is looked at."""

    def __init__(self, store, appear, vanish):
        super().__init__(store)
        self._appear, self._vanish = [lambda: None, appear], [vanish]

    def scan(self, prefixes, *, limit):
        if self._appear:
            self._appear.pop(0)()
        return super().scan(prefixes, limit=limit)

    def get(self, family, keys):
        found = super().get(family, keys)
        if self._vanish and not self._appear:
            self._vanish.pop()()
        return found


@pytest.mark.parametrize("other", [None, 1, 3])
def test_a_claim_whose_original_goes_before_it_is_looked_at_looks_for_others_again(make_memory_index, other):
    index = make_memory_index(match="verified")
    appearing = {"near": BASE} | ({} if other is None else {"other": BASE ^ other})
    store = Vanishing(
        index.store,
        lambda: index.add_entries(entries(appearing, sketches=[SKETCH] * len(appearing))),
        lambda: list(index.remove_many(["near"])),
    )

    claimed = claim(LocalIndex(store, clock=make_memory_index.clock), "new")

    assert claimed == ("other" if other is not None else True)


@pytest.mark.slow
@CHECKED
@given(
    seed=st.integers(0, 1_000),
    count=st.integers(1, 60),
    first=st.sampled_from([1, 2, 5, 100]),
    way=st.sampled_from([Memory, Swapping]),
)
def test_decisions_in_a_flood_do_not_depend_on_the_batch(seed, count, first, way):
    chosen = random.Random(seed)
    simhashes = [chosen.choice([BASE, BASE ^ 1, flip(BASE, [5, 6])]) for _ in range(count)]
    sketches = [sketch_near(SKETCH, chosen.choice([0, 3, 40, 90]), seed=n % 5) for n in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "FIRST_MEMBERS", first)
        patch.setattr(search, "MORE_MEMBERS", 3)
        together, alone = (IndexMaker(way(None, Clock()), Clock())(match="verified") for _ in range(2))
        old = [(f"old {n}", s) for n, s in enumerate(simhashes)]
        for index in (together, alone):
            index.add_entries(entries(old, sketches=sketches))
            list(index.remove_many([f"old {n}" for n in range(0, count, 3)]))
        asked = [(f"new {n}", s) for n, s in enumerate(simhashes[:10])]
        likes = [sketch_near(SKETCH, 10, seed=seed + n) for n in range(len(asked))]

        whole = together.claim_entries(entries(asked, sketches=likes))
        single = [alone.claim_entries(entries([a], sketches=[s]))[0] for a, s in zip(asked, likes, strict=True)]

    held = dict([*old, *asked])
    standing = {name for n, (name, _) in enumerate(old) if n % 3} | {d.id for d in whole if d.is_original}
    for decision in whole:
        if not decision.is_original:
            assert decision.of in standing
            assert (held[decision.id] ^ held[decision.of]).bit_count() == decision.distance
    if all(d.of is None or d.of.startswith("old") for d in whole):
        assert whole == single


@pytest.mark.slow
@CHECKED
@given(
    seed=st.integers(0, 1_000),
    pairs=st.sampled_from([1, 7, 1_000_000]),
    held=st.sampled_from([0, 10, 100_000]),
    sketches=st.sampled_from([1, 5, 1 << 16]),
)
def test_answers_do_not_depend_on_how_the_work_is_cut(seed, pairs, held, sketches):
    values = clustered(60, seed=seed)
    kept = [sketch_near(SKETCH, n % 70, seed=n) if n % 4 else None for n in range(60)]
    index = IndexMaker(Memory(None, Clock()), Clock())(match="verified")
    index.add_entries(entries([(f"d{n}", s) for n, s in enumerate(values)], sketches=kept))
    asked = entries(
        [(f"q{n}", s) for n, s in enumerate(values[:20])], sketches=[SKETCH if n % 5 else None for n in range(20)]
    )
    plain = index.query_entries(asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "PAIRS_AT_ONCE", pairs)
        patch.setattr(members, "HELD_MEMBERS", held)
        patch.setattr(search, "SKETCHES_AT_ONCE", sketches)
        cut = index.query_entries(asked)

    assert cut == plain
    assert any(answer.matches for answer in plain)


def ball(count, *, seed):
    """Make fingerprints within three bits of one: nearly all of them lie within reach of each other."""
    chosen = random.Random(seed)
    found = {}
    while len(found) < count:
        found[flip(BASE, chosen.sample(range(64), chosen.randint(1, 3)))] = chosen.getrandbits(512)
    return found


def in_order(documents, asked, rule, name):
    near = [
        ((one.simhash ^ asked.simhash).bit_count(), rounded(similarity(one.sketch, asked.sketch)), other)
        for other, one in documents.items()
        if other != name and matches(asked, one, rule)
    ]
    return sorted(near, key=lambda found: (found[0], 1.0 if found[1] is None else -found[1], found[2]))


@pytest.mark.parametrize("limit", [1, 7, 100, None])
@pytest.mark.parametrize("pieces", [64, 1 << 16])
def test_beside_a_hot_bucket_each_limit_gets_the_first_matches_of_brute_force(
    make_claiming_index, limit, pieces, monkeypatch
):
    monkeypatch.setattr(search, "SKETCHES_AT_ONCE", pieces)
    index = make_claiming_index(match="verified")
    chosen = random.Random(7)
    hot = [BASE, *ball(60, seed=4), *ball(60, seed=4)]
    documents = {
        f"d{n}": Written(simhash, sketch_near(SKETCH, chosen.choice([0, 0, 9, 50, 90]), seed=n % 4) if n % 9 else None)
        for n, simhash in enumerate([*hot, *clustered(30, seed=9)])
    }
    index.add_entries(written_entries(documents, 0))
    gone = [name for n, name in enumerate(documents) if n % 3 == 0]
    keep_members(index, gone, lambda: list(index.remove_many(gone)))
    standing = {name: one for name, one in documents.items() if name not in gone}
    asked = {"far": Written(flip(FAR, [3]), SKETCH), "d1": documents["d1"]}
    asked |= {f"q{n}": Written(flip(BASE, [n]), SKETCH if n % 4 else None) for n in range(12)}

    for rule in (index.rule(), index.rule(distance=3), index.rule(match="verified", similarity=0.95)):
        answers = index.query_entries(written_entries(asked, 0), rule=rule, limit=limit)

        for (name, one), answer in zip(asked.items(), answers, strict=True):
            expected = in_order(standing, one, rule, name)
            assert [(m.distance, m.similarity, m.id) for m in answer.matches] == expected[:limit]
            assert answer.truncated == (limit is not None and len(expected) > limit)


@pytest.fixture
def crowded(make_memory_index, monkeypatch):
    """Return an index that reads all rows of a prefix and joins them in small pieces."""
    monkeypatch.setattr(candidates, "PAIRS_AT_ONCE", 20_000)
    monkeypatch.setattr(search, "SKETCHES_AT_ONCE", 2_000)
    return make_memory_index(match="verified", max_rows_per_prefix=1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, None])
def test_answers_beside_a_hot_bucket_take_memory_by_the_bucket(crowded, limit):
    stored = ball(400, seed=1)
    crowded.add_entries(entries([(f"d{s:x}", s) for s in stored], sketches=[SKETCH] * len(stored)))
    asked = ball(150, seed=2)
    batch = entries([(f"q{s:x}", s) for s in asked], sketches=[SKETCH] * len(asked))
    counted = []

    taken = peak_bytes(
        lambda: counted.extend(len(a.matches) for a in crowded.answer_entries(batch, Search(limit=limit)))
    )

    # Forty thousand matches would take more, at more than 110 bytes each.
    assert sum(counted) == len(batch) if limit else sum(counted) > 40_000
    assert taken < 4_500_000


@pytest.mark.slow
@pytest.mark.parametrize("act", [LocalIndex.query_entries, LocalIndex.claim_entries, dedup])
def test_a_crowd_of_fingerprints_takes_less_memory_than_its_square(crowded, act):
    stored, asked = ball(1_000, seed=1), ball(1_000, seed=2)
    crowded.add_entries(entries([(f"d{s:x}", s) for s in stored], sketches=list(stored.values())))
    batch = entries([(f"q{s:x}", s) for s in asked], sketches=list(asked.values()))
    searched = []
    crowded.on_search = searched.append

    taken = peak_bytes(lambda: act(crowded, batch))

    # More than six hundred thousand pairs: 17 bytes each at the least.
    assert act is not LocalIndex.query_entries or searched[0].candidates > 600_000
    assert taken < 10_000_000


@pytest.mark.parametrize(
    ("is_alike", "limit", "matches", "read"),
    # One more than the limit says whether there are more; the document itself may be among them.
    [(True, 1, 1, 3), (True, 20, 20, 22), (True, None, 200, 200), (False, None, 0, 0)],
)
def test_beside_a_hot_bucket_document_cells_are_read_of_what_matches_up_to_the_limit(
    make_memory_index, is_alike, limit, matches, read, monkeypatch
):
    index = make_memory_index(match="verified")
    stored = ball(200, seed=3)
    sketches = [SKETCH] * len(stored) if is_alike else list(stored.values())
    index.add_entries(entries([(f"d{s:x}", s) for s in stored], sketches=sketches))
    asked = []
    get = index.store.get
    monkeypatch.setattr(index.store, "get", lambda family, keys: asked.append(len(keys)) or get(family, keys))

    [answer] = index.query_entries(entries({"q": BASE}, sketches=[SKETCH]), limit=limit)

    assert (len(answer.matches), sum(asked)) == (matches, read)
