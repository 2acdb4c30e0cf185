"""Have I seen this? Many writers ask one index at the same time, and of near copies exactly one writer keeps its own.

``python examples/seen_before.py hbase://HOST:PORT/TABLE NAME < documents.jsonl`` is one writer. Start as many as you
like, on any machines. Each prints the ids of the documents that it should store. On one machine ``file:FOLDER`` does.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator

from simhash_hbase import ClaimContended, LocalIndex, Retryable, create_index

BATCH = 500
WAITS_S = (1, 2, 4, 8)


def originals(index: LocalIndex, documents: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the ids of the documents that nobody has seen, a batch at a time."""
    batch: list[tuple[str, str]] = []
    for document in documents:
        batch.append(document)
        if len(batch) == BATCH:
            yield from patiently(index, batch)
            batch = []
    yield from patiently(index, batch)


def patiently(index: LocalIndex, batch: list[tuple[str, str]]) -> list[str]:
    """Claim a batch; what was decided by a call that failed gets the same answer from the next one."""
    for wait_s in WAITS_S:
        try:
            return claimed(index, batch)
        except Retryable:
            time.sleep(wait_s)
    return claimed(index, batch)


def claimed(index: LocalIndex, batch: list[tuple[str, str]]) -> list[str]:
    """Return the originals of a batch; a document without usable words is one, too."""
    names = []
    for name, answer in index.claim_many(batch):
        if isinstance(answer, ClaimContended):
            raise answer
        if answer is None or answer.is_original:
            names.append(name)
    return names


if __name__ == "__main__":
    url, writer = sys.argv[1:]
    records = map(json.loads, sys.stdin)
    # The first writer makes the index; the others open it.
    with create_index(url, if_not_exists=True) as shared:
        for name in originals(shared, ((f"{writer}/{record['id']}", record["text"]) for record in records)):
            print(name, flush=True)
