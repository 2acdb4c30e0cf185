"""The time of day: milliseconds since 1970, as every store stamps its cells, and points in time as users write them."""

import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TypeAlias

from simhash_hbase.errors import InvalidArgument, short_repr

MS_A_DAY = 86_400_000
LAST_MS = 253_402_300_799_999  # The last millisecond of the year 9999, the latest that can be shown.

Since: TypeAlias = datetime | str
"""A time as a user gives it; without a zone it is UTC. Text is ISO 8601, or an age such as ``7d``, ``12h``, ``30m``."""

_MS: Final = {"d": MS_A_DAY, "h": 3_600_000, "m": 60_000}
_AGE = re.compile(r"([0-9]{1,9})([dhm])")


def now_ms() -> int:
    """Return the time of this machine's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=4_096)  # The documents of a batch have the same time.
def rfc3339(ms: int) -> str:
    """Return a time, in milliseconds since 1970, as text such as ``2023-11-14T22:13:20.123Z`` (RFC 3339, UTC).

    Examples
    --------
    >>> rfc3339(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def parse_since(since: Since, now: int, *, name: str = "since") -> datetime:
    """Return a time that a user gave, as ISO 8601 or as an age such as ``7d``, as a datetime with a time zone.

    An age counts back from `now`, in milliseconds since 1970. The error for a bad value calls the parameter `name`.

    Examples
    --------
    >>> parse_since("2026-11-22", 0).isoformat(), parse_since("90m", 86_400_000).isoformat()
    ('2026-11-22T00:00:00+00:00', '1970-01-01T22:30:00+00:00')
    """
    if isinstance(since, datetime):
        return since if since.tzinfo else since.replace(tzinfo=UTC)
    try:
        if age := _AGE.fullmatch(since):
            return datetime.fromtimestamp(max(0, now - int(age[1]) * _MS[age[2]]) / 1000, UTC)
        return parse_since(datetime.fromisoformat(since), now)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(
            f"{name} is {short_repr(since)}: wanted a date or a time such as 2026-11-22 or 2026-11-22T09:30:00Z, "
            "or an age such as 7d, 12h or 30m",
            parameter=name,
        ) from error


def since_ms(since: Since, now: int, *, name: str = "since") -> int:
    """Return a time that a user gave, a date or an age, in milliseconds since 1970; see `parse_since`."""
    return round(parse_since(since, now, name=name).timestamp() * 1000)
