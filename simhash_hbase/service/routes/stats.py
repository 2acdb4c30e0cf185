"""Figures of the index."""

import msgspec
from fastapi import APIRouter, Request, Response

from simhash_hbase.index.jsonforms import plain
from simhash_hbase.service.access import Reading
from simhash_hbase.service.core import JSON
from simhash_hbase.service.schemas import problems

router = APIRouter(tags=["index"])


@router.get(
    "/v1/stats",
    summary="Figures of the index",
    responses={
        200: {
            "description": "As `simhash-hbase stats` prints them.",
            "content": {JSON: {"schema": {"type": "object"}}},
        },
        **problems(body=False),
    },
)
async def stats(request: Request, service: Reading) -> Response:
    """Count documents, rows and bytes, by a sample where the index is large."""
    figures = await service.outcome(request, service.engine.stats())
    return Response(msgspec.json.encode(plain(figures)), media_type=JSON)


@router.get(
    "/v1/profile",
    summary="What the index was made with",
    responses={
        200: {"description": "As `simhash-hbase create` prints it.", "content": {JSON: {"schema": {"type": "object"}}}},
        **problems(body=False),
    },
)
async def profile(service: Reading) -> Response:
    """Tell the frozen options of the index: analyzer, scheme, rule, limits."""
    return Response(service.engine.index.profile.encode(), media_type=JSON)
