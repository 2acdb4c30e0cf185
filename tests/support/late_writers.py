"""Writers of new documents, one of whose requests is executed late, and what may be done to a document before that."""

import numpy as np

from simhash_hbase.bulk import Spool, StoreWriter, begin, load
from simhash_hbase.errors import Retryable
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import Document, Place
from support.bruteforce import answered, entries

FIRST, SECOND = 0x1111, 0xFFFF0000FFFF
_FAR = np.random.default_rng(8).integers(0, 1 << 64, 64, dtype=np.uint64).tolist()


def beside(name, count):
    """Return a document with ``count`` others that are near to nothing."""
    return {name: FIRST} | {f"{name} {number}": _FAR[number] for number in range(count)}


def _add(index, folder, documents):
    index.add_entries(entries(documents))


def _dedup(index, folder, documents):
    index.dedup_entries(entries(documents), index.deduplicator())


def _load(index, folder, documents):
    """Load what is new, and repeat the command where it was broken off."""
    spool = Spool(folder, index.store.url, index.profile)
    begin(index, spool, into_existing=True)
    given = (Document(name, None, simhash, None, {}, Place("input", 0), None) for name, simhash in documents.items())
    list(spool.fill(given, Analysis(index.profile)))
    for is_last in (False, True):
        try:
            load(index, spool, StoreWriter(index.store), into_existing=True)
        except Retryable:
            if is_last:
                raise
        else:
            break
    spool.remove()


def _update(index, name):
    index.add_entries(entries({name: SECOND}))
    return SECOND


def _remove(index, name):
    assert list(index.remove_many([name])) == [(name, True)]


WRITERS = {"add": _add, "dedup": _dedup, "load": _load}
CHANGES = {"update": _update, "removal": _remove}
"""Each returns the fingerprint that the document has from then on."""


def found_at(index, name):
    """Return the fingerprint that `get` tells, once each query finds the document there and nowhere else."""
    stored = index.get(name)
    for simhash in (FIRST, SECOND):
        [answer] = index.query_entries(entries({"query": simhash}))
        expected = [(name, 0)] if stored is not None and stored.simhash == simhash else []
        assert [match for match in answered(answer) if match[0] == name] == expected
    verified = index.verify()
    assert (verified.wrong, verified.missing_members, verified.incomplete) == (0, 0, 0)
    return None if stored is None else stored.simhash
