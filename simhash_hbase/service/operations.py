"""The operations on documents and ids, and their batches: the one place that calls the index.

The index is called once for a batch, and each line or request gets its answer. Group commit: single requests that wait
at the same moment are worked on as one batch. A batch costs the index little more than one document: a commit, and most
of a search, are paid once.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from simhash_hbase import tracing
from simhash_hbase.errors import ClaimContended, Retryable, SimhashError, not_held
from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.features.chunks import analyse_chunk, payload, whole_chunk
from simhash_hbase.index import operations
from simhash_hbase.index.answers import Added, Removed
from simhash_hbase.index.arguments import BATCH_DOCUMENTS, LEASES, PassageSearch, Search
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.operations import Operation
from simhash_hbase.inputs import Document
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.items import AnalysedChunk, Item, ItemChunk, ItemForm, decode, decode_body, document_or_id
from simhash_hbase.service.problems import Problem, of_error

ItemAnswer = dict[str, object] | Problem

# Most matches in the answers of a batch of queries, which are in memory at a time: as JSON some megabytes.
MATCHES = 25_600
# The claims of several clients, which are decided together, wait so long for one that is contested.
HURRIED_S = 2.0
# Queries with the same parameters are one operation, so that they can be worked on together.
QUERIES = 32
# Operations on one collection are, too.
COLLECTIONS = 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchOperation:
    """An operation, such as a claim or a query, on batches of documents, ids or both.

    It answers each item, in order.
    """

    operation: Operation[Any]
    on_entries: Callable[[LocalIndex, Entries], Iterable[ItemAnswer]] | None = None
    on_ids: Callable[[LocalIndex, Sequence[str]], Iterable[ItemAnswer]] | None = None
    on_texts: Callable[[LocalIndex, Sequence[Document]], Iterable[ItemAnswer]] | None = None
    """Takes documents as they came, in the place of `on_entries`: they are not analysed."""
    batch: int = BATCH_DOCUMENTS  # Most documents, of a stream or of single requests, at a time.
    hurried: "BatchOperation | None" = None
    """The same operation for items of several clients; it refuses, for now, an item that would keep others waiting."""
    is_shared: bool = False  # Whether the batches of one key wait for each other, since each takes much memory.
    outcome: Callable[[dict[str, object]], str]  # Returns the outcome of a document, for the metrics.

    @property
    def name(self) -> str:
        """The operation's name in metrics and logs, such as ``claim``."""
        return self.operation.name

    def wanted(self, *, is_line: bool = False) -> ItemForm:
        """Return which items (documents, ids) a request's body, or a line of a stream, may have for this operation."""
        operation = self.operation
        return ItemForm(operation.documents, operation.ids, operation.needs_id, is_line, self.on_texts is None)

    def outcome_of(self, record: ItemAnswer) -> str:
        """Return the outcome that the metrics count for an item's answer: for a refused one, the code of its error."""
        return record.code if isinstance(record, Problem) else self.outcome(record)

    def lines(self, index: LocalIndex, batch: Sequence[AnalysedChunk], outcomes: Counter[str]) -> bytes:
        """Return the answers to the items of a stream's batch as JSON lines, and count the outcomes in `outcomes`."""
        encoder, out = msgspec.json.Encoder(), bytearray()
        for number, item, record in self.records(index, batch):
            outcomes[self.outcome_of(record)] += 1
            if isinstance(record, Problem):
                name = item.id if isinstance(item, Document) else item if isinstance(item, str) else None
                line: dict[str, object] = {"line": number, **({"id": name} if name else {}), "error": record.record()}
            else:
                line = record
            encoder.encode_into(line, out, len(out))
            out += b"\n"
        return bytes(out)

    def records(
        self, index: LocalIndex, batch: Sequence[AnalysedChunk]
    ) -> Iterator[tuple[int, Item | Problem, ItemAnswer]]:
        """Yield the line number, the item and the answer, or problem, of each item of a batch, in their order."""
        entries = [ready.entries for ready in batch if ready.entries is not None and len(ready.entries)]
        ids = [item for ready in batch for item in ready.chunk.items if isinstance(item, str)]
        on_entries, on_ids = self.on_entries, self.on_ids
        of_entries = iter(on_entries(index, Entries.joined(entries)) if entries and on_entries is not None else ())
        if self.on_texts is not None:
            texts = [document for ready in batch for document in ready.chunk.documents]
            of_entries = iter(self.on_texts(index, texts) if texts else ())
        of_ids = iter(on_ids(index, ids) if ids and on_ids is not None else ())
        for ready in batch:
            position = 0
            for number, item in zip(ready.chunk.numbers, ready.chunk.items, strict=True):
                if isinstance(item, Document):
                    refused = ready.refused.get(position)
                    position += 1
                    yield number, item, next(of_entries) if refused is None else refused
                else:
                    yield number, item, item if isinstance(item, Problem) else next(of_ids)

    def answers(self, index: LocalIndex, items: Sequence[Item | AnalysedChunk]) -> list[ItemAnswer]:
        """Carry out the operation, which may write, on documents and ids as one batch; return their answers in order.

        Documents that are not analysed yet are analysed first, unless the operation works on texts.
        """
        parts: list[ItemChunk | AnalysedChunk] = []
        for number, item in enumerate(items):
            if isinstance(item, AnalysedChunk):
                parts.append(item)
                continue
            chunk = parts[-1] if parts else None
            if not isinstance(chunk, ItemChunk) or not chunk.takes(item):
                chunk = ItemChunk()
                parts.append(chunk)
            chunk.add(number, item, 0)
        batch = []
        for part in parts:
            if isinstance(part, AnalysedChunk):
                batch.append(part)
                continue
            documents = part.documents
            is_analysed = documents and self.on_texts is None
            analysed = analyse_chunk(index.analysis, *payload(documents)).analysed if is_analysed else None
            batch.append(AnalysedChunk.of(part, analysed))
        return [record for _, _, record in self.records(index, batch)]

    def outcomes(self, index: LocalIndex, items: Sequence[Item | AnalysedChunk]) -> list[ItemAnswer | Exception]:
        """Return the answers or errors of single requests, worked on as one batch.

        If the batch fails, and its error is none to be retried, each request is tried alone: one document may be the
        cause.
        """
        outcomes: list[ItemAnswer | Exception] = []
        try:
            outcomes += self.answers(index, items)
        except Retryable as error:
            outcomes += [error] * len(items)
        except Exception:
            for item in items:
                try:
                    outcomes += self.answers(index, [item])
                except Exception as error:
                    outcomes.append(error)
        return outcomes


def analyse_raw(analysis: Analysis, raw: bytes, wanted: ItemForm) -> tuple[Item, Analysed | None]:
    """Return the item in a JSON text and, for a document, its analysis.

    An analysed document comes without its text.
    """
    item = document_or_id(decode(raw) if wanted.is_line else decode_body(raw), wanted)
    if isinstance(item, str) or not wanted.is_analysed:
        return item, None
    analysed = analyse_chunk(analysis, *payload([item])).analysed
    return replace(item, text="", features=None, simhash=None, metadata=None), analysed


def _add(index: LocalIndex, entries: Entries) -> list[ItemAnswer]:
    index.add_entries(entries)
    named = zip(entries.ids, entries.simhashes.tolist(), strict=True)
    return [operations.ADD.form.write(Added(name, simhash)) for name, simhash in named]


def _claim(index: LocalIndex, entries: Entries, *, deadline_s: float | None = None) -> list[ItemAnswer]:
    # A claim must outwait a crashed writer even after its own client has gone.
    claimed = index.claim_entries(entries, deadline_s=deadline_s or LEASES * index.profile.lease_s)
    write = operations.CLAIM.form.write
    return [of_error(what) if isinstance(what, ClaimContended) else write(what) for what in claimed]


def _remove(index: LocalIndex, ids: Sequence[str]) -> list[ItemAnswer]:
    return [operations.REMOVE.form.write(Removed(name, removed)) for name, removed in index.remove_many(ids)]


def _get(index: LocalIndex, ids: Sequence[str]) -> list[ItemAnswer]:
    return [_missing() if one is None else operations.GET.form.write(one) for one in index.get_many(ids)]


def _copies(index: LocalIndex, ids: Sequence[str]) -> list[ItemAnswer]:
    return [_missing() if one is None else operations.COPIES.form.write(one) for one in map(index.copies, ids)]


def _missing() -> Problem:
    return Problem("document_missing", not_held())


ADD = BatchOperation(operation=operations.ADD, on_entries=_add, outcome=lambda record: "added")
_HURRIED_CLAIM = BatchOperation(
    operation=operations.CLAIM,
    on_entries=partial(_claim, deadline_s=HURRIED_S),
    outcome=lambda record: str(record["status"]),
)
CLAIM = replace(_HURRIED_CLAIM, on_entries=_claim, hurried=_HURRIED_CLAIM)
REMOVE = BatchOperation(
    operation=operations.REMOVE, on_ids=_remove, outcome=lambda record: "removed" if record["removed"] else "absent"
)
GET = BatchOperation(operation=operations.GET, on_ids=_get, outcome=lambda record: "found")
COPIES = BatchOperation(
    operation=operations.COPIES,
    on_ids=_copies,
    batch=8,  # A list of copies may have thousands of entries: few lists are in memory at a time.
    outcome=lambda record: "found",
)


@lru_cache(COLLECTIONS)
def within(operation: BatchOperation, collection: str | None) -> BatchOperation:
    """Return an operation limited to the documents of one collection; documents of two are never in one batch."""
    if collection is None:
        return operation
    on_entries, on_ids, hurried = operation.on_entries, operation.on_ids, operation.hurried
    on_texts = operation.on_texts
    return replace(
        operation,
        on_texts=on_texts and (lambda index, texts: on_texts(index.in_collection(collection), texts)),
        on_entries=on_entries and (lambda index, entries: on_entries(index.in_collection(collection), entries)),
        on_ids=on_ids and (lambda index, ids: on_ids(index.in_collection(collection), ids)),
        hurried=hurried and within(hurried, collection),
    )


@lru_cache(COLLECTIONS)
def in_batch(operation: BatchOperation, name: str | None) -> BatchOperation:
    """Return an operation that stores documents under a batch's name, such as a crawl's, which they can be removed by.

    Requests with different names are never worked on together.
    """
    if name is None or (on_entries := operation.on_entries) is None:
        return operation
    return replace(
        operation,
        on_entries=lambda index, entries: on_entries(index, entries.in_batch(name)),
        hurried=operation.hurried and in_batch(operation.hurried, name),
    )


@lru_cache(QUERIES)
def query(search: Search) -> BatchOperation:
    """Return the operation that finds stored near-duplicates of documents, or, by their ids, of stored documents."""

    def of_entries(index: LocalIndex, entries: Entries) -> Iterator[ItemAnswer]:
        answers = index.answer_entries(entries, search)
        for name, answer in zip(entries.ids, answers, strict=True):
            yield operations.QUERY.form.write_for(name or None, answer)

    def of_ids(index: LocalIndex, ids: Sequence[str]) -> Iterator[ItemAnswer]:
        for name in ids:
            answer = index.query_id(name, **search.options)
            yield _missing() if answer is None else operations.QUERY.form.write_for(name, answer)

    return BatchOperation(
        operation=operations.QUERY,
        on_entries=of_entries,
        on_ids=of_ids,
        batch=max(1, MATCHES // (search.limit or MATCHES)),
        is_shared=True,
        outcome=lambda record: "matched" if record["matches"] else "unmatched",
    )


@lru_cache(QUERIES)
def find(limit: int) -> BatchOperation:
    """Return the operation that finds, for each clue (a short text), the stored documents that contain some of it.

    An answer has at most `limit` documents.
    """

    def of_texts(index: LocalIndex, texts: Sequence[Document]) -> Iterator[ItemAnswer]:
        for document, found in index.found(whole_chunk(texts, None), limit=limit):
            if isinstance(found, SimhashError):
                yield of_error(found)
            else:
                yield operations.FIND.form.write_for(document.id or None, found)

    return BatchOperation(
        operation=operations.FIND,
        on_texts=of_texts,
        batch=max(1, MATCHES // limit),
        is_shared=True,
        outcome=lambda record: "matched" if record["matches"] else "unmatched",
    )


@lru_cache(QUERIES)
def passages(search: PassageSearch) -> BatchOperation:
    """Return the operation that finds, in each text, the spans that other documents, which are stored, contain, too."""

    def of_texts(index: LocalIndex, texts: Sequence[Document]) -> Iterator[ItemAnswer]:
        for _, answer in index.repeated(whole_chunk(texts, None), search):
            yield of_error(answer) if isinstance(answer, SimhashError) else operations.PASSAGES.form.write(answer)

    return BatchOperation(
        operation=operations.PASSAGES,
        on_texts=of_texts,
        batch=64,
        is_shared=True,
        outcome=lambda record: "matched" if record["passages"] else "unmatched",
    )


@lru_cache(QUERIES)
def items(at_share: float) -> BatchOperation:
    """Return the operation that finds the stored documents, such as test questions, which texts contain.

    `at_share`: the least share of a document's passages that a text must have.
    """

    def of_texts(index: LocalIndex, texts: Sequence[Document]) -> Iterator[ItemAnswer]:
        for _, answer in index.held(whole_chunk(texts, None), at_share=at_share):
            yield of_error(answer) if isinstance(answer, SimhashError) else operations.ITEMS.form.write(answer)

    return BatchOperation(
        operation=operations.ITEMS,
        on_texts=of_texts,
        batch=64,
        is_shared=True,
        outcome=lambda record: "matched" if record["items"] else "unmatched",
    )


MOST_TOGETHER = 64  # Requests of one batch.
# The next batch waits for the one under way, but not longer: then it begins beside it. In a folder a batch takes some
# milliseconds; in HBase it may take seconds, when a server is slow or a document contested.
LONGEST_WAIT_S = 0.05
BATCHES = 4  # Batches of one operation at a time.

# One request: its item, the future that waits for its answer, and the context with its span.
_Single = tuple[Item | AnalysedChunk, asyncio.Future[ItemAnswer], Context | None]


class Batcher:
    """Answers single requests, those that come at the same time as one batch of an operation.

    A request that finds no batch of its operation under way begins one at once. Those that come meanwhile are the next
    batch, in the order of their arrival. Each has its own answer or error, and is left out when nobody waits for it any
    more; `most` documents are in one commit. Belongs to one event loop.
    """

    def __init__(self, engine: Engine, *, most: int = MOST_TOGETHER) -> None:
        self._engine = engine
        self._most = min(MOST_TOGETHER, most)
        # A queue lasts as long as somebody waits in it.
        self._queues: WeakValueDictionary[BatchOperation, _Queue] = WeakValueDictionary()

    async def answer(self, operation: BatchOperation, item: Item | AnalysedChunk) -> ItemAnswer:
        """Return an operation's answer to an id, or to a document, which may be analysed already."""
        queue = self._queues.get(operation)
        if queue is None:
            queue = self._queues[operation] = _Queue(self._engine, operation.hurried or operation, self._most)
        record = await queue.ask(item)
        if operation.hurried and isinstance(record, Problem) and record.retryable:
            # By itself it may take longer than a batch may wait for it.
            [record] = await self._engine.run(lambda index: operation.answers(index, [item]))
        return record


class _Queue:
    """The single requests that wait for a batch of one operation, and that operation's batches under way."""

    def __init__(self, engine: Engine, operation: BatchOperation, most: int) -> None:
        self._engine = engine
        self._operation = operation
        self._most = min(most, operation.batch)
        self._waiting: deque[_Single] = deque()
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._next: asyncio.Handle | None = None

    async def ask(self, item: Item | AnalysedChunk) -> ItemAnswer:
        answer: asyncio.Future[ItemAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer, tracing.here()))
        self.schedule()
        return await answer

    def schedule(self) -> None:
        """Schedule the next batch: after this round of the event loop, or later where a batch is under way."""
        if self._next is None and self._waiting:
            loop = asyncio.get_running_loop()
            self._next = loop.call_later(LONGEST_WAIT_S, self.begin) if self._under_way else loop.call_soon(self.begin)

    def begin(self) -> None:
        self._next = None
        if self._under_way < BATCHES:
            batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            self._under_way += 1
            task = asyncio.create_task(self.work_on(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self.schedule()

    async def work_on(self, batch: Sequence[_Single]) -> None:
        outcomes: Sequence[tuple[asyncio.Future[ItemAnswer], ItemAnswer | Exception]]

        def work(index: LocalIndex) -> list[tuple[asyncio.Future[ItemAnswer], ItemAnswer | Exception]]:
            """Work on the batch.

            Return, for each request whose client still waits, its future and its answer or error.
            """
            waiting = [single for single in batch if not single[1].cancelled()]
            outcomes = partial(self._operation.outcomes, index, [item for item, *_ in waiting])
            answered = tracing.within([context for *_, context in waiting], outcomes)
            return [(answer, outcome) for (_, answer, _), outcome in zip(waiting, answered, strict=True)]

        try:
            outcomes = await self._engine.run(work)
        except Exception as error:
            outcomes = [(answer, error) for _, answer, _ in batch]
        finally:
            self._under_way -= 1
            if self._next is not None and not self._under_way:
                self._next.cancel()
                self._next = None
            self.schedule()
        for answer, outcome in outcomes:
            if answer.done():
                continue
            if isinstance(outcome, dict | Problem):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)
