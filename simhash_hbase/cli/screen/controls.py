"""What is left out of messages: characters that would move a terminal's cursor, or worse, and passwords."""

import re

# A password may hold a slash that should have been percent-encoded.
_SECRET = re.compile(r"\b((?:rediss?|hbase(?:\+https?)?):(?://)?)\S*@|\b(https?://)[^\s/]*@", re.IGNORECASE)

_WRITTEN = {code: f"\\x{code:02x}" for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))}


def harmless(text: str) -> str:
    r"""Write control characters out, except for tabs and ends of lines.

    Examples
    --------
    >>> harmless("a\x1b[2J")
    'a\\x1b[2J'
    """
    return text.translate(_WRITTEN)


def secretless(text: str) -> str:
    r"""Leave users and passwords out of addresses.

    Examples
    --------
    >>> secretless("redis://:pa/ss@host/0 does not answer")
    'redis://…@host/0 does not answer'
    """
    return _SECRET.sub(r"\1\2…@", text)
