"""Arguments of an index's methods: checks of documents, ids and search options, and cutting of streams into batches."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self, TypeAlias, TypedDict, TypeVar

from simhash_hbase.errors import InvalidArgument, short_repr
from simhash_hbase.inputs import Document, Place
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.rows.analysed import Entries, Metadata
from simhash_hbase.rows.clock import Since, parse_since
from simhash_hbase.rows.keys import checked_id_type
from simhash_hbase.rows.names import exact

T = TypeVar("T")

MOST_MATCHES = 1_000  # Most matches of an answer that crosses the network.
LEASES = 2  # Leases that a claim across the network waits for another writer, which may have crashed.
# Removals and expiry ask first where they delete more documents than this, and more than this share of all.
ASKED_DOCUMENTS = 10
ASKED_SHARE = 0.5
BATCH_DOCUMENTS = 2_000  # Documents that the methods with ``_many`` in their name take at a time: one commit each.
BATCH_CHARACTERS = 8_000_000  # A batch of long texts takes some 30 MB of memory.

GivenDocument: TypeAlias = tuple[str, str] | tuple[str, str, Metadata | None]
"""A document as a caller gives it: id, text and, if some is to be kept, metadata."""

_NOWHERE = Place("", 0)


def checked_limit(limit: int | None) -> int | None:
    """Return the limit on the matches of an answer, or raise `InvalidArgument` if it is no integer of 1 or more."""
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise InvalidArgument(f"limit is {short_repr(limit)}: wanted at least 1", parameter="limit")
    return limit


class SearchOptions(TypedDict, total=False):
    """The fields of a `Search`, as keyword arguments of an index's methods."""

    rule: MatchRule | None
    limit: int | None
    since: Since | None


@dataclass(frozen=True, slots=True)
class Search:
    """The options of a query: match rule, most matches, and the time since which documents were added; None: defaults.

    See `Index.query`.
    """

    rule: MatchRule | None = None
    limit: int | None = None
    since: Since | None = None

    def __post_init__(self) -> None:
        checked_limit(self.limit)
        if self.rule is not None and not isinstance(self.rule, MatchRule):
            raise InvalidArgument(f"rule is {short_repr(self.rule)}: wanted a MatchRule, as `Index.rule` makes them")

    @property
    def options(self) -> SearchOptions:
        """The fields, as keyword arguments of an index's methods."""
        return {"rule": self.rule, "limit": self.limit, "since": self.since}

    def begun(self, now: int) -> Self:
        """Return the search with `since` as a point in time: an age such as ``7d`` is counted back from `now`.

        `now` is in ms since 1970.
        """
        return self if self.since is None else replace(self, since=parse_since(self.since, now))


class PassageOptions(TypedDict, total=False):
    """The fields of a `PassageSearch`, as keyword arguments of an index's methods."""

    at_least: int
    same: str | None


PASSAGE_DOCUMENTS = 1_000
"""Most documents that are read for one passage; a passage of more documents is counted as in at least so many."""


@dataclass(frozen=True, slots=True)
class PassageSearch:
    """The options of a search for passages: how many documents must hold one, and a field they have in common.

    See `Index.passages`.
    """

    at_least: int = 1
    same: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.at_least, int) or self.at_least < 1:
            least = short_repr(self.at_least)
            raise InvalidArgument(f"at_least is {least}: wanted 1 or more documents", parameter="at_least")
        if self.at_least > PASSAGE_DOCUMENTS:
            raise InvalidArgument(
                f"at_least is {self.at_least:,}: {PASSAGE_DOCUMENTS:,} documents of a passage are read",
                parameter="at_least",
            )
        if not isinstance(self.same, str | None):
            same = short_repr(self.same)
            raise InvalidArgument(f"same is {same}: wanted the name of a field of metadata", parameter="same")


OWN_RULE = Search()
"""The search for all near-duplicates by the rule of the index, whenever they were added."""


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items of a stream in lists of `BATCH_DOCUMENTS`."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH_DOCUMENTS)):
        yield batch


def document_batches(documents: Iterable[Document], most: int) -> Iterator[list[Document]]:
    """Yield the documents of a stream in lists of `most`, or of fewer where their texts are long."""
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text or "")
        if len(batch) >= most or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def runs_of_ids(entries: Entries) -> Iterator[Entries]:
    """Yield documents in consecutive groups in which no id comes twice; that is nearly always a single group."""
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
    """Return the given ids, or raise `InvalidArgument` for a single string: its characters would be taken for ids."""
    if isinstance(ids, str):
        raise InvalidArgument(f"the ids are one string, {ids!r}: wanted a list of ids")
    return ids


def checked_document(number: int, document: object) -> tuple[str, str, Metadata | None]:
    """Return id, text and metadata of the `number`-th document that a caller gives, or raise `InvalidArgument`."""
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


def given_document(number: int, given: object) -> Document:
    """Return the `number`-th document that a caller gives, as a `Document`, or raise `InvalidArgument`."""
    name, text, metadata = checked_document(number, given)
    return Document(name, text, None, None, None if metadata is None else dict(metadata), _NOWHERE, None)


def checked_types(name: object, text: object, metadata: object) -> tuple[str, str, Metadata | None]:
    """Return id, text and metadata with all strings as plain `str`; raise `InvalidArgument` for other types."""
    name = checked_id_type(name)
    of = f" of {name!r}" if name else ""
    if not isinstance(text, str):
        raise InvalidArgument(f"the text{of} is of type {type(text).__name__}: wanted a string")
    if not isinstance(metadata, Mapping | None):
        raise InvalidArgument(f"the metadata{of} is of type {type(metadata).__name__}: wanted a mapping")
    # Metadata that is nested too deep is refused later, where it cannot be stored.
    kept: Metadata | None = metadata
    with suppress(RecursionError):
        kept = _exact_strings(metadata)
    return name, exact(text), kept


def _exact_strings(value: Any) -> Any:  # noqa: ANN401 - what JSON can have, and more
    if isinstance(value, str):
        return exact(value)
    if isinstance(value, Mapping):
        return {exact(key) if isinstance(key, str) else key: _exact_strings(item) for key, item in value.items()}
    return list(map(_exact_strings, value)) if isinstance(value, list | tuple) else value
