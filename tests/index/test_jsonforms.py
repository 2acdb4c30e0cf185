"""The JSON form of each answer: what is written is read back as it was, and is as described."""

import json

import msgspec
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from msgspec.json import schema

from simhash_hbase.index.answers import (
    Added,
    Answer,
    BatchCounts,
    BatchRemoval,
    ClueAnswer,
    ClueMatch,
    Decision,
    DocumentBatch,
    HeldItem,
    ItemsAnswer,
    Match,
    NearCopy,
    Passage,
    PassagesAnswer,
    Removed,
    Span,
    Stored,
)
from simhash_hbase.index.copies import Copies, Copy
from simhash_hbase.index.jsonforms import FORMS
from simhash_hbase.index.operations import OPERATIONS
from simhash_hbase.rows.clock import rfc3339

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
simhashes = st.integers(0, 2**64 - 1)
distances = st.integers(0, 64)
shares = st.integers(0, 10_000).map(lambda share: share / 10_000)
times = st.integers(0, 2**42).map(rfc3339)
numbers = st.integers(0, 2**31)
metadata = st.none() | st.dictionaries(
    ids, st.none() | st.integers(-5, 5) | ids | st.lists(ids, max_size=2), max_size=3
)
optional = {"similarity": st.none() | shares, "containment": st.none() | shares}
matches = st.builds(Match, ids, distances, exact=st.booleans(), added=times, **optional)
near = st.builds(NearCopy, ids, shares, shares)
spans = st.lists(st.builds(Span, numbers, numbers), max_size=3)
clues = st.lists(st.builds(ClueMatch, ids, shares, spans, times), max_size=3)
items = st.builds(HeldItem, ids, shares, spans)
passages = st.builds(Passage, numbers, numbers, st.integers(1, 2**31), st.booleans(), ids, ids)
copies = st.builds(Copy, id=ids, added=times, seen=times, distance=distances, metadata=metadata, **optional)
batches = st.builds(DocumentBatch, st.none() | ids, numbers, numbers, numbers, times, times)
rows = st.binary(min_size=1, max_size=22).map(bytes.hex)
DRAWN = {
    Added: st.builds(Added, ids, simhashes),
    Removed: st.builds(Removed, ids, st.booleans()),
    Decision: st.one_of(
        st.builds(Decision, ids, st.just(True), short=st.booleans(), near=st.none() | near),
        st.builds(
            Decision, ids, st.just(False), ids, distances, short=st.booleans(), of_removed=st.booleans(), **optional
        ),
    ),
    Stored: st.builds(
        Stored, ids, simhashes, st.sampled_from(["added", "original", "duplicate"]), times, times,
        length=st.none() | numbers, features=st.none() | numbers, metadata=metadata, of=st.none() | ids,
        distance=st.none() | distances, batch=st.none() | ids, **optional,
    ),
    Copies: st.builds(
        Copies, id=ids, of=ids, of_removed=st.booleans(), count=numbers, first=st.none() | times,
        last=st.none() | times, truncated=st.booleans(), copies=st.lists(copies, max_size=3),
    ),
    Answer: st.builds(
        Answer, st.lists(matches, max_size=3), truncated=st.booleans(), complete=st.booleans(), short=st.booleans()
    ),
    ClueAnswer: st.builds(ClueAnswer, clues, st.booleans(), st.booleans()),
    PassagesAnswer: st.builds(
        PassagesAnswer, st.just("") | ids, st.lists(passages, max_size=3), shares, st.booleans()
    ),
    ItemsAnswer: st.builds(ItemsAnswer, st.just("") | ids, st.lists(items, max_size=3), st.booleans()),
    BatchCounts: st.builds(BatchCounts, st.lists(batches, max_size=3), st.none() | rows),
    BatchRemoval: st.builds(BatchRemoval, st.lists(ids, max_size=3), st.none() | rows),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind.__name__)
def test_an_answer_is_read_back_from_json_that_fits_its_schema(form):
    validator = Draft202012Validator(schema(form.shape()))

    @given(DRAWN[form.kind])
    def check(answer):
        record = json.loads(msgspec.json.encode(form.write(answer)))
        assert form.read(record) == answer
        assert not list(validator.iter_errors(record))

    check()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind.__name__)
def test_what_is_no_answer_is_not_read(form):
    for record in ({}, {"id": 5}, {"id": "a", "simhash": "xyz"}, {"matches": 5}):
        with pytest.raises((LookupError, TypeError, ValueError, msgspec.ValidationError)):
            form.read(record)


def test_each_operation_has_a_name_a_path_and_a_form_of_its_own():
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert len({operation.path for operation in OPERATIONS}) == len(OPERATIONS)
    assert {operation.form.kind for operation in OPERATIONS} == {form.kind for form in FORMS}
