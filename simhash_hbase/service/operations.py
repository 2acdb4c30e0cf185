"""The operations on documents and ids: the one place that calls the index."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial

from simhash_hbase.client.index import LEASES
from simhash_hbase.errors import ClaimContended
from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.index.answers import answer_record, copies_record, decision_record, hex_simhash, stored_record
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.index import Index
from simhash_hbase.pipeline.analyse import analyse_chunk, payload
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.service.items import Wanted, decode, document_or_id
from simhash_hbase.service.problems import Problem, of_error

ItemAnswer = dict[str, object] | Problem

# Answers to queries can be long, and those of a batch are in memory at a time: so many matches, as JSON some megabytes.
MATCHES = 25_600
# The claims of several clients, which are decided together, wait so long for one that is contested.
HURRIED_S = 2.0
# Queries with the same parameters are one operation, so that they can be worked on together.
QUERIES = 32
# So are operations on one collection.
COLLECTIONS = 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """A function of documents, of ids, or of either; lists in, lists of the same length out."""

    name: str
    on_entries: Callable[[Index, Entries], Iterable[ItemAnswer]] | None = None
    on_ids: Callable[[Index, Sequence[str]], Iterable[ItemAnswer]] | None = None
    needs_id: bool = True
    batch: int = BATCH_DOCUMENTS  # Most documents, of a stream or of single requests, at a time.
    hurried: "Operation | None" = None
    """Does the same for several clients at once, and refuses, for now, what would keep them waiting for long."""
    is_shared: bool = False  # Whether the batches of one key wait for each other, since each takes much memory.
    outcome: Callable[[dict[str, object]], str]  # Names what became of a document, for the metrics.

    def wanted(self, *, is_line: bool = False) -> Wanted:
        """Say what a body, or a line of a stream, has to be."""
        return Wanted(self.on_entries is not None, self.on_ids is not None, self.needs_id, is_line)

    def outcome_of(self, record: ItemAnswer) -> str:
        """Name what became of a document or an id; of refused ones, the code of the error."""
        return record.code if isinstance(record, Problem) else self.outcome(record)


def analyse_raw(analysis: Analysis, raw: bytes, wanted: Wanted) -> tuple[str, Analysed | None]:
    """Decode and analyse one JSON object."""
    item = document_or_id(decode(raw), wanted)
    return (item, None) if isinstance(item, str) else (item.id, analyse_chunk(analysis, *payload([item])).analysed)


def _add(index: Index, entries: Entries) -> list[ItemAnswer]:
    index.add_entries(entries)
    named = zip(entries.ids, entries.simhashes.tolist(), strict=True)
    return [{"id": name, "simhash": hex_simhash(simhash)} for name, simhash in named]


def _claim(index: Index, entries: Entries, *, deadline_s: float | None = None) -> list[ItemAnswer]:
    # It must outwait a crashed writer even after its own client has gone.
    claimed = index.claim_entries(entries, deadline_s=deadline_s or LEASES * index.profile.lease_s)
    return [of_error(what) if isinstance(what, ClaimContended) else decision_record(what) for what in claimed]


def _missing() -> Problem:
    return Problem("document_missing", "the index does not hold a document of this id")


ADD = Operation(name="add", on_entries=_add, outcome=lambda record: "added")
_HURRIED_CLAIM = Operation(
    name="claim", on_entries=partial(_claim, deadline_s=HURRIED_S), outcome=lambda record: str(record["status"])
)
CLAIM = replace(_HURRIED_CLAIM, on_entries=_claim, hurried=_HURRIED_CLAIM)
REMOVE = Operation(
    name="remove",
    on_ids=lambda index, ids: [{"id": name, "removed": removed} for name, removed in index.remove_many(ids)],
    outcome=lambda record: "removed" if record["removed"] else "absent",
)
GET = Operation(
    name="get",
    on_ids=lambda index, ids: [_missing() if one is None else stored_record(one) for one in index.get_many(ids)],
    outcome=lambda record: "found",
)
COPIES = Operation(
    name="copies",
    on_ids=lambda index, ids: [_missing() if one is None else copies_record(one) for one in map(index.copies, ids)],
    batch=8,  # A list of copies may have thousands of entries: few lists are in memory at a time.
    outcome=lambda record: "found",
)


@lru_cache(COLLECTIONS)
def within(operation: Operation, collection: str | None) -> Operation:
    """Make an operation on the documents of one collection; a batch never has those of two."""
    if collection is None:
        return operation
    on_entries, on_ids, hurried = operation.on_entries, operation.on_ids, operation.hurried
    return replace(
        operation,
        on_entries=on_entries and (lambda index, entries: on_entries(index.in_collection(collection), entries)),
        on_ids=on_ids and (lambda index, ids: on_ids(index.in_collection(collection), ids)),
        hurried=hurried and within(hurried, collection),
    )


@lru_cache(QUERIES)
def query(rule: MatchRule, limit: int, since: datetime | None) -> Operation:
    """Make the operation that finds near-duplicates, of documents or of stored ones."""

    def of_entries(index: Index, entries: Entries) -> Iterator[ItemAnswer]:
        answers = index.answer_entries(entries, rule=rule, limit=limit, since=since)
        for name, answer in zip(entries.ids, answers, strict=True):
            yield answer_record(name or None, answer)

    def of_ids(index: Index, ids: Sequence[str]) -> Iterator[ItemAnswer]:
        for name in ids:
            answer = index.query_id(name, rule=rule, limit=limit, since=since)
            yield _missing() if answer is None else answer_record(name, answer)

    return Operation(
        name="query",
        on_entries=of_entries,
        on_ids=of_ids,
        needs_id=False,
        batch=max(1, MATCHES // limit),
        is_shared=True,
        outcome=lambda record: "matched" if record["matches"] else "unmatched",
    )
