"""Access control: which requests a client may make, as its API key says."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs.records import listed
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.names import MAX_NAME_BYTES
from simhash_hbase.service.problems import Problem, busy, of_error
from simhash_hbase.service.requests import Service, Trail

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_WORD = re.compile(r"[A-Za-z_-]{1,30}")
_bearer = HTTPBearer(
    auto_error=False, scheme_name="key", description="Made by `simhash-hbase key`, as `Authorization: Bearer KEY`."
)


def _needs(*scopes: str) -> Callable[[Request, HTTPAuthorizationCredentials | None], Awaitable[Service]]:
    """Return a FastAPI dependency that checks a request and gives its route the `Service`.

    Where the service has keys, the request's key must have one of `scopes`. The query parameters are checked, too.
    Except for metrics, the request takes one of the places for requests under way.
    """

    async def allowed(
        request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
    ) -> Service:
        service: Service = request.app.state.service
        trail: Trail = request.state.trail
        trail.writes = scopes == ("write",)
        if service.keys is not None:
            key = service.keys.find(given.credentials) if given is not None else None
            if key is None:
                raise Problem(
                    "unauthorized",
                    "a key is needed: Authorization: Bearer KEY" if given is None else "this key is not known",
                    headers={"WWW-Authenticate": "Bearer"},
                )
            trail.key = key.name
            scope = next((each for each in scopes if each in key.scopes), None)
            if scope is None:
                raise Problem("forbidden", f"this key does not have the scope {' or '.join(scopes)}")
            trail.collections = key.collections
            trail.is_allowed = partial(service.keys.holds, key, scope)
        _check_parameters(request)
        name = request.query_params.get("collection")
        try:
            trail.collection = Collection(name).name
        except InvalidArgument as error:
            raise of_error(error) from error
        if trail.collections is not None and name is not None and name not in trail.collections:
            raise Problem("forbidden", "this key is bound to other collections")
        if "metrics" not in scopes:  # A busy service still gives its metrics.
            if not service.places.take(trail.payer):
                service.metrics.turned_away.inc()
                raise busy("too_many_requests", "too many requests are under way")
            service.metrics.under_way.inc()
            trail.slot.callback(service.places.give_back, trail.payer)
            trail.slot.callback(service.metrics.under_way.dec)
        return service

    return allowed


async def _named(
    collection: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=MAX_NAME_BYTES,
            description="Name of the collection; without it, the documents that are in no collection.",
        ),
    ] = None,
) -> None:
    """Declare the query parameter ``collection`` for the description of routes to documents, and do nothing.

    `_needs` reads the parameter itself, after it has checked the key.
    """


def _check_parameters(request: Request) -> None:
    """Raise `Problem` for query parameters that are unknown to the route, repeated, or not percent-encoded UTF-8."""
    query = request.url.query
    if not query:
        return
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise Problem("malformed_request", "a parameter is not UTF-8 after percent-decoding") from error
    if _BROKEN_ESCAPE.search(query):
        raise Problem("malformed_request", "a % in a parameter is not followed by two hexadecimal digits")
    counts = Counter(name for name, _ in pairs)
    route = request.app.openapi()["paths"][request.scope["path"]].get(request.method.lower(), {})
    known = [parameter["name"] for parameter in route.get("parameters", ()) if parameter["in"] == "query"]
    unknown = sorted(counts.keys() - set(known))
    if unknown:
        # A key in place of a parameter is not repeated, since answers end up in logs of clients.
        words = [name for name in unknown if _WORD.fullmatch(name)]
        named = f"unknown parameter {listed(words)}" if words else "unknown parameter"
        names = f"the parameters are {', '.join(known)}" if known else "this route has no parameters"
        raise Problem("invalid_argument", f"{named}: {names}")
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise Problem("malformed_request", f"parameter {listed(repeated)} is given more than once")


KeyedService = Annotated[Service, Security(_needs("read", "write"))]
ReadingService = Annotated[Service, Security(_needs("read"))]
WritingService = Annotated[Service, Security(_needs("write"))]
InCollection = Depends(_named)
MetricsService = Annotated[Service, Security(_needs("metrics"))]
