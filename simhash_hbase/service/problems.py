"""Errors as HTTP answers (RFC 9457): status, a code for programs, a sentence for people."""

from collections.abc import Mapping
from functools import partial

import msgspec
from starlette.responses import Response

from simhash_hbase import errors
from simhash_hbase.pipeline.worker import TooMuchWork

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

BUSY = 503
# Clients get a general sentence; the one with addresses is in the log.
_STORE = "the store failed; the log has details under this request id"
_LATER = "the store does not answer; retry later: the write may still have been applied"
_KNOWN: tuple[tuple[type[errors.SimhashError], int, str, str | None], ...] = (
    (errors.EmptyDocument, 422, "empty_document", None),
    (errors.InvalidInput, 422, "invalid_document", None),
    (errors.InvalidArgument, 422, "invalid_argument", None),
    (errors.InvalidProfile, 422, "invalid_argument", None),
    (errors.DocumentMissing, 404, "document_missing", None),
    (errors.ClaimContended, 409, "claim_contended", None),
    (TooMuchWork, 422, "too_much_work", None),
    (errors.WorkerLost, BUSY, "worker_lost", None),
    (errors.Retryable, BUSY, "store_unavailable", _LATER),
    (errors.Unsupported, 501, "unsupported", None),
    (errors.StoreFull, 507, "store_full", "no space is left where the store keeps its data"),
    (errors.SimhashError, 500, "store_failed", _STORE),
)


class Problem(Exception):
    """An answer in place of a result."""

    def __init__(
        self, status: int, code: str, detail: str, *, retryable: bool = False, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.retryable = retryable
        self.headers = dict(headers or {})

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the keywords when a process sends it to another one."""
        make = partial(Problem, retryable=self.retryable, headers=self.headers)
        return make, (self.status, self.code, self.detail)

    def record(self) -> dict[str, object]:
        """Make the error of a line of a stream."""
        return {"code": self.code, "detail": self.detail, "retryable": self.retryable}

    def response(self, request_id: str | None = None) -> Response:
        """Make the answer."""
        body = {"status": self.status, **self.record(), "request_id": request_id}
        headers = dict(self.headers)
        if self.retryable:
            headers.setdefault("Retry-After", str(RETRY_AFTER_S))
        return Response(msgspec.json.encode(body), self.status, headers, PROBLEM_TYPE)


def busy(code: str, detail: str) -> Problem:
    """Make the answer 503: the same request may succeed later."""
    return Problem(BUSY, code, detail, retryable=True)


def internal() -> Problem:
    """Make the answer to an unforeseen error, which is in the log."""
    return Problem(500, "internal_error", "the service failed; the log has details under this request id")


def stopped() -> Problem:
    """Make the answer of a service that ends before the store answers."""
    return busy("stopping", "the service stopped before the store answered; the write may still have been applied")


def of_error(error: errors.SimhashError) -> Problem:
    """Translate an error of the library."""
    status, code, sentence = next((s, c, t) for kind, s, c, t in _KNOWN if isinstance(error, kind))
    return Problem(status, code, sentence or str(error), retryable=isinstance(error, errors.Retryable))
