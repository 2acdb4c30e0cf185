"""The time of day: milliseconds since 1970, as every store stamps its cells."""

import time
from datetime import UTC, datetime
from functools import lru_cache

MS_A_DAY = 86_400_000


def now_ms() -> int:
    """Read this machine's clock."""
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=4_096)  # Documents of one batch have one time.
def rfc3339(ms: int) -> str:
    """Write a time as RFC 3339 in UTC.

    Examples
    --------
    >>> rfc3339(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
