"""Documents made of nothing but their fingerprints: ids of 40 bytes, sketches and digests at random."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.bulk.spool import DIGEST, Part, PartNote, Spool, write_part
from simhash_hbase.index.opened import BATCH_DOCUMENTS
from simhash_hbase.rows.analysed import SKETCH_WORDS, Entries
from simhash_hbase.rows.keys import id_digest

__all__ = ["document_id", "fill_spool", "made_entries"]


def document_id(number: int) -> str:
    """Make an id of 40 bytes, the length of a short URL."""
    return f"https://example.org/articles/{number:011d}"


def made_entries(simhashes: NDArray[np.uint64], *, bands: int = 0) -> Iterator[Entries]:
    """Make documents with all their cells, in batches.

    Parameters
    ----------
    simhashes : ndarray of uint64
        Their fingerprints.
    bands : int
        Sketch rows of each, as the index has them.

    Yields
    ------
    Entries
        Batches of the size that the index's own methods take.
    """
    rng = np.random.default_rng(3)
    for start in range(0, len(simhashes), BATCH_DOCUMENTS):
        few = simhashes[start : start + BATCH_DOCUMENTS]
        n = len(few)
        digests = rng.bytes(16 * n)
        yield Entries(
            ids=[document_id(start + at) for at in range(n)],
            simhashes=few,
            sketches=rng.integers(0, 2**64, (n, SKETCH_WORDS), dtype=np.uint64),
            shingles=np.full(n, 1_700, np.uint32),
            features=np.full(n, 150, np.int32),
            lengths=np.full(n, 2_000, np.int32),
            digests=[digests[16 * at : 16 * at + 16] for at in range(n)],
            metadata=[None] * n,
            bands=rng.integers(0, 2**32, (n, bands), dtype=np.uint32),
        )


def fill_spool(spool: Spool, batches: Iterable[Entries]) -> None:
    """Write parts as `Spool.fill` does, of documents that need no analysis."""
    for number, entries in enumerate(batches):
        file = f"part-{number:06d}"
        digests = np.array([id_digest(name) for name in entries.ids], dtype=DIGEST)
        checksum = write_part(spool.folder / file, Part(entries=entries, digests=digests, rejects=[]))
        size = len(entries)
        note = PartNote(file=file, checksum=checksum, records=size, input=checksum, documents=size)
        spool.manifest.parts.append(note)
    spool.save()
