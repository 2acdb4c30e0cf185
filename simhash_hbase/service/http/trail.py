"""What the log and the metrics need of one request."""

import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

# Whatever else a client sends as an id could forge lines of a log, or hold what must not be in one.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
ID_BYTES = 8


@dataclass(slots=True)
class Trail:
    """One request; each layer adds what it learns."""

    request_id: str
    scope: Mapping[str, Any]  # The request's; the application adds the route.
    client: str | None = None
    key: str | None = None  # Name of the key that was presented.
    is_allowed: Callable[[], bool] = lambda: True  # Tells whether the key still allows what was asked for.
    writes: bool = False  # Whether it may change the index.
    slot: ExitStack = field(default_factory=ExitStack)  # Returns what the request has taken, at the end of its answer.
    media: str = "none"  # ``json`` or ``ndjson``.
    status: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    bytes_in: int = 0
    bytes_out: int = 0
    waits: bool = False  # Whether it waits for memory for its body.
    end: str | None = None  # Of a stream: why there was no next line.
    started: float = field(default_factory=time.monotonic)

    @property
    def method(self) -> str:
        """The HTTP method."""
        return str(self.scope["method"])

    @property
    def route(self) -> str:
        """The route's pattern, never the address itself: that may hold ids."""
        return str(getattr(self.scope.get("route"), "path", "none"))

    @property
    def payer(self) -> str:
        """Whose share the request takes: its key's, or, without keys, its address's."""
        return self.key or self.client or ""

    def seconds(self) -> float:
        """Tell how long ago the request's header arrived."""
        return time.monotonic() - self.started

    def extra(self, **more: object) -> dict[str, dict[str, object]]:
        """Make the `extra` of a log line within this request."""
        return {"fields": {"request_id": self.request_id, "route": self.route, **more}}

    def fields(self) -> dict[str, object]:
        """Make the fields of the request's own log line."""
        line: dict[str, object] = {
            "request_id": self.request_id,
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": round(1000 * self.seconds(), 2),
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "client": self.client,
            "key": self.key,
            "documents": dict(self.outcomes) or None,
            "end": self.end,
        }
        return {name: value for name, value in line.items() if value is not None}


def request_id_of(sent: str | None) -> str:
    """Take the id that a client sent if it is harmless, or make one."""
    return sent if sent is not None and _REQUEST_ID.fullmatch(sent) else secrets.token_hex(ID_BYTES)
