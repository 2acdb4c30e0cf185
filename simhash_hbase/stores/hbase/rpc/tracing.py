"""The trace that calls belong to, for programs that trace with OpenTelemetry: HBase 2.5 and later goes on with it."""

from simhash_hbase.stores.hbase.protobuf import bytes_field

try:
    from opentelemetry import propagate
except ImportError:
    propagate = None


def trace_info() -> bytes:
    """Return the field of a ``RequestHeader`` that names the active span; nothing without one or without the API."""
    if propagate is None:
        return b""
    headers: dict[str, str] = {}
    propagate.inject(headers)
    pairs = (bytes_field(1, name.encode()) + bytes_field(2, value.encode()) for name, value in headers.items())
    return bytes_field(2, b"".join(bytes_field(3, pair) for pair in pairs)) if headers else b""
