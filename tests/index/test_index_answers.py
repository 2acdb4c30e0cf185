"""Answers under rule ``distance`` equal a comparison with every document."""

import pytest
from support.bruteforce import ALL_BITS, BASE, answered, clustered, entries, flip, flips, neighbours

from simhash_hbase import create_index, open_index

SCHEMES = [("5x2", 3), ("4x1", 3), ("6x3", 3), ("7x4", 3), ("7x3", 4), ("8x4", 4), ("6x1", 5)]
EACH_SCHEME = pytest.mark.parametrize(("scheme", "k"), SCHEMES)
NEAR = BASE ^ 1


def found_alone(index, queries):
    """Tell for each query whether the one document of the index is its answer."""
    return list(map(answered, index.query_entries(entries([(f"query {i}", s) for i, s in enumerate(queries)]))))


@pytest.mark.slow
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


@pytest.mark.slow
@EACH_SCHEME
def test_answers_equal_brute_force_on_clustered_fingerprints(make_index, scheme, k):
    index = make_index(scheme=scheme, distance=k)
    documents = {f"document {i}": s for i, s in enumerate(clustered(400, seed=1))}
    queries = [(f"query {i}", s) for i, s in enumerate(clustered(200, seed=1))]
    index.add_entries(entries(documents))

    for distance in range(k + 1):
        answers = index.query_entries(entries(queries), rule=index.rule(distance=distance))
        assert [answered(a) for a in answers] == [neighbours(documents, s, distance) for _, s in queries]
        assert all(a.complete and not a.truncated for a in answers)
    assert sum(len(a.matches) for a in answers) > 200


@pytest.mark.parametrize(
    "name",
    ["汉" * 2000, "https://example.org/" + "a" * 1980, "\U0001f600" * 2000, "\x01\x7f\t\n", " ", "\ue000e\u0301"],
    ids=["Han", "URL", "outside the BMP", "control characters", "blank", "private use"],
)
def test_ids_of_any_length_and_script_come_back_whole(make_index, name):
    index = make_index()
    index.add_entries(entries({name: BASE, name + "x": NEAR}))
    index = make_index.reopen(index)
    assert set(answered(index.query_simhash(BASE))) == {(name, 0), (name + "x", 1)}
    assert index.get(name).id == name
    assert list(index.remove_many([name])) == [(name, True)]
    assert answered(index.query_simhash(BASE)) == [(name + "x", 1)]


def test_of_an_id_twice_in_a_call_the_last_fingerprint_stays(make_index):
    index = make_index()

    written = index.add_entries(entries([("a", 1), ("b", BASE), ("a", ALL_BITS), ("a", ALL_BITS - 1)]))

    assert written.known == [False, False, True, True]
    assert written.moved == [False, False, True, True]
    assert answered(index.query_simhash(1)) == []
    assert answered(index.query_simhash(ALL_BITS)) == [("a", 1)]


def test_of_an_id_twice_in_a_removal_only_the_first_was_there(make_index):
    index = make_index()
    index.add_entries(entries([("a", 1), ("b", BASE)]))

    removed = list(index.remove_many(["a", "nobody", "a"]))

    assert removed == [("a", True), ("nobody", False), ("a", False)]
    assert [stored.id for stored in index.export()] == ["b"]


def test_an_empty_index_answers_with_nothing(make_index):
    index = make_index()
    answer = index.query_simhash(BASE)
    assert (answer.matches, answer.truncated, answer.complete) == ([], False, True)
    assert index.query_entries(entries({})) == index.add_entries(entries({})).known == list(index.export()) == []
    assert index.query_id("nobody") is None
    assert (index.stats().documents, index.verify().wrong) == (0, 0)


# All differ in the last block only, so they share the prefixes of the six tables without it.
SIX_ROWS = {f"document {i}": i for i in range(6)}
COPIES = {f"copy {i:03}": 0 for i in range(300)}


@pytest.mark.parametrize(
    ("options", "documents", "truncated"),
    [
        ({"max_rows_per_prefix": 6}, SIX_ROWS, False),
        ({"max_rows_per_prefix": 5}, SIX_ROWS, True),
        ({"max_members": 300}, COPIES, False),
        ({"max_members": 299}, COPIES, True),
    ],
)
def test_what_is_not_read_whole_is_told_of_the_query_that_it_touches(make_index, options, documents, truncated):
    index = make_index(**options)
    index.add_entries(entries({**documents, "alone": ALL_BITS}))

    touched, alone = index.query_entries(entries([("q1", 0), ("q2", ALL_BITS)]))

    every = neighbours(documents, 0, 3)
    assert (touched.truncated, touched.complete) == (truncated, not truncated)
    assert len(touched.matches) == len(every) - truncated
    assert truncated or answered(touched) == every
    assert (answered(alone), alone.truncated, alone.complete) == ([("alone", 0)], False, True)


TEXT = "A document long enough to leave some features."


def test_an_index_is_a_container_of_documents(make_index):
    index = make_index()
    assert (len(index), bool(index)) == (0, True)
    index.claim("a", TEXT)
    index.claim("b", TEXT.upper())
    index.add("c", "Another thing altogether, and nothing like it.")
    assert (len(index), "a" in index, "b" in index, "d" in index, 5 in index) == (2, True, True, False, False)
    assert (index.remove("c"), index.remove("c"), "c" in index, len(index)) == (True, False, False, 1)


def test_a_closed_index_says_so_beside_its_address(tmp_path):
    url = f"file:{tmp_path / 'some.index'}"
    with create_index(url, analyzer="shingle") as index:
        assert repr(index) == f"<LocalIndex {url}>"
    assert repr(index) == f"<LocalIndex {url}, closed>"
    with open_index(url, collection="news") as index:
        assert repr(index) == f"<LocalIndex {url} (collection news)>"
