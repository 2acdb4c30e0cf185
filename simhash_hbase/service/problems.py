"""Errors as HTTP answers (RFC 9457): status, a code for programs, a sentence for people."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from simhash_hbase import errors
from simhash_hbase.features.workers import TooMuchWork

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

BUSY = 503
_CODES = {  # The codes of each status; all other codes have 503.
    400: ("malformed_json", "malformed_request"),
    401: ("key_removed", "unauthorized"),
    403: ("forbidden",),
    404: ("document_missing", "not_found"),
    405: ("method_not_allowed",),
    408: ("request_timeout",),
    409: ("claim_contended",),
    413: ("body_too_large", "line_too_long"),
    415: ("unsupported_media_type",),
    422: ("empty_document", "invalid_argument", "invalid_document", "too_much_work"),
    500: ("internal_error", "store_failed"),
    501: ("unsupported",),
    507: ("store_full",),
}
_STATUSES = {code: status for status, codes in _CODES.items() for code in codes}
# Clients get a general sentence; the one with addresses is in the log.
_STORE = "the store failed; the log has details under this request id"
_LATER = "the store does not answer; retry later: the write may still have been applied"
_KNOWN: tuple[tuple[type[errors.SimhashError], str, str | None], ...] = (
    (errors.EmptyDocument, "empty_document", None),
    (errors.InvalidInput, "invalid_document", None),
    (errors.InvalidArgument, "invalid_argument", None),
    (errors.InvalidProfile, "invalid_argument", None),
    (errors.DocumentMissing, "document_missing", None),
    (errors.ClaimContended, "claim_contended", None),
    (TooMuchWork, "too_much_work", None),
    (errors.WorkerLost, "worker_lost", None),
    (errors.Retryable, "store_unavailable", _LATER),
    (errors.Unsupported, "unsupported", None),
    (errors.StoreFull, "store_full", "no space is left where the store keeps its data"),
    (errors.StoreReadonly, "store_readonly", "the store can be read and not written to"),
    (errors.SimhashError, "store_failed", _STORE),
)


class Problem(Exception):
    """An error that the service answers with in place of a result: raised, or put into a line of a stream."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        retryable: bool = False,
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = _STATUSES.get(code, BUSY) if status is None else status
        self.code = code
        self.detail = detail
        self.retryable = retryable
        self.headers = dict(headers or {})

    def __reduce__(self) -> tuple[object, ...]:
        """Return how pickle copies the problem with all its attributes, when a process sends it to another one."""
        return Problem, (self.code, self.detail), vars(self)

    def record(self) -> dict[str, object]:
        """Return the code, the sentence and whether to retry as a JSON object, for the line of a stream that failed."""
        return {"code": self.code, "detail": self.detail, "retryable": self.retryable}

    def response(self, request_id: str | None = None) -> Response:
        """Return the HTTP answer that describes this problem in JSON."""
        body = {"status": self.status, **self.record(), "request_id": request_id}
        headers = dict(self.headers)
        if self.retryable:
            headers.setdefault("Retry-After", str(RETRY_AFTER_S))
        return Response(msgspec.json.encode(body), self.status, headers, PROBLEM_TYPE)


def busy(code: str, detail: str) -> Problem:
    """Return a problem that clients may retry, with status 503 unless its code has another one."""
    return Problem(code, detail, retryable=True)


def internal() -> Problem:
    """Return the problem for an unforeseen error; the client learns only that the log has its details."""
    return Problem("internal_error", "the service failed; the log has details under this request id")


def of_error(error: errors.SimhashError) -> Problem:
    """Return the problem that stands for an error of the library: its status, code and sentence."""
    code, sentence = next((code, sentence) for kind, code, sentence in _KNOWN if isinstance(error, kind))
    return Problem(code, sentence or str(error), retryable=isinstance(error, errors.Retryable))
