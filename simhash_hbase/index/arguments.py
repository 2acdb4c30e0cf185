"""What callers pass to an index: documents and ids, checked, and cut into batches."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.analysed import Entries, Metadata
from simhash_hbase.rows.keys import checked_id_type
from simhash_hbase.rows.names import exact

T = TypeVar("T")

BATCH_DOCUMENTS = 2_000  # Documents that the methods with ``_many`` in their name take at a time: one commit each.

GivenDocument: TypeAlias = tuple[str, str] | tuple[str, str, Metadata | None]
"""Id, text and, where it is to be kept, metadata."""


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Cut a stream into lists of `BATCH_DOCUMENTS`."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH_DOCUMENTS)):
        yield batch


def runs_of_ids(entries: Entries) -> Iterator[Entries]:
    """Cut documents into runs in which no id comes twice; nearly always into one."""
    ids: set[str] = set()
    start = 0
    for at, name in enumerate(entries.ids):
        if name in ids:
            yield entries.take(range(start, at))
            ids, start = set(), at
        ids.add(name)
    if ids:
        yield entries.take(range(start, len(entries))) if start else entries


def checked_ids(ids: Iterable[str]) -> Iterable[str]:
    """Return ids as they are passed, or raise `InvalidArgument` for one string, whose characters are no ids."""
    if isinstance(ids, str):
        raise InvalidArgument(f"the ids are one string, {ids!r}: wanted a list of ids")
    return ids


def checked_document(number: int, document: object) -> tuple[str, str, Metadata | None]:
    """Return id, text and metadata of a document that a caller passes, or raise `InvalidArgument`."""
    wanted = "wanted (id, text) or (id, text, metadata)"
    if not isinstance(document, tuple | list):
        raise InvalidArgument(f"document {number} is of type {type(document).__name__}: {wanted}")
    match document:
        case [name, text]:
            metadata = None
        case [name, text, metadata]:
            pass
        case _:
            raise InvalidArgument(f"document {number} is of length {len(document)}: {wanted}")
    return checked_types(name, text, metadata)


def checked_types(name: object, text: object, metadata: object) -> tuple[str, str, Metadata | None]:
    """Return id, text and metadata in strings of no subclass, or refuse what a caller without a type checker passes."""
    name = checked_id_type(name)
    of = f" of {name!r}" if name else ""
    if not isinstance(text, str):
        raise InvalidArgument(f"the text{of} is of type {type(text).__name__}: wanted a string")
    if not isinstance(metadata, Mapping | None):
        raise InvalidArgument(f"the metadata{of} is of type {type(metadata).__name__}: wanted a mapping")
    # What is nested too deep is refused later, where it cannot be stored.
    kept: Metadata | None = metadata
    with suppress(RecursionError):
        kept = _exact_strings(metadata)
    return name, exact(text), kept


def _exact_strings(value: Any) -> Any:  # noqa: ANN401 - what JSON can have, and more
    if isinstance(value, str):
        return exact(value)
    if isinstance(value, Mapping):
        return {_exact_strings(key): _exact_strings(item) for key, item in value.items()}
    return list(map(_exact_strings, value)) if isinstance(value, list | tuple) else value
