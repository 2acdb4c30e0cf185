"""One batch: the index is asked once, each line or request gets its answer."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from simhash_hbase.index.index import Index
from simhash_hbase.inputs import Document
from simhash_hbase.rows.entries import Entries
from simhash_hbase.service.http.problems import Problem
from simhash_hbase.service.items import Item
from simhash_hbase.service.operations import Operation, Record
from simhash_hbase.service.stream.chunks import Ready


def answer_batch(index: Index, operation: Operation, batch: Sequence[Ready], outcomes: Counter[str]) -> bytes:
    """Work on a batch of a stream."""
    encoder, out = msgspec.json.Encoder(), bytearray()
    for number, item, record in records(index, operation, batch):
        outcomes[operation.outcome_of(record)] += 1
        encoder.encode_into(_line(number, item, record), out, len(out))
        out += b"\n"
    return bytes(out)


def records(index: Index, operation: Operation, batch: Sequence[Ready]) -> Iterator[tuple[int, Item | Problem, Record]]:
    """Answer a batch: yield number, item and answer, or refusal, in the order of the lines."""
    entries = [ready.entries for ready in batch if ready.entries is not None and len(ready.entries)]
    ids = [item for ready in batch for item in ready.chunk.items if isinstance(item, str)]
    of_entries: Iterator[Record] = iter(())
    if entries and operation.on_entries is not None:
        of_entries = iter(operation.on_entries(index, Entries.joined(entries)))
    of_ids: Iterator[Record] = iter(operation.on_ids(index, ids) if ids and operation.on_ids is not None else ())
    for ready in batch:
        position = 0
        for number, item in zip(ready.chunk.numbers, ready.chunk.items, strict=True):
            if isinstance(item, Document):
                refused = ready.refused.get(position)
                position += 1
                yield number, item, next(of_entries) if refused is None else refused
            else:
                yield number, item, item if isinstance(item, Problem) else next(of_ids)


def _line(number: int, item: Item | Problem, record: Record) -> dict[str, object]:
    if not isinstance(record, Problem):
        return record
    name = item.id if isinstance(item, Document) else item if isinstance(item, str) else None
    return {"line": number, **({"id": name} if name else {}), "error": record.record()}
