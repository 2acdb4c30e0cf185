"""The application of the HTTP service: its routes and middleware, and what is begun and ended with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from simhash_hbase.index.local import LocalIndex
from simhash_hbase.service import pages
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.keys import Keyring
from simhash_hbase.service.limits import Limits
from simhash_hbase.service.metrics import Metrics
from simhash_hbase.service.problems import Problem
from simhash_hbase.service.requests import Service, Surround
from simhash_hbase.service.routes import ROUTERS
from simhash_hbase.service.schemas import schemas

THREADS = 16
_CODES = {404: "not_found", 405: "method_not_allowed"}
# Without keys, a web page could otherwise reach the service through this machine's browser, under a name of its own.
_LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"]


def create_app(index: LocalIndex, *, keys: Keyring | None, limits: Limits | None = None, workers: int = 1) -> FastAPI:
    """Return the FastAPI application that serves an index; without `keys`, everybody on this machine may do everything.

    `workers` is the number of processes that fingerprint the documents of streams.
    """
    limits = limits or Limits()
    metrics = Metrics(index.store)
    index.on_search = metrics.searched
    engine = Engine(index, threads=THREADS, workers=workers)
    service = Service(engine=engine, limits=limits, metrics=metrics, keys=keys)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await engine.start()
            yield
        finally:
            engine.close(service.end_by)

    app = FastAPI(
        title="simhash-hbase",
        summary="A near-duplicate index for documents.",
        version=version("simhash-hbase"),
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        lifespan=lifespan,
        # The framework's own spans and records hold ids, and errors that quote texts; see `Surround` for ours. Versions
        # that make none ignore this.
        telemetry={"tracing": False, "logs": False},
    )
    app.state.service = service

    @cache
    def described() -> dict[str, Any]:
        """Return the OpenAPI description: that of FastAPI, with the schemas of bodies and answers added."""
        made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        made.setdefault("components", {})["schemas"] = schemas()
        return made

    app.openapi = described  # type: ignore[method-assign]
    for router in (*ROUTERS, pages.router):
        app.include_router(router)
    app.mount("/console", pages.ConsoleFiles())
    for kind in (Problem, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _refuse)
    if keys is None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=_LOOPBACK_NAMES)
    app.add_middleware(Surround, metrics=metrics, idle_s=limits.idle_s, is_draining=lambda: service.is_draining)
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    """Return the HTTP answer for a `Problem` that was raised, or for an error of FastAPI such as an unknown route."""
    match error:
        case Problem():
            problem = error
        case RequestValidationError():
            first = error.errors()[0]
            detail = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
            problem = Problem("invalid_argument", detail)
        case HTTPException():
            code, headers = _CODES.get(error.status_code, "http_error"), dict(error.headers or {})
            if "Allow" in headers:
                # The framework lists the methods of the first route with this path only.
                routers = (*ROUTERS, pages.router)
                routes = (each for router in routers for each in router.routes if isinstance(each, APIRoute))
                methods = {name for each in routes if each.path == request.scope["path"] for name in each.methods or ()}
                headers["Allow"] = ", ".join(sorted(methods)) or headers["Allow"]
            problem = Problem(code, str(error.detail), headers=headers, status=error.status_code)
        case _:
            raise error
    return problem.response(request.state.trail.request_id)
