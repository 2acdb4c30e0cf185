"""Counts with their nouns."""

_PLURALS = frozenset({"cells", "documents", "duplicates", "ids", "originals", "pairs", "records", "rows"})


def counted(count: int, noun: str) -> str:
    """Write a count.

    Examples
    --------
    >>> counted(1, "duplicates"), counted(1_200, "duplicates"), counted(1, "refused")
    ('1 duplicate', '1,200 duplicates', '1 refused')
    """
    return f"{count:,} {noun.removesuffix('s') if count == 1 and noun in _PLURALS else noun}"
