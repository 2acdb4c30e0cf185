"""How much a client may ask for, and how long it may take."""

from dataclasses import dataclass, fields

from simhash_hbase.errors import InvalidArgument

LARGE_BYTES = 64 << 10  # A longer body or line waits for its share of memory, and is processed in a process of its own.


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The service's limits; checked on construction."""

    requests: int = 64  # Requests under way at a time; one more gets 503.
    body_bytes: int = 4 << 20  # Bytes of a JSON body, and of a line of a stream.
    bytes_in_flight: int = 16 << 20
    """Bytes of JSON bodies and of lines that are longer than `LARGE_BYTES`, held at a time; the next one waits."""
    work_s: float = 10.0  # Seconds of work for a large text or a comparison, which is then ended.
    batch: int = 2_000  # Documents of a stream in one commit.
    request_s: float = 30.0  # Seconds for a request that is not a stream, from its header to its answer.
    idle_s: float = 30.0  # Seconds that a stream may send no line end, or leave an answer unread.
    stream_s: float = 3600.0  # Seconds after which a stream ends; the client continues in another request.
    header_s: float = 10.0  # Seconds until the header of a request must have arrived.

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InvalidArgument(f"{field.name} is {getattr(self, field.name)}: wanted more than 0")


def is_large(raw: bytes | None) -> bool:
    """Tell whether decoding a body or line here would keep others waiting."""
    return raw is not None and len(raw) > LARGE_BYTES
