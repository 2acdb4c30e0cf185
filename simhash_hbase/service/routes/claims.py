"""Claims: the original-or-duplicate decision."""

from fastapi import APIRouter, Request, Response

from simhash_hbase.service.access import Writing
from simhash_hbase.service.operations import CLAIM
from simhash_hbase.service.schemas import body, found, problems

router = APIRouter(tags=["claims"])

_DOCUMENTS = '{"id":"a","text":"…"}\n{"id":"b","simhash":"fd239d0b3ee32c91"}\n'
_DECISIONS = (
    '{"id":"a","status":"original","of":null,"distance":null,"similarity":null,"short":false}\n'
    '{"id":"b","status":"duplicate","of":"a","distance":2,"similarity":null,"short":false}\n'
    '{"summary":{"complete":true,"last_line":2,"outcomes":{"original":1,"duplicate":1}}}\n'
)


@router.post(
    "/v1/claims",
    summary="Claim documents",
    openapi_extra=body("Document", _DOCUMENTS),
    responses={**found("Decision", lines=_DECISIONS), **problems(409)},
)
async def claim(request: Request, service: Writing) -> Response:
    """Decide of each document whether it is an original or a duplicate of one, and keep the decision.

    Of near copies claimed at the same time, here or by anybody else who uses the index, exactly one becomes the
    original. The same id with the same text gets the same answer, however often it is asked: after an error that is
    retryable, ask again.
    """
    return await service.respond(request, CLAIM)
