"""How much a client may ask for, and how long it may take."""

from dataclasses import dataclass, fields

from simhash_hbase.errors import InvalidArgument

LARGE_BYTES = 64 << 10
"""A body or line that is longer waits for its share of memory, and is worked on in a process of its own."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The service's limits; checked on construction."""

    requests: int = 64
    """Requests under way at a time; one more is told to come back."""
    body_bytes: int = 4 << 20
    """Bytes of a JSON body, and of a line of a stream."""
    bytes_in_flight: int = 16 << 20
    """Bytes of JSON bodies and of lines that are longer than `LARGE_BYTES`, held at a time; the next one waits."""
    work_s: float = 10.0
    """Seconds for the analysis of a large text, or for a comparison; one that takes longer is ended."""
    batch: int = 2_000
    """Documents of a stream that are worked on at a time: one commit each."""
    request_s: float = 30.0
    """Seconds until a request that is no stream must be answered, its body's arrival included."""
    idle_s: float = 30.0
    """Seconds for which a stream may send nothing, a started line may stay without its end, or an answer unread."""
    stream_s: float = 3600.0
    """Seconds after which a stream is ended behind a document, to be gone on with in another request."""
    header_s: float = 10.0
    """Seconds until the header of a request must have arrived."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InvalidArgument(f"{field.name} is {getattr(self, field.name)}: wanted more than 0")


def is_large(raw: bytes | None) -> bool:
    """Tell whether a body or line is so long that decoding it here would keep others waiting."""
    return raw is not None and len(raw) > LARGE_BYTES
