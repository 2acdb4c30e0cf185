"""Queries: the near-duplicates of documents."""

from datetime import datetime
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query, Request, Response

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.since import parse_since
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.service.access import Reading
from simhash_hbase.service.http.problems import of_error
from simhash_hbase.service.operations import query
from simhash_hbase.service.schemas import body, found, problems

router = APIRouter(tags=["queries"])

MOST_MATCHES = 1_000

Match = Annotated[Literal["distance", "verified"] | None, Query(description="Default: the index's rule.")]
Distance = Annotated[int | None, Query(ge=0, le=64, description="Above the index's, answers are not complete.")]
Similarity = Annotated[float | None, Query(ge=0, le=1)]
Limit = Annotated[int, Query(ge=1, le=MOST_MATCHES, description="Matches an answer at most.")]
Since = Annotated[
    str | None,
    Query(
        max_length=40, description="Only what was added or last seen since: an ISO 8601 date or time, or 7d, 12h, 30m."
    ),
]


class _Part(NamedTuple):
    """Which of the matches are wanted."""

    limit: int
    since: datetime | None


async def _part(limit: Limit = 100, since: Since = None) -> _Part:
    try:
        return _Part(limit, None if since is None else parse_since(since, now_ms()))
    except InvalidArgument as error:
        raise of_error(error) from error


_QUERIES = '{"text":"…"}\n{"id":"a"}\n'
_ANSWERS = (
    '{"query":null,"matches":[{"id":"a","distance":1,"similarity":0.8711,"exact":false,'
    '"added":"2026-11-21T09:30:00.000Z"}],"truncated":false,"complete":false,"short":false}\n…\n'
    '{"summary":{"complete":true,"last_line":2,"outcomes":{"matched":2}}}\n'
)


@router.post(
    "/v1/queries",
    summary="Find near-duplicates",
    openapi_extra=body("Query", _QUERIES),
    responses={**found("Answer", lines=_ANSWERS), **problems(404)},
)
async def find(
    request: Request,
    service: Reading,
    part: Annotated[_Part, Depends(_part)],
    match: Match = None,
    distance: Distance = None,
    similarity: Similarity = None,
) -> Response:
    """Find the near-duplicates of documents, or of stored ones by their ids, nearest first."""
    try:
        rule = service.engine.index.rule(match=match, distance=distance, similarity=similarity)
    except InvalidArgument as error:
        raise of_error(error) from error
    return await service.respond(request, query(rule, part.limit, part.since))
