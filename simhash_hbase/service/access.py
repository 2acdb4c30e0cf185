"""Who may do what."""

import ipaddress
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from simhash_hbase.service.core import Service
from simhash_hbase.service.problems import Problem

__all__ = ["Metering", "Reading", "Writing", "is_loopback"]

UNAUTHORIZED = 401
FORBIDDEN = 403

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="Made by `simhash-hbase key`, as `Authorization: Bearer KEY`.",
)
_Given = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


def is_loopback(host: str) -> bool:
    """Tell whether nobody outside of this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _needs(scope: str) -> Callable[[Request, HTTPAuthorizationCredentials | None], Awaitable[Service]]:
    """Make the dependency of routes that a key with a scope may use; it gives them the service."""

    async def allowed(request: Request, given: _Given) -> Service:
        service: Service = request.app.state.service
        if service.keys is None:
            return service
        key = service.keys.find(given.credentials) if given is not None else None
        if key is None:
            raise Problem(
                UNAUTHORIZED,
                "unauthorized",
                "a key is needed: Authorization: Bearer KEY" if given is None else "this key is not known",
                headers={"WWW-Authenticate": "Bearer"},
            )
        request.state.trail.key = key.name
        if scope not in key.scopes:
            raise Problem(FORBIDDEN, "forbidden", f"this key has not the scope {scope}")
        return service

    return allowed


Reading = Annotated[Service, Security(_needs("read"))]
"""For routes that read."""
Writing = Annotated[Service, Security(_needs("write"))]
"""For routes that write."""
Metering = Annotated[Service, Security(_needs("metrics"))]
"""For the metrics."""
