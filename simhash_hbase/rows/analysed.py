"""Analysed documents as columns, without their texts: what searches, decisions and writes work on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows import documentcells, layout
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.names import checked_batch, exact

MAX_ID_BYTES = 64 << 10  # Bytes of an id in UTF-8, at most.

MAX_METADATA_BYTES = 1 << 10  # Bytes of a document's metadata as JSON, at most.

SKETCH_VERSION = 1  # Changes whenever the same text would get another sketch.
SKETCH_WORDS = 8  # A sketch is eight 64-bit words, 64 bytes.

SKETCH_BINS = 64 * SKETCH_WORDS  # Number of minima of a sketch, which has one bit of each.

Metadata = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Entries:
    """*n* analysed documents (fingerprint, sketch, …) as columns: these pickle and slice faster than a list of objects.

    Columns never change, so digests of the ids and texts are computed once.

    Raises
    ------
    InvalidArgument
        When the columns differ in length.
    """

    ids: Sequence[str]
    """Ids of the documents: the callers' own, or the stored ones with their collection."""
    simhashes: NDArray[np.uint64]
    """Fingerprints, shape (n,)."""
    sketches: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, SKETCH_WORDS), np.uint64))
    """Sketches, shape (n, 8); rows of zeros where there is none."""
    shingles: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    """Estimated number of distinct shingles of each text, shape (n,); 0 for a document without a sketch."""
    features: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Number of distinct features of each text, shape (n,); 0 where only a fingerprint was given."""
    lengths: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """Number of characters of each text, shape (n,); 0 where only a fingerprint was given."""
    digests: Sequence[bytes] = ()
    """16-byte digests of the normalised texts; empty where there was no text."""
    metadata: Sequence[Metadata | None] = ()
    """Fields that the caller wants to be kept with each document; None: the document has none."""
    bands: NDArray[np.uint32] | None = None
    """Segments of the sketch rows, shape (n, bands), meaningless for a document without a sketch; None: no bands."""
    passages: Sequence[bytes] | None = None
    """Hashes of the passages of each text, ascending, 8 bytes each, big-endian; None: the index keeps no passages."""
    batch: str | None = None
    """Name of the batch in which these documents come; None: they come in no batch."""
    known_id_digests: Sequence[bytes] | None = None
    """The value of `id_digests`, if another process has computed it; None: not computed yet."""

    def __post_init__(self) -> None:
        if not {str}.issuperset(map(type, self.ids)):
            # A subclass of str, such as numpy's and lxml's, is reduced to its string.
            ids = [exact(name) if isinstance(name, str) else name for name in self.ids]
            object.__setattr__(self, "ids", ids)
        columns = (self.simhashes, self.sketches, self.shingles, self.features, self.lengths, self.segments)
        lists = (self.ids, self.digests, self.metadata, self.packed_passages, self.known_id_digests or self.ids)
        sizes = {len(column) for column in (*columns, *lists)}
        if len(sizes) != 1:
            raise InvalidArgument(f"columns of one length are wanted, these have {sorted(sizes)}")

    @property
    def sketched(self) -> NDArray[np.bool_]:
        """A mask of the documents that have a sketch, shape (n,)."""
        return np.asarray(self.shingles > 0)

    @property
    def segments(self) -> NDArray[np.uint32]:
        """The hashes of which the keys of sketch rows are made, one for each band; shape (n, 0) without bands.

        A sketch row has a hash of a part (band) of the sketch in its key: very similar texts share one or more.
        """
        return np.empty((len(self.ids), 0), np.uint32) if self.bands is None else self.bands

    @property
    def packed_passages(self) -> Sequence[bytes]:
        """The hashes of each text's passages (runs of characters) as bytes; empty bytes if `passages` is None."""
        return [b""] * len(self.ids) if self.passages is None else self.passages

    def passages_for(self, *, kept: bool) -> Sequence[bytes]:
        """Return the hashes of each text's passages (runs of characters), as bytes to be stored.

        They are empty if the index keeps no passages (`kept` is False), or if the documents have no texts.

        Raises
        ------
        InvalidArgument
            When there are texts without the passages that the index keeps: rows would be missing.
        """
        if kept and self.passages is None and any(self.digests):
            raise InvalidArgument("the documents have no passages, and the index keeps some: analyse them by it")
        return self.packed_passages if kept else [b""] * len(self)

    def segments_for(self, bands: int) -> NDArray[np.uint32]:
        """Return the hashes for the keys of sketch rows, in an index with this number of bands, shape (n, bands).

        They are zeros for documents without sketches.

        Raises
        ------
        InvalidArgument
            When there are sketches without the bands that the index needs: rows would be missing.
        """
        if self.segments.shape[1] == bands:
            return self.segments
        if self.sketched.any():
            raise InvalidArgument(
                f"the documents have {self.segments.shape[1]} bands, the index has {bands}: analyse them by it"
            )
        return np.zeros((len(self), bands), np.uint32)

    @classmethod
    def of_fingerprints(cls, ids: Sequence[str], simhashes: NDArray[np.uint64]) -> "Entries":
        """Return documents that have only ids and fingerprints: no text, sketch or anything else."""
        n = len(ids)
        return cls(
            ids=ids,
            simhashes=np.asarray(simhashes, dtype=np.uint64),
            sketches=np.zeros((n, SKETCH_WORDS), np.uint64),
            shingles=np.zeros(n, np.uint32),
            features=np.zeros(n, np.int32),
            lengths=np.zeros(n, np.int32),
            digests=[b""] * n,
            metadata=[None] * n,
        )

    @classmethod
    def joined(cls, parts: Sequence["Entries"]) -> "Entries":
        """Return the documents of several `Entries`, one after the other, as one; all come in the same batch.

        A part without sketches may have fewer bands than the others.

        Raises
        ------
        InvalidArgument
            When they come in several batches.
        """
        if len({part.batch for part in parts}) > 1:
            raise InvalidArgument("entries of several batches cannot be joined")
        if len(parts) == 1:
            return parts[0]
        width = max(part.segments.shape[1] for part in parts)
        bands = [np.pad(part.segments, ((0, 0), (0, width - part.segments.shape[1]))) for part in parts]
        return cls(
            ids=[name for part in parts for name in part.ids],
            simhashes=np.concatenate([part.simhashes for part in parts]),
            sketches=np.concatenate([part.sketches for part in parts]),
            shingles=np.concatenate([part.shingles for part in parts]),
            features=np.concatenate([part.features for part in parts]),
            lengths=np.concatenate([part.lengths for part in parts]),
            digests=[digest for part in parts for digest in part.digests],
            metadata=[metadata for part in parts for metadata in part.metadata],
            bands=np.concatenate(bands) if width else None,
            passages=None
            if all(part.passages is None for part in parts)
            else [packed for part in parts for packed in part.packed_passages],
            batch=parts[0].batch,
            known_id_digests=None
            if any(part.known_id_digests is None for part in parts)
            else [digest for part in parts for digest in part.known_id_digests or ()],
        )

    def text(self, at: int) -> documentcells.Text:
        """Return what identifies the text of the document at position `at`: the fingerprint and the text's digest."""
        return documentcells.Text(int(self.simhashes[at]), self.digests[at][: layout.TEXT_BYTES])

    @cached_property
    def texts(self) -> list[documentcells.Text]:
        """What identifies the text of each document: the fingerprint and the text's digest."""
        pairs = zip(self.simhashes.tolist(), self.digests, strict=True)
        return [documentcells.Text(simhash, digest[: layout.TEXT_BYTES]) for simhash, digest in pairs]

    @cached_property
    def id_digests(self) -> list[bytes]:
        """The digests of the documents' ids, from which the keys of their cells are made."""
        return list(map(id_digest, self.ids) if self.known_id_digests is None else self.known_id_digests)

    def with_id_digests(self) -> "Entries":
        """Return the same documents with the digests of their ids computed, so that other processes need not do it."""
        return replace(self, known_id_digests=self.id_digests)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> "Entries":
        """Return the documents at these positions, in this order."""
        at: slice | NDArray[np.intp]
        if isinstance(rows, range) and rows.step == 1 and rows.start >= 0:
            # A slice copies nothing.
            at = slice(rows.start, max(rows.start, rows.stop))
        else:
            at = np.asarray(rows, dtype=np.intp)
        known = self.known_id_digests
        return Entries(
            ids=_chosen(self.ids, at),
            simhashes=self.simhashes[at],
            sketches=self.sketches[at],
            shingles=self.shingles[at],
            features=self.features[at],
            lengths=self.lengths[at],
            digests=_chosen(self.digests, at),
            metadata=_chosen(self.metadata, at),
            bands=None if self.bands is None else self.bands[at],
            passages=None if self.passages is None else _chosen(self.passages, at),
            batch=self.batch,
            known_id_digests=None if known is None else _chosen(known, at),
        )

    def in_batch(self, name: str | None) -> "Entries":
        """Return the same documents with the name of the batch in which they are added; None returns them as they are.

        Raises
        ------
        InvalidArgument
            When the name has not 1 to 128 bytes of UTF-8 without control characters.
        """
        return self if name is None else replace(self, batch=checked_batch(name))


def _chosen(column: Sequence[T], at: slice | NDArray[np.intp]) -> Sequence[T]:
    return column[at] if isinstance(at, slice) else [column[place] for place in at.tolist()]


def check_storable(entries: Entries) -> None:
    """Raise `InvalidArgument` if a document has an id or metadata that cannot be stored; a query with it is allowed."""
    for name, metadata in zip(entries.ids, entries.metadata, strict=True):
        check_id(name)
        problem = metadata_problem(metadata) if metadata else None
        if problem:
            raise InvalidArgument(f"the metadata of {name!r} {problem}")


def check_id(name: str) -> None:
    """Raise `InvalidArgument` for an id that is empty or too long to be stored."""
    # A query without an id has the empty one.
    if not name:
        raise InvalidArgument("the id of a document is empty")
    if len(name) * 4 > MAX_ID_BYTES and len(name.encode(errors="replace")) > MAX_ID_BYTES:
        raise InvalidArgument(f"the id {name[:40]}… is longer than {MAX_ID_BYTES} bytes")


def metadata_problem(metadata: Metadata) -> str | None:
    """Return the reason, as the end of a sentence, why metadata cannot be stored; None if they can."""
    if not all(isinstance(key, str) for key in metadata):
        return "has a key that is not a string"
    try:
        size = len(msgspec.json.encode(metadata))
        # Metadata is stored as MessagePack, whose integers have 64 bits.
        msgspec.msgpack.encode(metadata)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return f"cannot be stored: {error}"
    return f"takes more than {MAX_METADATA_BYTES} bytes as JSON" if size > MAX_METADATA_BYTES else None
