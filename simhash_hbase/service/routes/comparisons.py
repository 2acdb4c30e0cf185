"""Comparing two texts."""

import msgspec
from fastapi import APIRouter, Request, Response

from simhash_hbase.differences import word_differences
from simhash_hbase.errors import InvalidInput
from simhash_hbase.explain import Side, compare
from simhash_hbase.index import Index
from simhash_hbase.inputs.fields import checked_text
from simhash_hbase.results import plain
from simhash_hbase.service.access import Reading
from simhash_hbase.service.core import JSON
from simhash_hbase.service.problems import Problem
from simhash_hbase.service.schemas import LONGEST_COMPARED, body, found, problems

__all__ = ["router"]

router = APIRouter(tags=["queries"])

UNPROCESSABLE = 422


@router.post(
    "/v1/comparisons",
    summary="Compare two texts",
    openapi_extra=body("Pair"),
    responses={**found("Comparison"), **problems()},
)
async def compare_texts(request: Request, service: Reading) -> Response:
    """Tell how near two texts are as the index sees them, and which words differ; neither has to be in the index."""
    pair = await service.record(request)
    a, b = (_text(pair, name) for name in ("a", "b"))
    answer = await service.call(request, lambda index: _compared(index, a, b))
    return Response(msgspec.json.encode(answer), media_type=JSON)


def _compared(index: Index, a: str, b: str) -> object:
    sides = [Side.of_text(name, text, index.analysis) for name, text in (("a", a), ("b", b))]
    record = compare(sides[0], sides[1], index.profile)
    pieces = [piece._asdict() for piece in word_differences(a, b)]
    return plain({**record, "block_widths": index.profile.blocks.widths, "pieces": pieces})


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
