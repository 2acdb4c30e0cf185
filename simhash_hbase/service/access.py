"""Who may do what."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from simhash_hbase.inputs.fields import listed
from simhash_hbase.service.core import Service
from simhash_hbase.service.http.keys import Keyring
from simhash_hbase.service.http.middleware import VOUCH
from simhash_hbase.service.http.problems import Problem, busy
from simhash_hbase.service.http.trail import Trail

MALFORMED = 400
UNAUTHORIZED = 401
FORBIDDEN = 403
UNPROCESSABLE = 422

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_bearer = HTTPBearer(
    auto_error=False, scheme_name="key", description="Made by `simhash-hbase key`, as `Authorization: Bearer KEY`."
)
_Given = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


def _needs(scope: str) -> Callable[[Request, HTTPAuthorizationCredentials | None], Awaitable[Service]]:
    """Make the dependency of routes that a key with a scope may use; it gives them the service."""

    async def allowed(request: Request, given: _Given) -> Service:
        service: Service = request.app.state.service
        request.state.trail.writes = scope == "write"
        if service.keys is None:
            _vouch(request, is_known=True)
        else:
            _check_key(request, service.keys, given, scope)
        _check_parameters(request)
        _take_place(request, service, scope)
        return service

    return allowed


def _check_key(request: Request, keys: Keyring, given: HTTPAuthorizationCredentials | None, scope: str) -> None:
    trail: Trail = request.state.trail
    key = keys.find(given.credentials) if given is not None else None
    _vouch(request, is_known=key is not None)
    if key is None:
        raise Problem(
            UNAUTHORIZED,
            "unauthorized",
            "a key is needed: Authorization: Bearer KEY" if given is None else "this key is not known",
            headers={"WWW-Authenticate": "Bearer"},
        )
    trail.key = key.name
    if scope not in key.scopes:
        raise Problem(FORBIDDEN, "forbidden", f"this key does not have the scope {scope}")
    trail.is_allowed = partial(keys.holds, key, scope)


def _check_parameters(request: Request) -> None:
    """Refuse query parameters that the route does not read, or that the framework would read as something else."""
    query = request.url.query
    if not query:
        return
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise Problem(MALFORMED, "malformed_request", "a parameter is not UTF-8 after percent-decoding") from error
    if _BROKEN_ESCAPE.search(query):
        raise Problem(MALFORMED, "malformed_request", "a % in a parameter is not followed by two hexadecimal digits")
    counts = Counter(name for name, _ in pairs)
    route = request.app.openapi()["paths"][request.scope["path"]].get(request.method.lower(), {})
    known = [parameter["name"] for parameter in route.get("parameters", ()) if parameter["in"] == "query"]
    unknown = sorted(counts.keys() - set(known))
    if unknown:
        names = f"the parameters are {', '.join(known)}" if known else "this route has no parameters"
        raise Problem(UNPROCESSABLE, "invalid_argument", f"unknown parameter {listed(unknown)}: {names}")
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise Problem(MALFORMED, "malformed_request", f"parameter {listed(repeated)} is given more than once")


def _vouch(request: Request, *, is_known: bool) -> None:
    if VOUCH in request.scope:
        request.scope[VOUCH](is_known)


def _take_place(request: Request, service: Service, scope: str) -> None:
    """Let a request in if there is room; a busy service still gives its metrics."""
    trail: Trail = request.state.trail
    if scope == "metrics":
        return
    if not service.places.take(trail.payer):
        service.metrics.turned_away.inc()
        raise busy("too_many_requests", "too many requests are under way")
    service.metrics.under_way.inc()
    trail.slot.callback(_give_back, service, trail.payer)


def _give_back(service: Service, client: str) -> None:
    service.places.give_back(client)
    service.metrics.under_way.dec()


Reading = Annotated[Service, Security(_needs("read"))]
Writing = Annotated[Service, Security(_needs("write"))]
Metering = Annotated[Service, Security(_needs("metrics"))]
