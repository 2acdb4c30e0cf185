"""Documents for indexes of any size: uniform ones, and a real template corpus multiplied."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np

from bench.made import document_id, made_entries
from bench.texts import corpus
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.opened import BATCH_DOCUMENTS
from simhash_hbase.profile import Profile
from simhash_hbase.rows.entries import Entries

__all__ = ["CORPORA", "PROFILE", "numbered"]

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


def numbered(batches: Iterator[Entries], wanted: int, documents: int) -> Entries:
    """Take documents at equal distances out of a corpus."""
    every, before, taken = max(1, documents // wanted), 0, []
    for entries in batches:
        first = -before % every
        taken.append(entries.take(range(first, len(entries), every)))
        before += len(entries)
    return Entries.joined([few for few in taken if len(few)]).take(range(wanted))


CORPORA = {"uniform": uniform, "templates": skewed}
