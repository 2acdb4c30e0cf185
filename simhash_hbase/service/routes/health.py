"""Whether the service lives, whether its store answers, and its metrics."""

from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from simhash_hbase.errors import SimhashError
from simhash_hbase.service.access import Metering
from simhash_hbase.service.core import Service
from simhash_hbase.service.http.logs import logger
from simhash_hbase.service.http.problems import busy
from simhash_hbase.service.schemas import problems

router = APIRouter(tags=["operation"])

PLAIN = "text/plain"
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Text.", "content": {PLAIN: {"schema": {"type": "string"}}}}
}


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the service alive?", responses={**_TEXT, 500: problems()[500]})
async def alive() -> Response:
    """Answer, whatever the store does."""
    return Response("alive\n", media_type=PLAIN)


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Does the store answer?", responses={**_TEXT, **problems(body=False)})
async def ready(request: Request) -> Response:
    """Read something small from the store; a service that drains is not ready."""
    service: Service = request.app.state.service
    if service.is_draining:
        raise busy("draining", "the service is about to stop: send new requests to another instance")
    if service.stopping.is_set():
        raise busy("stopping", "the service is stopping")
    try:
        await service.engine.probe()
    except SimhashError as error:
        logger.warning("not ready", extra=request.state.trail.extra(reason=error.sentence))
        raise busy("store_unavailable", "the store does not answer") from error
    return Response("ready\n", media_type=PLAIN)


@router.head("/metrics", include_in_schema=False)
@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    responses={
        200: {"description": "All of them.", "content": {PLAIN: {"schema": {"type": "string"}}}},
        **problems(body=False),
    },
)
async def metrics(service: Metering) -> Response:
    """Write all counters in Prometheus' text format; needs a key with the scope metrics."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
