"""Strings from callers, and names of collections; without numpy, for callers such as help that only check these."""

from simhash_hbase.errors import InvalidArgument

MAX_NAME_BYTES = 128  # Bytes of a name in UTF-8, at most.


def exact(string: str) -> str:
    """Return a string of a subclass of str, such as numpy's and lxml's, as the str that it is."""
    return str.__str__(string)


def checked_name(name: str) -> bytes:
    """Return the UTF-8 of the name of a collection.

    Raises
    ------
    InvalidArgument
        When it is no such name.
    """
    wanted = f"wanted 1 to {MAX_NAME_BYTES} bytes of UTF-8 without control characters"
    if not isinstance(name, str):
        raise InvalidArgument(f"the name of a collection is of type {type(name).__name__}: wanted a string")
    name = exact(name)
    encoded = name.encode("utf-8", "replace")
    lone = any("\ud800" <= character <= "\udfff" for character in name)
    control = any(character < " " or "\x7f" <= character <= "\x9f" for character in name)
    if lone or control or not 1 <= len(encoded) <= MAX_NAME_BYTES:
        shown = name if len(name) <= MAX_NAME_BYTES else f"{name[:40]}…"
        raise InvalidArgument(f"the name of a collection is {shown!r}: {wanted}")
    return encoded
