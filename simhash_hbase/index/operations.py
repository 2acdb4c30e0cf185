"""A table of the operations of an index, such as ``add`` and ``query``, for the service and its client."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from simhash_hbase.errors import no_letters, no_words
from simhash_hbase.index import jsonforms
from simhash_hbase.index.answers import (
    Added,
    Answer,
    BatchCounts,
    BatchRemoval,
    ClueAnswer,
    Decision,
    ItemsAnswer,
    PassagesAnswer,
    Removed,
    Stored,
)
from simhash_hbase.index.copies import Copies
from simhash_hbase.index.jsonforms import Form

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """An operation of an index, such as ``add``: its path in the service, its input (documents, ids, both), its answer.

    An operation with neither documents nor ids works on the next part of a scan through the index.
    """

    name: str
    path: str
    """The path at which the service takes streams of documents or ids, and single ones in a body."""
    form: Form[T]
    """The form of the answer to a document or an id."""
    documents: bool = False
    ids: bool = False
    needs_id: bool = True
    """Whether a document must have an id of its own."""
    lack: Callable[[str | None], str] = no_words
    """Returns, for the id of a text with nothing to act on, such as no words, the sentence that refuses the text."""


ADD: Operation[Added] = Operation("add", "/v1/documents", jsonforms.ADDED, documents=True)
CLAIM: Operation[Decision] = Operation("claim", "/v1/claims", jsonforms.DECISION, documents=True)
QUERY: Operation[Answer] = Operation("query", "/v1/queries", jsonforms.ANSWER, documents=True, ids=True, needs_id=False)
REMOVE: Operation[Removed] = Operation("remove", "/v1/removals", jsonforms.REMOVED, ids=True)
GET: Operation[Stored] = Operation("get", "/v1/lookups", jsonforms.STORED, ids=True)
COPIES: Operation[Copies] = Operation("copies", "/v1/documents/copies", jsonforms.COPIES, ids=True)
FIND: Operation[ClueAnswer] = Operation(
    "find", "/v1/clues", jsonforms.FOUND, documents=True, needs_id=False, lack=no_letters
)
PASSAGES: Operation[PassagesAnswer] = Operation(
    "passages", "/v1/passages", jsonforms.REPEATED, documents=True, needs_id=False, lack=no_letters
)
ITEMS: Operation[ItemsAnswer] = Operation(
    "items", "/v1/items", jsonforms.ITEMS, documents=True, needs_id=False, lack=no_letters
)
BATCHES: Operation[BatchCounts] = Operation("batches", "/v1/batches", jsonforms.BATCHES)
REMOVE_BATCH: Operation[BatchRemoval] = Operation("remove_batch", "/v1/batches/removals", jsonforms.BATCH_REMOVAL)
OPERATIONS = (ADD, CLAIM, QUERY, REMOVE, GET, COPIES, FIND, PASSAGES, ITEMS, BATCHES, REMOVE_BATCH)
