"""Answers under rule ``distance`` equal a comparison with every document."""

import random

import pytest
from support.bruteforce import ALL_BITS, answered, clustered, entries, flip, flips, neighbours

SCHEMES = [("5x2", 3), ("4x1", 3), ("6x3", 3), ("7x4", 3), ("7x3", 4), ("8x4", 4), ("6x1", 5)]
EACH_SCHEME = pytest.mark.parametrize(("scheme", "k"), SCHEMES)
BASE = 0x9E3779B97F4A7C15
NEAR = BASE ^ 1


def found_alone(index, queries):
    """Tell for each query whether the one document of the index is its answer."""
    answers = index.query_entries(entries([(f"query {i}", s) for i, s in enumerate(queries)]))
    return [answered(answer) for answer in answers]


@EACH_SCHEME
@pytest.mark.parametrize("base", [BASE, 0, ALL_BITS])
def test_every_flip_of_up_to_k_bits_is_found(make_index, scheme, k, base):
    index = make_index(scheme=scheme, distance=k)
    index.add_entries(entries({"the one": base}))

    for bits in range(k + 1):
        queries = flips(base, bits, most=700, seed=k)
        assert found_alone(index, queries) == [[("the one", bits)]] * len(queries)


@EACH_SCHEME
def test_no_flip_of_k_plus_one_bits_is_found(make_index, scheme, k):
    index = make_index(scheme=scheme, distance=k)
    index.add_entries(entries({"the one": BASE}))
    queries = [*flips(BASE, k + 1, most=300), *(flip(BASE, range(at, at + k + 1)) for at in range(64 - k))]

    assert found_alone(index, queries) == [[]] * len(queries)


@EACH_SCHEME
def test_answers_equal_brute_force_on_clustered_fingerprints(make_index, scheme, k):
    index = make_index(scheme=scheme, distance=k)
    documents = {f"document {i}": s for i, s in enumerate(clustered(400, seed=1))}
    queries = [(f"query {i}", s) for i, s in enumerate(clustered(200, seed=1))]
    index.add_entries(entries(documents))

    answers = index.query_entries(entries(queries))

    assert [answered(a) for a in answers] == [neighbours(documents, s, k) for _, s in queries]
    assert all(a.complete and not a.truncated for a in answers)
    assert sum(len(a.matches) for a in answers) > 200


@EACH_SCHEME
def test_a_smaller_distance_may_be_asked_for(make_index, scheme, k):
    index = make_index(scheme=scheme, distance=k)
    documents = {f"document {i}": s for i, s in enumerate(clustered(200, seed=2))}
    index.add_entries(entries(documents))

    for distance in range(k + 1):
        rule = index.rule(distance=distance)
        for simhash in clustered(40, seed=3):
            answer = index.query_simhash(simhash, rule=rule)
            assert answered(answer) == neighbours(documents, simhash, distance)
            assert answer.complete


def test_exact_duplicates_are_all_found_under_their_own_ids(make_index):
    index = make_index()
    documents = {f"copy {i:03}": BASE for i in range(300)}
    index.add_entries(entries(documents))

    answer = index.query_simhash(BASE)

    assert answered(answer) == [(f"copy {i:03}", 0) for i in range(300)]
    assert answer.complete


def test_a_document_never_matches_itself_by_id(make_index):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": BASE}))

    [of_a, of_c] = index.query_entries(entries([("a", BASE), ("c", BASE)]))

    assert answered(of_a) == [("b", 0)]
    assert answered(of_c) == [("a", 0), ("b", 0)]
    assert answered(index.query_id("a")) == [("b", 0)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("汉" * 2000, id="Han"),
        pytest.param("https://example.org/" + "a" * 1980, id="URL"),
        pytest.param("\U0001f600" * 2000, id="outside the BMP"),
        pytest.param("\x01\x7f\t\n", id="control characters"),
        pytest.param(" ", id="blank"),
        pytest.param("\ue000e\u0301", id="private use"),
    ],
)
def test_ids_of_any_length_and_script_come_back_whole(make_index, name):
    index = make_index()
    index.add_entries(entries({name: BASE, name + "x": NEAR}))

    index = make_index.reopen(index)

    assert set(answered(index.query_simhash(BASE))) == {(name, 0), (name + "x", 1)}
    assert index.get(name).id == name
    assert list(index.remove_many([name])) == [(name, True)]
    assert answered(index.query_simhash(BASE)) == [(name + "x", 1)]


def test_ids_that_look_alike_are_different_documents(make_index):
    index = make_index()
    documents = {"\u00e9": BASE, "e\u0301": BASE, "E\u0301": BASE, "1": BASE, "1 ": BASE, "01": BASE}
    index.add_entries(entries(documents))

    assert len(index.query_simhash(BASE).matches) == 6


def test_an_id_added_again_with_another_text_is_found_under_the_new_one_only(make_index):
    index = make_index()
    index.add_entries(entries({"moved": BASE, "stays": BASE}))

    written = index.add_entries(entries({"moved": ~BASE & ALL_BITS}))

    assert (written.known, written.moved) == ([True], [True])
    assert answered(index.query_simhash(BASE)) == [("stays", 0)]
    assert answered(index.query_simhash(~BASE & ALL_BITS)) == [("moved", 0)]
    assert index.get("moved").simhash == ~BASE & ALL_BITS
    assert index.verify().wrong == 0


def test_an_id_that_comes_back_to_its_first_text_is_found_there_again(make_index):
    index = make_index()
    for simhash in (BASE, NEAR, BASE, NEAR, BASE):
        index.add_entries(entries({"wanderer": simhash}))

    assert answered(index.query_simhash(BASE)) == [("wanderer", 0)]
    assert index.verify().members == 1
    assert index.verify().wrong == 0


def test_of_an_id_that_comes_twice_in_one_call_the_last_fingerprint_stays(make_index):
    index = make_index()

    written = index.add_entries(entries([("a", 1), ("b", BASE), ("a", ALL_BITS), ("a", ALL_BITS - 1)]))

    assert written.known == [False, False, True, True]
    assert written.moved == [False, False, True, True]
    assert answered(index.query_simhash(1)) == []
    assert answered(index.query_simhash(ALL_BITS)) == [("a", 1)]


def test_a_removed_document_is_not_found_and_may_be_added_again(make_index):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": BASE}))

    removed = list(index.remove_many(["a", "nobody", "a"]))

    assert removed == [("a", True), ("nobody", False), ("a", False)]
    assert answered(index.query_simhash(BASE)) == [("b", 0)]
    assert index.get("a") is None
    assert [stored.id for stored in index.export()] == ["b"]
    for simhash in (BASE, NEAR):
        index.add_entries(entries({"a": simhash}))
        assert ("a", (simhash ^ BASE).bit_count()) in answered(index.query_simhash(BASE))
        assert list(index.remove_many(["a"])) == [("a", True)]
        assert answered(index.query_simhash(BASE)) == [("b", 0)]
    assert index.verify().wrong == 0


def test_a_document_expires_after_its_ttl_unless_it_is_seen_again(make_index):
    index = make_index(ttl_days=10)
    index.add_entries(entries({"seen once": BASE, "seen twice": BASE}))
    make_index.clock.advance(days=6)
    index.add_entries(entries({"seen twice": BASE}))

    make_index.clock.advance(days=4, ms=-1)
    before = answered(index.query_simhash(BASE))
    make_index.clock.advance(ms=10)
    after = answered(index.query_simhash(BASE))

    assert before == [("seen once", 0), ("seen twice", 0)]
    assert after == [("seen twice", 0)]
    assert index.get("seen once") is None
    assert [stored.id for stored in index.export()] == ["seen twice"]
    assert list(index.remove_many(["seen once"])) == [("seen once", False)]
    make_index.clock.advance(days=7)
    assert answered(index.query_simhash(BASE)) == []


def test_vacuum_leaves_the_answers_as_they_are(make_index):
    index = make_index(ttl_days=10, grace_s=0)
    documents = {f"document {i}": s for i, s in enumerate(clustered(120, seed=5))}
    old = {f"expired {i}": s for i, s in enumerate(clustered(60, seed=6))}
    index.add_entries(entries(old))
    make_index.clock.advance(days=11)
    index.add_entries(entries({**documents, "gone": BASE, "moved": BASE}))
    list(index.remove_many(["gone"]))
    index.add_entries(entries({"moved": ALL_BITS}))
    documents["moved"] = ALL_BITS
    make_index.clock.advance(ms=5)

    swept = index.vacuum()

    assert swept.expired == 60
    assert swept.removed == 1
    for simhash in clustered(60, seed=6):
        assert answered(index.query_simhash(simhash)) == neighbours(documents, simhash, 3)
    left = index.verify()
    assert (left.documents, left.orphan_rows, left.wrong) == (121, 0, 0)
    assert left.rows == len(set(documents.values())) * 10


def test_an_empty_index_answers_with_nothing(make_index):
    index = make_index()

    answer = index.query_simhash(BASE)

    assert (answer.matches, answer.truncated, answer.complete) == ([], False, True)
    assert index.query_entries(entries({})) == []
    assert index.add_entries(entries({})).known == []
    assert list(index.export()) == []
    assert index.query_id("nobody") is None
    assert index.stats().documents == 0
    assert index.verify().wrong == 0


def test_more_rows_under_a_prefix_than_the_limit_are_told(make_index):
    index = make_index(max_rows_per_prefix=5)
    # All differ in the last block only, so they share the prefixes of the six tables without it.
    index.add_entries(entries({f"document {i}": i for i in range(6)}))

    crowded, alone = index.query_simhash(0), index.query_simhash(ALL_BITS)

    assert crowded.truncated
    assert not crowded.complete
    assert not alone.truncated
    assert alone.complete


def test_as_many_rows_under_a_prefix_as_the_limit_are_read_whole(make_index):
    index = make_index(max_rows_per_prefix=6)
    documents = {f"document {i}": i for i in range(6)}
    index.add_entries(entries(documents))

    answer = index.query_simhash(0)

    assert answered(answer) == neighbours(documents, 0, 3)
    assert answer.complete


def test_more_documents_of_one_fingerprint_than_the_limit_are_told(make_index):
    index = make_index(max_members=4)
    index.add_entries(entries({f"copy {i}": BASE for i in range(4)}))
    whole = index.query_simhash(BASE)
    index.add_entries(entries({"one more": BASE}))

    cut = index.query_simhash(NEAR)

    assert whole.complete
    assert len(whole.matches) == 4
    assert cut.truncated
    assert not cut.complete
    assert len(cut.matches) == 4


def test_truncation_is_told_of_the_query_that_it_touches(make_index):
    index = make_index(max_members=1)
    index.add_entries(entries({"a": BASE, "b": BASE, "c": ALL_BITS}))

    answers = index.query_entries(entries([("q1", BASE), ("q2", ALL_BITS), ("q3", 0)]))

    assert [answer.truncated for answer in answers] == [True, False, False]


def test_a_limit_keeps_the_nearest_and_says_that_it_cut(make_index):
    index = make_index()
    documents = {f"document {i}": flip(BASE, range(i % 4)) for i in range(20)}
    index.add_entries(entries(documents))
    every = neighbours(documents, BASE, 3)

    for limit in (1, 7, 19, 20, 21):
        answer = index.query_simhash(BASE, limit=limit)
        assert answered(answer) == every[:limit]
        assert answer.truncated == (limit < 20)
        assert answer.complete == (limit >= 20)


def test_an_index_answers_the_same_after_it_was_opened_again(make_index):
    index = make_index(scheme="6x3")
    documents = {f"document {i}": s for i, s in enumerate(clustered(150, seed=8))}
    index.add_entries(entries(documents))
    queries = entries([(f"query {i}", s) for i, s in enumerate(clustered(50, seed=9))])
    before = index.query_entries(queries)

    again = make_index.reopen(index)

    assert again.profile == index.profile
    assert again.query_entries(queries) == before


def test_answers_do_not_depend_on_how_documents_were_cut_into_batches(make_index):
    documents = [(f"document {i % 90}", s) for i, s in enumerate(clustered(120, seed=10))]
    chosen, whole, parts = random.Random(11), make_index(), make_index()
    whole.add_entries(entries(documents))
    at = 0
    while at < len(documents):
        size = chosen.randint(1, 25)
        parts.add_entries(entries(documents[at : at + size]))
        at += size
    last = dict(documents)

    for simhash in set(last.values()):
        assert answered(whole.query_simhash(simhash)) == neighbours(last, simhash, 3)
        assert answered(parts.query_simhash(simhash)) == neighbours(last, simhash, 3)


def test_removing_a_duplicate_that_get_shows_says_that_it_was_there(make_index):
    index = make_index()
    index.dedup_entries(entries({"a": BASE, "b": BASE}), index.deduplicator())
    held = index.get("b")

    removed = list(index.remove_many(["b"]))

    assert held.state == "duplicate"
    assert index.get("b") is None
    assert removed == [("b", True)]


def test_an_expired_duplicate_is_shown_no_more(make_index):
    index = make_index(ttl_days=10)
    index.dedup_entries(entries({"a": BASE, "b": BASE}), index.deduplicator())
    make_index.clock.advance(days=11)

    assert [index.get("a"), index.get("b")] == [None, None]
    assert list(index.export()) == []
