"""The routes: claims, documents, queries, comparisons, figures and health; `ROUTERS` has all of them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from simhash_hbase.errors import InvalidArgument, InvalidInput, SimhashError, StoreFull, StoreReadonly
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.arguments import MOST_MATCHES, PASSAGE_DOCUMENTS, PassageSearch, Search
from simhash_hbase.index.jsonforms import plain
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.operations import BATCHES, FIND, ITEMS, PASSAGES, QUERY, REMOVE_BATCH
from simhash_hbase.inputs.records import checked_text
from simhash_hbase.profile.defaults import ITEM_SHARE, MatchName
from simhash_hbase.report.differences import word_differences
from simhash_hbase.report.explain import ComparedDocument, compare
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.names import MAX_NAME_BYTES, checked_batch
from simhash_hbase.service.access import InCollection, KeyedService, MetricsService, ReadingService, WritingService
from simhash_hbase.service.items import check_fields, decode_body, invalid
from simhash_hbase.service.limits import LARGE_BYTES
from simhash_hbase.service.logs import logger
from simhash_hbase.service.operations import (
    ADD,
    CLAIM,
    COPIES,
    GET,
    REMOVE,
    BatchOperation,
    find as find_operation,
    in_batch,
    items as items_operation,
    passages as passages_operation,
    query,
)
from simhash_hbase.service.problems import BUSY, Problem, busy, of_error
from simhash_hbase.service.requests import Service, collection_of_key
from simhash_hbase.service.schemas import JSON, LONGEST_COMPARED, body, found, problems
from simhash_hbase.service.streams import respond

__all__ = ["ROUTERS"]

claims, documents, queries, batches = (
    APIRouter(tags=[tag], dependencies=[InCollection]) for tag in ("claims", "documents", "queries", "documents")
)
comparisons, figures, operation = (APIRouter(tags=[tag]) for tag in ("queries", "index", "operation"))
ROUTERS = (claims, documents, batches, queries, comparisons, figures, operation)

T = TypeVar("T")

# Characters of both texts that are compared without a process of its own.
SHORT = 4_000
PLAIN = "text/plain"

_DOCUMENTS = '{"id":"a","text":"…"}\n{"id":"b","simhash":"fd239d0b3ee32c91"}\n'
_IDS = '{"id":"a"}\n{"id":"b"}\n'
_END = '{"summary":{"complete":true,"last_line":2,"outcomes":{"%s":2}}}\n'
_DECISIONS = (
    '{"id":"a","status":"original","of":null,"distance":null,"similarity":null,"containment":null,"short":false}\n'
    '{"id":"b","status":"duplicate","of":"a","distance":2,"similarity":null,"containment":null,"short":false}\n'
    '{"summary":{"complete":true,"last_line":2,"outcomes":{"original":1,"duplicate":1}}}\n'
)
_QUERIES = '{"text":"…"}\n{"id":"a"}\n'
_ANSWERS = (
    '{"query":null,"matches":[{"id":"a","distance":1,"similarity":0.8711,"containment":0.9311,"exact":false,'
    '"added":"2026-11-21T09:30:00.000Z"}],"truncated":false,"complete":false,"short":false}\n…\n'
    '{"summary":{"complete":true,"last_line":2,"outcomes":{"matched":2}}}\n'
)

_CLUES = '{"text":"…"}\n{"id":"a","text":"…"}\n'
_FOUND = (
    '{"query":null,"matches":[{"id":"a","share":1.0,"spans":[{"start":3,"stop":41}],'
    '"added":"2026-11-21T09:30:00.000Z"}],"truncated":false,"complete":true}\n…\n'
    '{"summary":{"complete":true,"last_line":2,"outcomes":{"matched":2}}}\n'
)
_PASSAGES = (
    '{"id":null,"passages":[{"start":3,"stop":41,"documents":2,"at_least":false,"first":"a","most":"b"}],'
    '"share":0.1253,"truncated":false}\n…\n{"summary":{"complete":true,"last_line":2,"outcomes":{"matched":2}}}\n'
)
_ITEMS = (
    '{"id":null,"items":[{"id":"a","share":1.0,"spans":[{"start":3,"stop":41}]}],"truncated":false}\n…\n'
    '{"summary":{"complete":true,"last_line":2,"outcomes":{"matched":2}}}\n'
)

DocumentId = Annotated[
    str, Query(alias="id", min_length=1, max_length=16_384, description="The document's id, percent-encoded.")
]

BatchName = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=MAX_NAME_BYTES,
        description="Name of the batch in which the documents come, such as a crawl. A document that is sent again with"
        " the same text stays in its earlier batch.",
    ),
]
BATCH_PAGES = 20
"""Pages of cells that a request about batches reads: 200,000 cells, so that it ends in time."""
After = Annotated[
    str | None,
    Query(
        max_length=200,
        pattern="^([0-9a-f]{2})+$",
        description="What the answer before has as after; without it, the first part.",
    ),
]


@claims.post(
    CLAIM.operation.path,
    summary="Claim documents",
    openapi_extra=body("Document", _DOCUMENTS),
    responses={**found("Decision", lines=_DECISIONS), **problems(409)},
)
async def claim(request: Request, service: WritingService, batch: BatchName = None) -> Response:
    """Decide of each document whether it is an original or a duplicate of one, and keep the decision.

    Of near copies claimed at the same time, here or by anybody else who uses the index, exactly one becomes the
    original. The same id with the same text gets the same answer, however often it is asked: after an error that is
    retryable, ask again.
    """
    return await respond(service, request, _in_batch(CLAIM, batch))


def _in_batch(operation: BatchOperation, name: str | None) -> BatchOperation:
    """Return the operation that stores documents under a batch's name; raise `Problem` for a name that cannot be one.

    This comes before the body is read.
    """
    try:
        return in_batch(operation, checked_batch(name))
    except InvalidArgument as error:
        raise of_error(error) from error


@documents.post(
    ADD.operation.path,
    summary="Add documents",
    openapi_extra=body("Document", _DOCUMENTS),
    responses={**found("Added", lines='{"id":"a","simhash":"bc239d0b3ee32c91"}\n…\n' + _END % "added"), **problems()},
)
async def add(request: Request, service: WritingService, batch: BatchName = None) -> Response:
    """Write documents, duplicates or not; of a known id the last text stays. Answered documents are durable."""
    return await respond(service, request, _in_batch(ADD, batch))


@documents.get(
    "/v1/documents", summary="Get a document", responses={**found("Stored"), **problems(404, 422, body=False)}
)
async def get(request: Request, service: ReadingService, name: DocumentId) -> Response:
    """Return the record of a document; no text is kept, so none is returned."""
    return await service.answer(request, GET, name)


@documents.get(
    COPIES.operation.path,
    summary="List the copies of an original",
    responses={**found("Copies"), **problems(404, 422, body=False)},
)
async def copies(request: Request, service: ReadingService, name: DocumentId) -> Response:
    """List the duplicates of an original; by the id of a copy, those of its original."""
    return await service.answer(request, COPIES, name)


@documents.delete(
    "/v1/documents", summary="Remove a document", responses={**found("Removed"), **problems(422, body=False)}
)
async def remove(request: Request, service: WritingService, name: DocumentId) -> Response:
    """Remove a document; ``removed`` is false when it was not there."""
    return await service.answer(request, REMOVE, name)


@documents.post(
    GET.operation.path,
    summary="Get many documents",
    openapi_extra=body(None, _IDS),
    responses={**found("Stored", lines="…\n" + _END % "found"), **problems()},
)
async def get_many(request: Request, service: ReadingService) -> Response:
    """Return the records of documents by their ids, one a line."""
    return await respond(service, request, GET, one=False)


@documents.post(
    REMOVE.operation.path,
    summary="Remove many documents",
    openapi_extra=body(None, _IDS),
    responses={**found("Removed", lines='{"id":"a","removed":true}\n…\n' + _END % "removed"), **problems()},
)
async def remove_many(request: Request, service: WritingService) -> Response:
    """Remove documents by their ids, one a line."""
    return await respond(service, request, REMOVE, one=False)


@batches.get(BATCHES.path, summary="Count batches", responses={**found("BatchCounts"), **problems(422, body=False)})
async def count_batches(request: Request, service: ReadingService, after: After = None) -> Response:
    """Count the documents of each batch, such as a crawl, in a part of the index.

    Ask again with the answer's ``after`` until that is null, and add the counts up.
    """
    counts = await _of_part(request, service, lambda index: index.batches_after(after, pages=BATCH_PAGES))
    return Response(msgspec.json.encode(BATCHES.form.write(counts)), media_type=JSON)


@batches.post(
    REMOVE_BATCH.path, summary="Remove a batch", responses={**found("BatchRemoval"), **problems(422, body=False)}
)
async def remove_batch(
    request: Request,
    service: WritingService,
    batch: Annotated[str, Query(min_length=1, max_length=MAX_NAME_BYTES, description="The name of the batch.")],
    after: After = None,
) -> Response:
    """Remove the documents of a batch from a part of the index; a request whose answer is lost may be repeated.

    Ask again with the answer's ``after`` until that is null. All of the batch goes, however large it is.
    """
    part = await _of_part(request, service, lambda index: index.remove_batch_after(batch, after, pages=BATCH_PAGES))
    outcomes = request.state.trail.outcomes
    outcomes["removed"] += len(part.removed)
    service.metrics.count(REMOVE_BATCH.name, outcomes)
    return Response(msgspec.json.encode(REMOVE_BATCH.form.write(part)), media_type=JSON)


async def _of_part(request: Request, service: Service, act: Callable[[LocalIndex], T]) -> T:
    """Return ``act(index)`` from a thread, where the index is that of the collection which the request names."""
    trail = request.state.trail
    name = collection_of_key(trail)
    work = service.engine.run_shared(trail.payer, lambda index: act(index.in_collection(name)))
    return await service.outcome(request, work)


async def _selection(
    limit: Annotated[int, Query(ge=1, le=MOST_MATCHES, description="Most matches in an answer.")] = 100,
    since: Annotated[
        str | None,
        Query(
            max_length=40,
            description="Only documents added or last seen since: an ISO 8601 date or time, or an age: 7d, 12h, 30m.",
        ),
    ] = None,
) -> Search:
    """Return the search options in the query parameters ``limit`` and ``since``, which say what an answer lists."""
    try:
        return Search(limit=limit, since=since).begun(now_ms())
    except InvalidArgument as error:
        raise of_error(error) from error


@queries.post(
    QUERY.path,
    summary="Find near-duplicates",
    openapi_extra=body("Query", _QUERIES),
    responses={**found("Answer", lines=_ANSWERS), **problems(404)},
)
async def find(
    request: Request,
    service: ReadingService,
    selection: Annotated[Search, Depends(_selection)],
    match: Annotated[MatchName | None, Query(description="Default: the index's rule.")] = None,
    distance: Annotated[
        int | None,
        Query(ge=0, le=64, description="Most bits that differ; above the index's distance, answers are not complete."),
    ] = None,
    similarity: Annotated[float | None, Query(ge=0, le=1, description="Least similarity for rule verified.")] = None,
) -> Response:
    """Find the near-duplicates of documents, or of stored ones by their ids, nearest first."""
    try:
        rule = service.engine.index.rule(match=match, distance=distance, similarity=similarity)
    except InvalidArgument as error:
        raise of_error(error) from error
    return await respond(service, request, query(replace(selection, rule=rule)))


@queries.post(
    FIND.path,
    summary="Find a clue",
    openapi_extra=body("Clue", _CLUES),
    responses={**found("ClueAnswer", lines=_FOUND), **problems()},
)
async def find_clue(
    request: Request,
    service: ReadingService,
    limit: Annotated[int, Query(ge=1, le=MOST_MATCHES, description="Most matches in an answer.")] = 100,
) -> Response:
    """Find the documents that contain a clue, such as a sentence, or a part of it; the largest share comes first.

    The index must have been made to keep passages.
    """
    return await respond(service, request, find_operation(limit))


@queries.post(
    PASSAGES.path,
    summary="Find repeated passages",
    openapi_extra=body("Clue", _CLUES),
    responses={**found("PassagesAnswer", lines=_PASSAGES), **problems()},
)
async def find_passages(
    request: Request,
    service: ReadingService,
    at_least: Annotated[
        int, Query(ge=1, le=PASSAGE_DOCUMENTS, description="Least number of other documents that hold a passage.")
    ] = 1,
    same: Annotated[
        str | None,
        Query(
            min_length=1, max_length=200, description="Count only documents with the same value in this metadata field."
        ),
    ] = None,
) -> Response:
    """Find the parts of a text that other documents contain, too.

    The index must have been made to keep passages. A document does not count itself by id.
    """
    return await respond(service, request, passages_operation(PassageSearch(at_least, same)))


@queries.post(
    ITEMS.path,
    summary="Find items",
    openapi_extra=body("Clue", _CLUES),
    responses={**found("ItemsAnswer", lines=_ITEMS), **problems()},
)
async def find_items(
    request: Request,
    service: ReadingService,
    at_share: Annotated[
        float, Query(gt=0, le=1, description="Least share of an item's passages that the text has.")
    ] = ITEM_SHARE,
) -> Response:
    """Find the stored documents that a text contains, such as items of an evaluation set in a collection of their own.

    The index must have been made to keep passages. The id of the text does not matter.
    """
    return await respond(service, request, items_operation(at_share))


@comparisons.post(
    "/v1/comparisons",
    summary="Compare two texts",
    openapi_extra=body("Pair"),
    responses={**found("Comparison"), **problems()},
)
async def compare_texts(request: Request, service: ReadingService) -> Response:
    """Tell how near two texts are as the index sees them, and which words differ; neither has to be in the index."""
    content = await service.body(request)
    if len(content) > LARGE_BYTES or sum(map(len, _texts(content))) > SHORT:
        answer = await service.apart(request, _compare, content)
    else:
        answer = await service.outcome(request, service.engine.run(lambda index: _compare(index.analysis, content)))
    return Response(answer, media_type=JSON)


def _compare(analysis: Analysis, content: bytes) -> bytes:
    """Return the JSON answer that compares the two texts in a request's body, and tells which words differ."""
    a, b = _texts(content)
    sides = [ComparedDocument.of_text(name, text, analysis) for name, text in (("a", a), ("b", b))]
    record = compare(sides[0], sides[1], analysis.profile)
    pieces = [piece._asdict() for piece in word_differences(a, b)]
    return msgspec.json.encode(plain({**record, "block_widths": analysis.profile.blocks.widths, "pieces": pieces}))


def _texts(content: bytes) -> list[str]:
    pair = decode_body(content)
    check_fields(pair, ("a", "b"))
    texts = []
    for name in ("a", "b"):
        if name not in pair:
            raise invalid(f"the field {name!r} is missing")
        try:
            text = checked_text(pair[name], f"the field {name!r}")
        except InvalidInput as error:
            raise invalid(str(error)) from error
        if len(text) > LONGEST_COMPARED:
            raise invalid(f"the field {name!r} has {len(text)} characters: {LONGEST_COMPARED} are compared at most")
        texts.append(text)
    return texts


def _plain(description: str, media: str = PLAIN, kind: str = "string") -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of an answer without a schema: a text, or an object that a command prints."""
    return {200: {"description": description, "content": {media: {"schema": {"type": kind}}}}}


@figures.get(
    "/v1/stats",
    summary="Figures of the index",
    responses={**_plain("As `simhash-hbase stats` prints them.", JSON, "object"), **problems(body=False)},
)
async def stats(request: Request, service: ReadingService) -> Response:
    """Count documents, rows and bytes of the whole index; a large one is counted by a sample."""
    if request.state.trail.collections is not None:
        raise Problem("forbidden", "this key is bound to collections, and figures are of the whole index")
    counts = await service.outcome(request, service.engine.stats())
    return Response(msgspec.json.encode(plain(counts)), media_type=JSON)


@figures.get(
    "/v1/profile",
    summary="The options that the index was made with",
    responses={**_plain("As `simhash-hbase create` prints it.", JSON, "object"), **problems(body=False)},
)
async def profile(service: KeyedService) -> Response:
    """Send the frozen options of the index: analyzer, scheme, rule, limits.

    A key that may read or write may ask for them.
    """
    return Response(service.engine.index.profile.encode(), media_type=JSON)


@operation.head("/healthz", include_in_schema=False)
@operation.get("/healthz", summary="Is the service alive?", responses={**_plain("Text."), 500: problems()[500]})
async def alive() -> Response:
    """Answer that the service runs, whatever the store does."""
    return Response("alive\n", media_type=PLAIN)


@operation.head("/readyz", include_in_schema=False)
@operation.get("/readyz", summary="Can the store be used?", responses={**_plain("Text."), **problems(body=False)})
async def ready(request: Request) -> Response:
    """Check that the store answers, by a small read; a service that is about to stop is not ready.

    Neither is one whose folder cannot be written to, or has no room, unless no key may write.
    """
    service: Service = request.app.state.service
    if service.is_draining:
        raise busy("draining", "the service is about to stop: send new requests to another instance")
    if service.stopping.is_set():
        raise busy("stopping", "the service is stopping")
    try:
        await service.engine.probe()
        if service.keys is None or service.keys.grants("write"):
            await service.engine.probe_writes()
    except (StoreFull, StoreReadonly) as error:
        logger.warning("not ready", extra=request.state.trail.extra(reason=error.sentence))
        problem = of_error(error)
        raise Problem(problem.code, f"not ready for writes: {problem.detail}", status=BUSY) from error
    except SimhashError as error:
        logger.warning("not ready", extra=request.state.trail.extra(reason=error.sentence))
        raise busy("store_unavailable", "the store does not answer") from error
    return Response("ready\n", media_type=PLAIN)


@operation.head("/metrics", include_in_schema=False)
@operation.get(
    "/metrics", summary="Metrics for Prometheus", responses={**_plain("All of them."), **problems(body=False)}
)
async def metrics(service: MetricsService) -> Response:
    """Write all metrics in Prometheus' text format; needs a key with the scope metrics."""
    # If the store does not answer, the other metrics are written all the same.
    with suppress(SimhashError):
        service.metrics.observe_backup(await service.engine.last_backup())
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
