"""Each act of the face, written once: an index in every place, and behind a service, answers as one in memory does."""

from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.awaited import AwaitedIndex
from support.corpus import text
from support.places import CLAIMING_PLACES, HBASE_PLACES
from support.serving import new_index, serving

from simhash_hbase import EmptyDocument, InvalidArgument, LocalIndex, Profile, SimhashError, create_index
from simhash_hbase.client import RemoteIndex
from simhash_hbase.rows.clock import now_ms

OPTIONS = {"analyzer": "shingle", "passages": 40, "agree": "source"}
TIMES = ("added", "seen", "first", "last")
IDS = [*"abcd", "名", "a b"]
ids = st.sampled_from(IDS)
texts = st.builds(text, st.sampled_from("xy"), changed=st.integers(0, 6)) | st.sampled_from(["…", "早安", "早 安"])
metadata = st.none() | st.sampled_from([{"source": "here"}, {"source": "http://There/1"}])
documents = st.lists(st.tuples(ids, texts, metadata), max_size=6)
options = st.fixed_dictionaries(
    {}, optional={"limit": st.integers(1, 3), "since": st.sampled_from(["1d", "2100-01-01", "soon"])}
)
rules = st.none() | st.fixed_dictionaries(
    {}, optional={"match": st.sampled_from(["distance", "verified"]), "distance": st.integers(0, 16)}
)
clues = texts | st.builds(lambda whole, start: whole[start : start + 60], texts, st.integers(0, 800))
limits = st.none() | st.integers(0, 2)
repeated = st.fixed_dictionaries({}, optional={"at_least": st.integers(0, 2), "same": st.sampled_from(["source", "n"])})
shares = st.sampled_from([0.2, 0.5, 1, 0])
batches = st.none() | st.sampled_from(["monday", "周二", "a b"])
ACTS = {
    "add": (
        lambda index, *given: index.add(given[0], given[1], metadata=given[2], batch=given[3]),
        (ids, texts, metadata, batches),
    ),
    "add_many": (lambda index, many, batch: list(index.add_many(many, batch=batch)), (documents, batches)),
    "batches": (lambda index: sorted(index.batches(), key=lambda each: each.batch or ""), ()),
    "claim": (
        lambda index, *given: index.claim(given[0], given[1], metadata=given[2], batch=given[3]),
        (ids, texts, metadata, batches),
    ),
    "claim_many": (lambda index, many, batch: list(index.claim_many(many, batch=batch)), (documents, batches)),
    "query": (lambda index, one, rule, more: index.query(one, **asked(index, rule, more)), (texts, rules, options)),
    "query_many": (
        lambda index, many, rule, more: list(index.query_many(many, **asked(index, rule, more))),
        (documents, rules, options),
    ),
    "query_id": (
        lambda index, name, rule, more: index.query_id(name, **asked(index, rule, more)),
        (ids, rules, options),
    ),
    "query_simhash": (
        lambda index, simhash, more: index.query_simhash(simhash, **more),
        (st.sampled_from([0, 2**64 - 1]), options),
    ),
    "find": (lambda index, one, limit: index.find(one, limit=limit), (clues, limits)),
    "find_many": (lambda index, many, limit: list(index.find_many(many, limit=limit)), (documents, limits)),
    "passages": (
        lambda index, one, given, more: index.passages(one, document_id=given[0], metadata=given[1], **more),
        (clues, st.tuples(st.just("") | ids, metadata), repeated),
    ),
    "passages_many": (lambda index, many, more: list(index.passages_many(many, **more)), (documents, repeated)),
    "items": (lambda index, one, share: index.items(one, at_share=share), (clues, shares)),
    "items_many": (lambda index, many, share: list(index.items_many(many, at_share=share)), (documents, shares)),
    "get": (lambda index, name: index.get(name), (ids,)),
    "get_many": (lambda index, names: index.get_many(names), (st.lists(ids, max_size=4),)),
    "contains": (lambda index, name: name in index, (ids,)),
    "copies": (lambda index, name: index.copies(name), (ids,)),
    "remove": (lambda index, name: index.remove(name), (ids,)),
    "remove_batch": (lambda index, name: sorted(index.remove_batch(name)), (st.sampled_from(["周二", "a b", ""]),)),
    "remove_many": (lambda index, names: list(index.remove_many(names)), (st.lists(ids, max_size=4),)),
}
steps = st.lists(
    st.sampled_from(sorted(ACTS)).flatmap(lambda name: st.tuples(st.just(name), st.tuples(*ACTS[name][1]))),
    min_size=4,
    max_size=16,
)


def asked(index, rule, more):
    return more if rule is None else {**more, "rule": index.rule(**rule)}


def outcome(index, name, given):
    """Carry out one act; an error is an outcome, too."""
    try:
        return timeless(ACTS[name][0](index, *given))
    except SimhashError as error:
        return type(error)


def timeless(value):
    """Leave out times, which differ between two indexes, and the order that they give the copies of an original."""
    if isinstance(value, list | tuple):
        return [timeless(item) for item in value]
    if not is_dataclass(value):
        return value
    told = {field.name: timeless(getattr(value, field.name)) for field in fields(value) if field.name not in TIMES}
    if "copies" in told:
        told["copies"].sort(key=lambda copy: copy["id"])
    return told


CLIENTS = {"service": RemoteIndex, "service, awaited": AwaitedIndex}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with serving(new_index(folder, passages=40, agree="source"), folder) as running:
        yield running


@pytest.fixture(params=[
    "embedded", "swapping", "redis", *(pytest.param(name, marks=pytest.mark.server) for name in CLIENTS),
    *(pytest.param(name, marks=pytest.mark.hbase) for name in HBASE_PLACES),
])  # fmt: skip
def place(request, tmp_path):
    """Return an empty index in one kind of place."""
    with ExitStack() as stack:
        if client := CLIENTS.get(request.param):
            server = request.getfixturevalue("server")
            yield stack.enter_context(client(server.address, key=server.keys["all"]))
        else:
            store = {**CLAIMING_PLACES, **HBASE_PLACES}[request.param](tmp_path, now_ms).create()
            yield stack.enter_context(LocalIndex.create(store, Profile.resolve(**OPTIONS)))


@pytest.mark.slow
def test_every_act_has_the_same_outcome_in_every_place(place):
    numbers = count()
    with create_index("memory:", **OPTIONS) as model:

        @settings(
            max_examples=12,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        )
        @given(steps)
        def check(steps):
            # Each example has a collection of its own, since an index takes a second to make, and so has each client.
            name = f"{type(place).__name__} {next(numbers)}"
            there, here = place.in_collection(name), model.in_collection(name)
            for act, given in steps:
                assert outcome(there, act, given) == outcome(here, act, given), act

        check()


NO_LETTERS = "the text has no letters, numbers or marks, so there is nothing to look for"


@pytest.mark.server
@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_a_clue_without_letters_gets_one_sentence_everywhere(server, client):
    with create_index("memory:", **OPTIONS) as model, client(server.address, key=server.keys["all"]) as remote:
        for index in (model, remote):
            for act in (index.find, index.passages, index.items):
                for clue in ("!!!", "……", " ", "", "\u200d"):
                    with pytest.raises(EmptyDocument) as refused:
                        act(clue)
                    assert str(refused.value) == NO_LETTERS, (act, clue)
            with pytest.raises(InvalidArgument, match="the text has 3 letters, numbers and marks: 12 at least"):
                index.find("只三字")
            with pytest.raises(EmptyDocument) as refused:
                index.passages(" ", document_id="x")
            assert str(refused.value) == NO_LETTERS.replace("text", "text of 'x'")


def test_a_wrong_answer_is_seen():
    with create_index("memory:", analyzer="shingle") as index:
        index.claim("a", text("x"))
        [match] = index.query(text("x")).matches
    assert timeless(match) == timeless(replace(match, added="another time")) != timeless(replace(match, distance=1))
