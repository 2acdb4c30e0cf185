"""Documents for indexes of any size, uniform ones and a real template corpus multiplied; and queries about them."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np

from bench.documents import corpus, document_id, made_entries
from bench.sizes import Sizes
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries

BITS = 3
PROFILE = Profile.resolve(analyzer="shingle")
CORPORA = ("uniform", "templates")


def made_corpus(name: str, documents: int, sizes: Sizes) -> Iterator[Entries]:
    """Make the documents of an index; those of a larger one begin with the same ones.

    Uniform ones have nothing to do with each other. Templates are pages that are multiplied: each copy is moved as a
    whole to another place of all three spaces. So every copy keeps its crowded prefixes and its near pairs, and copies
    have nothing to do with each other: that is what more sites with templates of their own would be.
    """
    if name == "uniform":
        rng = np.random.default_rng(4)
        yield from made_entries(rng.integers(0, 2**64, documents, dtype=np.uint64), bands=PROFILE.bands)
        return
    real, masks = _templates(sizes), np.random.default_rng(5)
    for made in range(0, documents, len(real)):
        few = real.take(range(min(len(real), documents - made)))
        moved = replace(
            few,
            ids=[document_id(made + at) for at in range(len(few))],
            simhashes=few.simhashes ^ masks.integers(0, 2**64, dtype=np.uint64),
            sketches=few.sketches ^ masks.integers(0, 2**64, few.sketches.shape[1], dtype=np.uint64),
            bands=few.segments ^ masks.integers(0, 2**32, few.segments.shape[1], dtype=np.uint32),
        )
        for at in range(0, len(moved), BATCH_DOCUMENTS):
            yield moved.take(range(at, min(at + BATCH_DOCUMENTS, len(moved))))


@cache
def _templates(sizes: Sizes) -> Entries:
    """Analyse the pages that are multiplied: the same ones in all sizes."""
    texts = list(islice(corpus("graph"), max(1, sizes.growth[0] // 10)))
    return Analysis(PROFILE).texts([str(at) for at in range(len(texts))], texts, [None] * len(texts)).entries


def queries(name: str, documents: int, wanted: int, sizes: Sizes) -> Entries:
    """Make queries about documents at equal distances in the whole index."""
    wanted = min(wanted, documents)
    numbers = range(0, documents, documents // wanted)[:wanted]
    return _asked(name, picked(made_corpus(name, documents, sizes), numbers))


def neighbours(name: str, documents: int, wanted: int, sizes: Sizes) -> Entries:
    """Make queries about documents that follow each other in the second half of the index.

    They begin with a copy of the templated pages, so that those of another size are copies of the same pages.
    """
    wanted = min(wanted, documents)
    first = min(documents * 3 // 4, documents - wanted)
    if name == "templates":
        first -= first % len(_templates(sizes))
    return _asked(name, picked(made_corpus(name, documents, sizes), range(first, first + wanted)))


def picked(batches: Iterator[Entries], numbers: range) -> Entries:
    """Take the documents of these numbers out of a corpus."""
    before, taken = 0, []
    while before <= numbers[-1]:
        entries = next(batches)
        after = before + len(entries)
        few = numbers[bisect_left(numbers, before) : bisect_left(numbers, after)]
        taken.append(entries.take([number - before for number in few]))
        before = after
    return Entries.joined([few for few in taken if len(few)])


def _asked(name: str, documents: Entries) -> Entries:
    """Make near copies of documents; every second query of uniform ones is near nothing."""
    rng = np.random.default_rng(2)
    simhashes, bands = documents.simhashes.copy(), documents.segments.copy()
    for _ in range(BITS):
        simhashes ^= np.uint64(1) << rng.integers(0, 64, len(documents), dtype=np.uint64)
    if name == "uniform":
        strangers = np.arange(1, len(documents), 2)
        simhashes[strangers] = rng.integers(0, 2**64, len(strangers), dtype=np.uint64)
        bands[strangers] = rng.integers(0, 2**32, (len(strangers), bands.shape[1]), dtype=np.uint32)
    return replace(documents, simhashes=simhashes, bands=bands, ids=[f"query {at}" for at in range(len(documents))])
