"""How a fingerprint is written by people and by other programs."""

import re

from simhash_hbase.errors import InvalidArgument

_SIXTEEN_HEX = re.compile(r"[0-9a-fA-F]{16}")
_PREFIXED_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,20}")
_LIMIT = 1 << 64
_SHOWN = 40


def parse_simhash(value: str | int) -> int:
    """Read a fingerprint as 16 hex digits, as ``0x…``, as decimal digits or as an integer.

    Examples
    --------
    >>> parse_simhash("00000000000000ff"), parse_simhash("0xff"), parse_simhash("255")
    (255, 255, 255)
    >>> parse_simhash("1000000000000000") == 1 << 60
    True
    """
    number = _from_text(value) if isinstance(value, str) else value
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _LIMIT:
        return number
    raise InvalidArgument(f"{_shown(value)} is not a fingerprint: 16 hex digits, 0x… or an integer below 2**64")


def _from_text(value: str) -> int | None:
    if _SIXTEEN_HEX.fullmatch(value) or _PREFIXED_HEX.fullmatch(value):
        return int(value, 16)
    return int(value) if _DECIMAL.fullmatch(value) else None


def _shown(value: object) -> str:
    # An integer above Python's limit of 4300 decimal digits has no repr; hex has no such limit.
    text = hex(value) if type(value) is int else repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
