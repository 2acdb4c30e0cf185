"""Characters that would move a terminal's cursor, or worse: texts, ids and names of files are others'."""

__all__ = ["harmless"]

_WRITTEN = {code: f"\\x{code:02x}" for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))}


def harmless(text: str) -> str:
    r"""Write control characters out, except for tabs and ends of lines.

    Examples
    --------
    >>> harmless("a\x1b[2J")
    'a\\x1b[2J'
    """
    return text.translate(_WRITTEN)
