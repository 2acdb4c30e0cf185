"""Arguments that an index cannot keep or answer are refused in a sentence, and nothing of them is written."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from support.bruteforce import answered, entries

from simhash_hbase import InvalidArgument, LocalIndex, create_index

TEXT = "A document long enough to leave some features. "


def check_refusals(index, message, *calls):
    """Check that each call is refused with a message that begins so, and that nothing was written."""
    before = list(index.export())
    for call in calls:
        with pytest.raises(InvalidArgument) as refused:
            call()
        assert str(refused.value).startswith(message)
    assert list(index.export()) == before


@pytest.mark.parametrize(
    ("document_id", "metadata", "message"),
    [
        ("", None, "the id of a document is empty"),
        ("字" * 21_846, None, "the id 字"),
        ("\ud800", None, r"the id '\ud800' is not Unicode text"),
        ("a", {1: "a"}, "the metadata of 'a' has a key that is not a string"),
        ("a", {(1, 2): "a"}, "the metadata of 'a' has a key that is not a string"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_batch(make_index, document_id, metadata, message):
    index = make_index()
    batch = replace(entries({"before": 1, document_id: 2}), metadata=[None, metadata])

    for call in (index.add_entries, index.claim_entries, lambda made: index.dedup_entries(made, index.deduplicator())):
        check_refusals(index, message, partial(call, batch))
    check_refusals(
        index,
        message,
        lambda: index.add(document_id, TEXT, metadata=metadata),
        lambda: list(index.add_many([("before", TEXT), (document_id, TEXT, metadata)])),
    )


WRONG_TYPES = [
    ((5, TEXT), "the id 5 is of type int: wanted a string"),
    ((None, TEXT), "the id None is of type NoneType: wanted a string"),
    ((b"a", TEXT), "the id b'a' is of type bytes: wanted a string"),
    (("a", b"x"), "the text of 'a' is of type bytes: wanted a string"),
    (("a", None), "the text of 'a' is of type NoneType: wanted a string"),
    (("a", 0.5), "the text of 'a' is of type float: wanted a string"),
    (("a", TEXT, [1]), "the metadata of 'a' is of type list: wanted a mapping"),
]


@pytest.mark.parametrize(("document", "message"), WRONG_TYPES)
def test_a_document_of_other_types_is_refused(make_memory_index, document, message):
    index = make_memory_index()
    name, text, *metadata = document
    for call in (index.add, index.claim):
        check_refusals(index, message, partial(call, name, text, metadata=metadata[0] if metadata else None))
    if isinstance(name, str) and not metadata:
        check_refusals(index, message.replace(" of 'a'", ""), lambda: index.query(text))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        *(([("before", TEXT), document], message) for document, message in WRONG_TYPES),
        (["text"], "document 1 is of type str: wanted (id, text) or (id, text, metadata)"),
        (["ab"], "document 1 is of type str"),
        ("text", "document 1 is of type str"),
        ([("a", TEXT), {"id": "b", "text": TEXT}], "document 2 is of type dict"),
        ([("a", TEXT), 5], "document 2 is of type int"),
        ([("a", TEXT), ("b",)], "document 2 is of length 1: wanted (id, text) or (id, text, metadata)"),
        ([("a", TEXT), ("b", TEXT, None, 1)], "document 2 is of length 4"),
    ],
)
@pytest.mark.parametrize("method", ["add_many", "claim_many", "dedup_many", "query_many"])
def test_what_is_no_document_is_refused_with_its_batch(make_index, method, documents, message):
    index = make_index()
    check_refusals(index, message, lambda: list(getattr(index, method)(documents)))


# By the beginning of the message: calls, and arguments that they refuse.
LOOKUPS = {
    "the id {!r} is of type": (
        (
            LocalIndex.get,
            lambda index, name: list(index.remove_many([name])),
            lambda index, name: index.get_many([name]),
        ),
        (5, None, b"a"),
    ),
    "the ids are one string, {!r}: wanted a list of ids": (
        (LocalIndex.get_many, lambda index, ids: list(index.remove_many(ids))),
        ("abc",),
    ),
    "the fingerprint is {!r}: wanted an integer from 0 to 2**64 - 1": (
        (LocalIndex.query_simhash,),
        ("x", None, 0.5, True, -1, 2**64),
    ),
    "limit is {!r}: wanted at least 1": (
        (
            lambda index, limit: index.query(TEXT, limit=limit),
            lambda index, limit: index.query_id("a", limit=limit),
            lambda index, limit: index.query_simhash(1, limit=limit),
            lambda index, limit: list(index.query_many([("b", TEXT)], limit=limit)),
        ),
        (0, -1, "5", 1.5),
    ),
    "rule is {!r}: wanted a MatchRule": (
        (
            lambda index, rule: index.query(TEXT, rule=rule),
            lambda index, rule: index.query_many([("b", TEXT)], rule=rule),
        ),
        (5, "distance"),
    ),
    "since is {!r}: wanted a date or a time such as": (
        (
            lambda index, since: index.query(TEXT, since=since),
            lambda index, since: list(index.query_many([("b", TEXT)], since=since)),
        ),
        (5, b"7d", date(2026, 11, 22), timedelta(days=7), "yesterday"),
    ),
    "distance is {!r}: wanted an integer from 0 to 64": (
        (lambda index, distance: index.rule(distance=distance),),
        (-1, 65, 1.5, "3", True, Decimal(3)),
    ),
    "similarity is {!r}: wanted a number from 0 to 1": (
        (lambda index, similarity: index.rule(similarity=similarity),),
        (-1, 1.1, "0.5", True, float("nan")),
    ),
    "deadline_s is {!r}: wanted a number of seconds above 0": (
        (
            lambda index, deadline_s: index.claim("a", TEXT, deadline_s=deadline_s),
            lambda index, deadline_s: index.claim_many([("b", TEXT)], deadline_s=deadline_s),
        ),
        (0, -1, "5", float("nan")),
    ),
}


class Liar(str):
    """A string whose methods tell of another one, as a library's own class of strings may."""

    __slots__ = ()

    def _other(self, *_):
        return "other"

    __str__ = __getitem__ = __format__ = lower = strip = _other
    __len__ = lambda _: 1_000_000  # noqa: E731

    def encode(self, *_):
        return b"other"

    def __eq__(self, _):
        return True

    def __hash__(self):
        return 1


def string_of_lxml():
    html = pytest.importorskip("lxml.html", reason="./scripts/install dev")
    return html.fromstring("<p>a</p>").xpath("string(/p)").__class__


@pytest.mark.parametrize("kind_of", [lambda: np.str_, lambda: Liar, string_of_lxml], ids=["numpy", "liar", "lxml"])
def test_strings_of_a_subclass_are_the_strings_that_they_are(make_index, kind_of):
    kind = kind_of()
    index, plain, name = make_index(), make_index(), kind("a")
    metadata = {kind("url"): kind("u"), "list": [kind("v"), {"w": kind("x")}]}
    for each, make in ((index, kind), (plain, str)):
        each.add(make("a"), make(TEXT), metadata=metadata)
        list(each.add_many([(make("b"), make(TEXT.upper()), metadata)]))
        assert each.claim(make("c"), make(TEXT)).of == "a"
        assert [decision.is_original for _, decision in each.dedup_many([(make("d"), make("all else"))])] == [True]
        inside = each.in_collection(make("news"))
        inside.add(make("e"), make(TEXT))
        assert [match.id for match in inside.query(make(TEXT)).matches] == ["e"]

    assert list(index.export()) == [replace(stored, added=mock.ANY, seen=mock.ANY) for stored in plain.export()]
    stored = index.get(name)
    assert stored.metadata == {"url": "u", "list": ["v", {"w": "x"}]}
    assert {type(stored.id), type(stored.metadata["url"])} == {str}
    assert name in index
    assert index.get_many([name]) == [index.get("a")]
    assert [copy.id for copy in index.copies(name).copies] == ["c"]
    assert index.query_id(name) == plain.query_id("a")
    assert index.query(kind(TEXT)) == plain.query(TEXT)
    assert index.remove(name)
    assert index.get("a") is None


@pytest.mark.parametrize("message", LOOKUPS)
def test_a_look_up_refuses_each_wrong_argument(make_memory_index, message):
    index = make_memory_index()
    index.add("a", TEXT)
    for call, wrong in product(*LOOKUPS[message]):
        check_refusals(index, message.format(wrong), partial(call, index, wrong))


def test_a_fingerprint_of_numpy_is_one(make_memory_index):
    index = make_memory_index()
    index.add_entries(entries({"a": 2**64 - 1}))
    assert answered(index.query_simhash(np.uint64(2**64 - 1), limit=1)) == [("a", 0)]


def test_an_id_of_64_and_metadata_of_one_kilobyte_are_kept_as_they_are(make_index):
    index = make_index()
    name, metadata = "字" * 21_845, {"url": "x" * 990, "字": [1, None, 0.5]}
    index.add(name, TEXT, metadata=metadata)
    stored = index.get(name)
    assert (stored.id, stored.metadata) == (name, metadata)


@pytest.mark.parametrize("texts", ["one text", b"one text", Path("texts.txt")])
def test_one_string_is_no_list_of_texts_to_learn_from(texts):
    with pytest.raises(InvalidArgument, match="wanted texts"):
        create_index("memory:", learn_from=texts)


def test_an_argument_that_python_cannot_write_is_refused_by_its_type(make_memory_index):
    index, huge = make_memory_index(), 10**5000
    message = "a value of type int"
    check_refusals(index, f"the id {message}", *(partial(call, huge) for call in (index.query_id, index.get)))
    check_refusals(index, f"the fingerprint is {message}", partial(index.query_simhash, huge))
    check_refusals(index, f"at_share is {message}", partial(index.items, TEXT, at_share=huge))


def test_the_metadata_of_an_added_document_may_have_strings_alone_as_keys(make_memory_index):
    index = make_memory_index()
    check_refusals(index, "the metadata of 'a' has a key", partial(index.add, "a", TEXT, metadata={(1, 2): "b"}))


def test_integers_of_numpy_are_distances(make_memory_index):
    index = make_memory_index()
    assert index.rule(distance=np.int64(3), similarity=np.float32(0.5)) == index.rule(distance=3, similarity=0.5)
