"""Single requests that wait at the same moment are one batch: each has its own answer, error and time limit."""

import asyncio
import random
from contextlib import asynccontextmanager
from math import inf
from threading import Event

import httpx
import pytest
from support.corpus import near_copies, text
from support.serving import NDJSON, come_true, lines, ndjson, wait_for

from simhash_hbase import ClaimContended, LocalIndex, StoreUnavailable, create_index
from simhash_hbase.index.jsonforms import DECISION
from simhash_hbase.index.operations import REMOVE
from simhash_hbase.profile import Profile
from simhash_hbase.service import Limits, create_app, operations
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.operations import BATCHES, MOST_TOGETHER, Batcher, BatchOperation
from simhash_hbase.service.problems import Problem
from simhash_hbase.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio


class Work:
    """An operation on ids that waits for its gate, and says which ids it was given together."""

    def __init__(self, batcher, *, is_open=False, bad=None):
        self.gate = Event()
        self.batches = []
        self._batcher = batcher
        self._bad = bad or {}
        if is_open:
            self.gate.set()
        self._operation = BatchOperation(operation=REMOVE, on_ids=self._on_ids, outcome=lambda record: "done")

    async def ask(self, *ids, until=0):
        """Begin requests in an order, and wait until so many batches have begun."""
        tasks = [asyncio.create_task(self._batcher.answer(self._operation, name)) for name in ids]
        await asyncio.sleep(0)
        await come_true(lambda: len(self.batches) >= until)
        return tasks

    async def answers(self, *ids):
        return await asyncio.gather(*await self.ask(*ids), return_exceptions=True)

    def _on_ids(self, index, ids):
        self.batches.append(list(ids))
        self.gate.wait()
        for name in ids:
            if name in self._bad:
                raise self._bad[name]
        return [{"id": name} for name in ids]


@pytest.fixture
def engine():
    made = Engine(None, threads=16, workers=1)
    yield made
    made.close()


@pytest.fixture
def batcher(engine):
    return Batcher(engine)


@pytest.fixture
def _no_timer(monkeypatch):
    monkeypatch.setattr(operations, "LONGEST_WAIT_S", 1e6)


@pytest.mark.usefixtures("_no_timer")
async def test_requests_during_a_batch_are_in_the_next_one_in_the_order_of_arrival(batcher):
    work, names = Work(batcher), list(map(str, range(MOST_TOGETHER + 3)))
    first = await work.ask("a", until=1)
    rest = await work.ask(*names)
    work.gate.set()

    assert [answer["id"] for answer in await asyncio.gather(*first, *rest)] == ["a", *names]
    assert work.batches == [["a"], names[:MOST_TOGETHER], names[MOST_TOGETHER:]]


async def test_a_batch_has_no_more_documents_than_a_commit_may_have(engine):
    work = Work(Batcher(engine, most=2), is_open=True)
    await work.answers(*"abcde")
    assert work.batches == [["a", "b"], ["c", "d"], ["e"]]


async def test_one_bad_document_does_not_harm_its_neighbours(batcher):
    bad = {"b": ValueError("b"), "d": Problem("document_missing", "d")}

    answers = await Work(batcher, is_open=True, bad=bad).answers(*"abcde")

    assert answers == [{"id": "a"}, bad["b"], {"id": "c"}, bad["d"], {"id": "e"}]


async def test_a_store_that_does_not_answer_is_asked_once_for_the_whole_batch(batcher):
    work = Work(batcher, is_open=True, bad={"b": StoreUnavailable("gone")})
    assert {type(answer) for answer in await work.answers(*"abc")} == {StoreUnavailable}
    assert work.batches == [["a", "b", "c"]]


async def test_a_batch_that_cannot_begin_is_an_error_of_each_request(engine, batcher):
    engine.close()
    assert {type(answer) for answer in await Work(batcher, is_open=True).answers(*"ab")} == {RuntimeError}


async def test_who_does_not_wait_any_more_is_left_out_of_the_batch(batcher):
    work = Work(batcher)
    first = await work.ask("a", until=1)
    rest = await work.ask(*"bcd")
    [late] = await work.ask("late")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(late, 0.01)
    rest[1].cancel()
    first[0].cancel()
    await asyncio.sleep(0)
    work.gate.set()

    answers = await asyncio.gather(*first, *rest, return_exceptions=True)

    assert [isinstance(answer, asyncio.CancelledError) or answer["id"] for answer in answers] == [True, "b", True, "d"]
    assert work.batches == [["a"], ["b", "d"]]


async def test_a_batch_that_takes_long_does_not_hold_up_all_later_ones(batcher, monkeypatch):
    monkeypatch.setattr(operations, "LONGEST_WAIT_S", 0.01)
    work, tasks = Work(batcher), []
    for number in range(BATCHES):
        tasks += await work.ask(str(number), until=number + 1)
    tasks += await work.ask("x", "y")
    await asyncio.sleep(0.1)
    before = len(work.batches)
    work.gate.set()
    await asyncio.gather(*tasks)

    assert before == BATCHES
    assert work.batches == [*([str(number)] for number in range(BATCHES)), ["x", "y"]]


async def test_requests_of_different_operations_do_not_wait_for_each_other(batcher):
    slow, quick = Work(batcher), Work(batcher, is_open=True)
    waiting = await slow.ask("a", until=1)

    assert await quick.answers("b") == [{"id": "b"}]
    slow.gate.set()
    await asyncio.gather(*waiting)


@pytest.fixture
def arrived(monkeypatch):
    """Return what requests wait with for a batch, in a list that grows."""
    items, answer = [], Batcher.answer

    async def noted(self, operation, item):
        items.append(item)
        return await answer(self, operation, item)

    monkeypatch.setattr(Batcher, "answer", noted)
    return items


@asynccontextmanager
async def _client_of(index):
    app = create_app(index, keys=None, limits=Limits(requests=512))
    served = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60)
    async with app.router.lifespan_context(app), served as client:
        yield client


@pytest.mark.usefixtures("_no_timer")
@pytest.mark.parametrize("place", ["memory", "file"])
async def test_claims_of_one_batch_are_decided_as_if_one_came_after_the_other(place, tmp_path, monkeypatch, arrived):
    documents = near_copies(12, 3)
    random.Random(1).shuffle(documents)
    empty, unnamed = {"id": "empty", "text": "."}, {"text": "some text"}
    features = {"id": "features", "features": [["some", 1.5]]}
    sent = [documents[0], *documents[1:20], empty, unnamed, features, *documents[20:], documents[3]]
    index = create_index("memory:" if place == "memory" else f"file:{tmp_path / 'i'}", analyzer="shingle")
    claim_entries, sizes, gate = index.claim_entries, [], Event()

    def watched(entries, *, deadline_s=None):
        sizes.append(len(entries))
        gate.wait()
        return claim_entries(entries, deadline_s=deadline_s)

    monkeypatch.setattr(index, "claim_entries", watched)
    async with _client_of(index) as client:
        first = asyncio.create_task(client.post("/v1/claims", json=sent[0]))
        await asyncio.to_thread(wait_for, lambda: sizes)
        rest = [asyncio.create_task(client.post("/v1/claims", json=document)) for document in sent[1:]]
        # All have come, or were refused, before the first one is decided.
        await come_true(lambda: len(arrived) + sum(task.done() for task in rest) == len(sent))
        gate.set()
        answers = [await answer for answer in (first, *rest)]

    with create_index("memory:", analyzer="shingle") as model:
        decided = {d["id"]: DECISION.write(model.claim(d["id"], d["text"])) for d in documents}
    by_id = {answer.json()["id"]: answer.json() for answer in answers if "id" in answer.json()}
    for name, decision in decided.items():
        assert {**by_id[name], "short": None} == {**decision, "short": None}
    codes = {at: answer.json()["code"] for at, answer in enumerate(answers) if answer.status_code != 200}
    assert codes == {20: "empty_document", 21: "invalid_document"}
    assert answers[22].json()["status"] == "original"
    assert answers[-1].json() == by_id[documents[3]["id"]]
    assert sizes[0] == 1
    assert max(sizes) > 20


class _Contended(LocalIndex):
    """Other writers keep winning one document, as long as nobody waits for it for so long."""

    def __init__(self, *, wins_before_s):
        store = MemoryStore()
        LocalIndex.create(store, Profile.resolve(analyzer="shingle"))
        super().__init__(store)
        self.deadlines = []
        self._wins_before_s = wins_before_s

    def claim_entries(self, entries, *, deadline_s=None):
        self.deadlines.append((entries.ids, deadline_s))
        claimed = super().claim_entries(entries, deadline_s=deadline_s)
        lost = ClaimContended("'b': other writers kept changing it")
        is_lost = deadline_s is None or deadline_s < self._wins_before_s
        return [lost if name == "b" and is_lost else what for name, what in zip(entries.ids, claimed, strict=True)]


CONTESTED = [{"id": name, "text": text(name)} for name in "abc"]


async def test_a_contested_claim_waits_without_its_batch():
    lease_s = Profile.resolve(analyzer="shingle").lease_s
    index = _Contended(wins_before_s=lease_s)

    async with _client_of(index) as client:
        answers = await asyncio.gather(*(client.post("/v1/claims", json=document) for document in CONTESTED))

    assert [answer.json()["status"] for answer in answers] == ["original"] * 3
    assert index.deadlines[-1] == (["b"], 2 * lease_s)
    assert {deadline for _, deadline in index.deadlines[:-1]} == {2.0}


async def test_a_contended_claim_is_answered_as_a_conflict_to_be_retried():
    async with _client_of(_Contended(wins_before_s=inf)) as client:
        alone = await client.post("/v1/claims", json=CONTESTED[1])

    assert (alone.status_code, alone.json()["code"], alone.json()["retryable"]) == (409, "claim_contended", True)
    assert alone.headers["retry-after"] == "1"


async def test_a_contended_claim_of_a_stream_leaves_the_other_lines_their_answers():
    async with _client_of(_Contended(wins_before_s=inf)) as client:
        stream = await client.post("/v1/claims", content=ndjson(CONTESTED), headers=NDJSON)

    *claimed, end = lines(stream)
    assert [decision.get("status") for decision in claimed] == ["original", None, "original"]
    assert (claimed[1]["line"], claimed[1]["id"], claimed[1]["error"]["retryable"]) == (2, "b", True)
    assert end["summary"]["outcomes"] == {"original": 2, "claim_contended": 1}
    assert end["summary"]["complete"]
