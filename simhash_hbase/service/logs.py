"""Logs as JSON lines, without document texts and keys."""

import logging
import traceback

import msgspec

from simhash_hbase.rows.clock import rfc3339

logger = logging.getLogger("simhash_hbase.service")

_encode = msgspec.json.Encoder(enc_hook=str).encode
_MS = 1000
_LEVELS = {"simhash_hbase.service": logging.INFO, "uvicorn": logging.ERROR, "asyncio": logging.ERROR}


class JsonFormatter(logging.Formatter):
    """Formats a log record as a line of JSON: time, level, event, and the fields given as ``extra={"fields": …}``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as JSON.

        Of an exception it has the type and lines of code, not the text, which may quote a document.
        """
        line: dict[str, object] = {
            "time": rfc3339(int(record.created * _MS)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = record.exc_info[0].__name__ if record.exc_info[0] else None
            frames = traceback.extract_tb(record.exc_info[2])
            line["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return _encode(line).decode()


def set_up_logs() -> None:
    """Send the log records of this package, and errors of uvicorn and asyncio, as JSON lines to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    # The access lines of the server hold whole addresses, with ids in them; ours hold the route.
    for name, level in _LEVELS.items():
        of = logging.getLogger(name)
        of.handlers = [handler]
        of.setLevel(level)
        of.propagate = False
