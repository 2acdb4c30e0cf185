"""Documents: add, get and remove them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from simhash_hbase.service.access import Reading, Writing
from simhash_hbase.service.operations import ADD, COPIES, GET, REMOVE
from simhash_hbase.service.schemas import body, found, problems

router = APIRouter(tags=["documents"])

DocumentId = Annotated[
    str, Query(alias="id", min_length=1, max_length=16_384, description="The document's id, percent-encoded.")
]
_DOCUMENTS = '{"id":"a","text":"…"}\n{"id":"b","simhash":"fd239d0b3ee32c91"}\n'
_IDS = '{"id":"a"}\n{"id":"b"}\n'
_END = '{"summary":{"complete":true,"last_line":2,"outcomes":{"%s":2}}}\n'


@router.post(
    "/v1/documents",
    summary="Add documents",
    openapi_extra=body("Document", _DOCUMENTS),
    responses={**found("Added", lines='{"id":"a","simhash":"bc239d0b3ee32c91"}\n…\n' + _END % "added"), **problems()},
)
async def add(request: Request, service: Writing) -> Response:
    """Write documents, duplicates or not; of a known id the last text stays. What is answered is durable."""
    return await service.respond(request, ADD)


@router.get("/v1/documents", summary="Get a document", responses={**found("Stored"), **problems(404, 422, body=False)})
async def get(request: Request, service: Reading, name: DocumentId) -> Response:
    """Tell what the index holds of a document; no text is kept, so none is told."""
    return await service.answer(request, GET, name)


@router.get(
    "/v1/documents/copies",
    summary="List the copies of an original",
    responses={**found("Copies"), **problems(404, 422, body=False)},
)
async def copies(request: Request, service: Reading, name: DocumentId) -> Response:
    """List what was decided a duplicate of an original; by the id of a copy, those of its original."""
    return await service.answer(request, COPIES, name)


@router.delete(
    "/v1/documents", summary="Remove a document", responses={**found("Removed"), **problems(422, body=False)}
)
async def remove(request: Request, service: Writing, name: DocumentId) -> Response:
    """Remove a document; ``removed`` is false when it was not there."""
    return await service.answer(request, REMOVE, name)


@router.post(
    "/v1/lookups",
    summary="Get many documents",
    openapi_extra=body(None, _IDS),
    responses={**found("Stored", lines="…\n" + _END % "found"), **problems()},
)
async def get_many(request: Request, service: Reading) -> Response:
    """Tell what the index holds of ids, one a line."""
    return await service.respond(request, GET, one=False)


@router.post(
    "/v1/removals",
    summary="Remove many documents",
    openapi_extra=body(None, _IDS),
    responses={**found("Removed", lines='{"id":"a","removed":true}\n…\n' + _END % "removed"), **problems()},
)
async def remove_many(request: Request, service: Writing) -> Response:
    """Remove documents by their ids, one a line."""
    return await service.respond(request, REMOVE, one=False)
