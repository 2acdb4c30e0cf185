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
TEMPLATES = "graph"


def uniform(documents: int, _: int) -> Iterator[Entries]:
    """Make documents of which none has anything to do with another one; more of them begin with the same ones."""
    rng = np.random.default_rng(4)
    yield from made_entries(rng.integers(0, 2**64, documents, dtype=np.uint64), bands=PROFILE.bands)


def skewed(documents: int, pages: int) -> Iterator[Entries]:
    """Multiply so many templated pages: each copy is moved as a whole to another place of all three spaces.

    So every copy keeps its crowded prefixes and its near pairs, and copies have nothing to do with each other: that is
    what more sites with templates of their own would be.
    """
    real = _templates(pages)
    masks = np.random.default_rng(5)
    made = 0
    while made < documents:
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
        made += len(few)


@cache
def _templates(pages: int) -> Entries:
    texts = list(islice(corpus(TEMPLATES), pages))
    return Analysis(PROFILE).texts([str(at) for at in range(len(texts))], texts, [None] * len(texts)).entries


CORPORA = {"uniform": uniform, "templates": skewed}


def made_corpus(name: str, documents: int, sizes: Sizes) -> Iterator[Entries]:
    """Make the documents of an index; the templates are the same ones in all sizes."""
    return CORPORA[name](documents, _pages(sizes))


def _pages(sizes: Sizes) -> int:
    return max(1, sizes.growth[0] // 10)


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
        first -= first % len(_templates(_pages(sizes)))
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
    simhashes = documents.simhashes.copy()
    for _ in range(BITS):
        simhashes ^= np.uint64(1) << rng.integers(0, 64, len(documents), dtype=np.uint64)
    near = replace(documents, simhashes=simhashes, ids=[f"query {at}" for at in range(len(documents))])
    return _half_strangers(near, rng) if name == "uniform" else near


def _half_strangers(asked: Entries, rng: np.random.Generator) -> Entries:
    simhashes, bands = asked.simhashes.copy(), asked.segments.copy()
    strangers = np.arange(1, len(asked), 2)
    simhashes[strangers] = rng.integers(0, 2**64, len(strangers), dtype=np.uint64)
    bands[strangers] = rng.integers(0, 2**32, (len(strangers), bands.shape[1]), dtype=np.uint32)
    return replace(asked, simhashes=simhashes, bands=bands)
