"""Checks of names that callers give, such as those of collections and batches; numpy is not imported.

So the command line's help, which needs the checks, comes at once.
"""

from typing import overload

from simhash_hbase.errors import InvalidArgument

MAX_NAME_BYTES = 128  # Bytes of a name in UTF-8, at most.


def exact(string: str) -> str:
    """Return a string as a plain str where it is of a subclass of str, such as numpy's or lxml's."""
    return str.__str__(string)


def checked_name(name: str, *, of: str = "collection") -> bytes:
    """Return the UTF-8 bytes of a name after checking it; `of` says what it names: a collection or a batch.

    Raises
    ------
    InvalidArgument
        When the name has not 1 to 128 bytes of UTF-8 without control characters.
    """
    wanted = f"wanted 1 to {MAX_NAME_BYTES} bytes of UTF-8 without control characters"
    if not isinstance(name, str):
        raise InvalidArgument(f"the name of a {of} is of type {type(name).__name__}: wanted a string", parameter=of)
    name = exact(name)
    encoded = name.encode("utf-8", "replace")
    lone = any("\ud800" <= character <= "\udfff" for character in name)
    control = any(character < " " or "\x7f" <= character <= "\x9f" for character in name)
    if lone or control or not 1 <= len(encoded) <= MAX_NAME_BYTES:
        shown = name if len(name) <= MAX_NAME_BYTES else f"{name[:40]}…"
        raise InvalidArgument(f"the name of a {of} is {shown!r}: {wanted}", parameter=of)
    return encoded


@overload
def checked_batch(name: str) -> str: ...
@overload
def checked_batch(name: None) -> None: ...
@overload
def checked_batch(name: str | None) -> str | None: ...
def checked_batch(name: str | None) -> str | None:
    """Return the name of a batch, such as a crawl, as a plain str; None stays None.

    Raises `InvalidArgument` for a name as `checked_name` does.
    """
    return None if name is None else checked_name(name, of="batch").decode()
