"""Comparing two texts."""

from fastapi import APIRouter, Request, Response

from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs.fields import checked_text
from simhash_hbase.service.access import Reading
from simhash_hbase.service.comparison import side_by_side
from simhash_hbase.service.core import JSON
from simhash_hbase.service.http.problems import Problem
from simhash_hbase.service.items import check_fields, decode
from simhash_hbase.service.limits import is_large
from simhash_hbase.service.schemas import LONGEST_COMPARED, body, found, problems

router = APIRouter(tags=["queries"])

UNPROCESSABLE = 422
# Characters of both texts that are compared without a process of its own.
SHORT = 4_000


@router.post(
    "/v1/comparisons",
    summary="Compare two texts",
    openapi_extra=body("Pair"),
    responses={**found("Comparison"), **problems()},
)
async def compare_texts(request: Request, service: Reading) -> Response:
    """Tell how near two texts are as the index sees them, and which words differ; neither has to be in the index."""
    body = await service.body(request)
    if is_large(body):
        return Response(await service.apart(request, _compare, body), media_type=JSON)
    a, b = _texts(body)
    if len(a) + len(b) > SHORT:
        answer = await service.apart(request, side_by_side, a, b)
    else:
        answer = await service.outcome(request, service.engine.run(lambda index: side_by_side(index.analysis, a, b)))
    return Response(answer, media_type=JSON)


def _compare(analysis: Analysis, body: bytes) -> bytes:
    return side_by_side(analysis, *_texts(body))


def _texts(body: bytes) -> tuple[str, str]:
    pair = decode(body)
    check_fields(pair, ("a", "b"))
    return _text(pair, "a"), _text(pair, "b")


def _text(pair: dict[str, object], name: str) -> str:
    if name not in pair:
        raise Problem(UNPROCESSABLE, "invalid_document", f"the field {name!r} is missing")
    try:
        text = checked_text(pair[name], f"the field {name!r}")
    except InvalidInput as error:
        raise Problem(UNPROCESSABLE, "invalid_document", str(error)) from error
    if len(text) > LONGEST_COMPARED:
        too_long = f"the field {name!r} has {len(text)} characters: {LONGEST_COMPARED} are compared at most"
        raise Problem(UNPROCESSABLE, "invalid_document", too_long)
    return text
