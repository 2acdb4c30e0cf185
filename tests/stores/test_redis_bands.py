"""Sketch rows in a real Redis: answers equal brute force, whole or cut, before and after documents are removed."""

from contextlib import ExitStack, closing

import pytest
from support.bruteforce import Written, crowd, matches, written_entries
from support.redis_server import shared_server

from simhash_hbase.index.index import Index
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.stores.redis import RedisStore

BANDS = 6
TABLES = 10
DOCUMENTS = crowd(150, seed=3)
ASKED = crowd(40, seed=103) | dict(list(DOCUMENTS.items())[:20])


@pytest.fixture
def make_index():
    """Return what makes indexes with sketch rows, each in a database of its own."""
    with ExitStack() as stack:

        def make(**options):
            store = stack.enter_context(closing(RedisStore.create(shared_server().empty_options())))
            return Index.create(store, Profile.resolve(analyzer="shingle", bands=BANDS, **options))

        yield make


def entries_of(documents):
    return written_entries(documents, BANDS)


def answered(index):
    """Ask for all, under other ids; give each question with what was found and whether it was cut."""
    answers = index.query_entries(entries_of({f"asked {name}": one for name, one in ASKED.items()}))
    found = [({match.id for match in answer.matches}, answer.truncated) for answer in answers]
    return list(zip(ASKED.values(), found, strict=True))


def near(one, documents, rule):
    return {name for name, other in documents.items() if matches(one, other, rule)}


def test_answers_equal_brute_force(make_index):
    index = make_index()
    index.add_entries(entries_of(DOCUMENTS))
    rule = index.profile.rule

    for one, found in answered(index):
        assert found == (near(one, DOCUMENTS, rule), False)
    assert sum(len(near(one, DOCUMENTS, rule) - near(one, DOCUMENTS, MatchRule())) for one in ASKED.values()) > 50


def test_what_is_removed_or_gets_another_text_is_found_by_no_row_that_it_had(make_index):
    index = make_index()
    index.add_entries(entries_of(DOCUMENTS))
    names = list(DOCUMENTS)
    moved = dict(zip(names[:50], crowd(50, seed=7).values(), strict=True))

    removed = [was_there for _, was_there in index.remove_many(names[50:100])]
    index.add_entries(entries_of(moved))

    assert removed == [True] * 50
    left = moved | {name: DOCUMENTS[name] for name in names[100:]}
    for one, found in answered(index):
        assert found == (near(one, left, index.profile.rule), False)


def test_a_cut_answer_says_so_and_names_nothing_that_is_not_near(make_index):
    index = make_index(max_rows_per_prefix=5)
    index.add_entries(entries_of(DOCUMENTS))
    rule = index.profile.rule

    answers = answered(index)

    assert any(truncated for _, (_, truncated) in answers)
    for one, (names, truncated) in answers:
        every = near(one, DOCUMENTS, rule)
        assert names <= every if truncated else names == every


def test_rows_are_one_for_every_table_and_every_band(make_index):
    index = make_index()
    index.add_entries(entries_of({"a": Written(7, 1 << 100, (1, 2, 3, 4, 5, 6)), "bare": Written(~7 % 2**64)}))

    assert index.stats().rows == 2 * TABLES + BANDS
