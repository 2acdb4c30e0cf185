"""Collections: parts of one index that never meet, such as tenants, languages or sources.

A stored id names its collection: U+0000, the name, U+0000, the caller's id. The rows of a collection have other
segments: its fingerprints and the segments of its other rows are combined by exclusive or with a digest of the name,
which leaves all distances as they are. The digest has a key, the secret of the index, which nobody is shown. So a user
who may write to one collection, even ready fingerprints, cannot choose the fingerprints that are stored, and cannot
crowd the rows of documents of another collection. BLAKE2b with a key is a message authentication code (RFC 7693); a
tenant sees only fingerprints without the mask, so it learns nothing of the digest. Rows of two collections may still
have one prefix, so the stored id of a document decides whether it belongs to the collection. Without a collection
everything is stored as it is given; only an id that itself begins with U+0000 gets two more before it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows import keys, layout
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.digests import blake2b
from simhash_hbase.rows.names import checked_name

MARK = "\0"


class Collection:
    r"""A collection of an index, or all documents in none; converts ids and fingerprints to stored ones and back.

    Parameters
    ----------
    name : str, optional
        1 to 128 bytes of UTF-8 without control characters. Names are compared as they are: neither case nor Unicode
        normal form is changed.
    secret : bytes, optional
        The secret of the index, 32 random bytes; None for an index of 1.0, whose masks follow from the names alone.

    Raises
    ------
    InvalidArgument
        When the name is not of this form.

    Examples
    --------
    >>> Collection("news").stored_id("a"), Collection().stored_id("a"), Collection().stored_id("\0a")
    ('\x00news\x00a', 'a', '\x00\x00\x00a')
    """

    def __init__(self, name: str | None = None, secret: bytes | None = None) -> None:
        self.name = name if name is None else checked_name(name).decode()
        self._prefix = MARK * 2
        digest = bytes(layout.SIMHASH_BYTES + layout.SEGMENT_BYTES)
        if name is not None:
            self._prefix = f"{MARK}{self.name}{MARK}"
            size = layout.SIMHASH_BYTES + layout.SEGMENT_BYTES
            digest = blake2b(checked_name(name), digest_size=size, key=secret or b"").digest()
        self._simhash_mask = int.from_bytes(digest[: layout.SIMHASH_BYTES], "big")
        self._simhash_array = np.uint64(self._simhash_mask)
        self._segment_mask = np.uint32(int.from_bytes(digest[layout.SIMHASH_BYTES :], "big"))

    def stored_id(self, document_id: str) -> str:
        """Return the id under which a document is stored: the caller's id with the collection's name before it."""
        document_id = keys.checked_id_type(document_id)
        bare = self.name is None and document_id[:1] != MARK
        return document_id if bare else self._prefix + document_id

    def masked(self, simhash: int) -> int:
        """Return a fingerprint combined by exclusive or with the collection's mask.

        This turns the fingerprint that a caller gives into the stored one, and a stored one back into the caller's.
        """
        return simhash ^ self._simhash_mask

    def stored(self, entries: Entries) -> Entries:
        """Return a caller's documents as the index stores them, with the collection's name in ids and masked hashes."""
        ids = entries.ids
        try:
            if self.name is None and MARK not in {name[:1] for name in ids}:
                return entries
            if self.name is not None:
                return self._masked(entries, [self._prefix + name for name in ids])
        except TypeError:
            # One of the ids is no string; the error of `stored_id` names it.
            pass
        return self._masked(entries, list(map(self.stored_id, ids)))

    def given(self, stored: Entries) -> Entries:
        """Return stored documents as their caller gave them: ids without the collection's name, hashes unmasked."""
        return self._masked(stored, list(map(own_id, stored.ids)))

    def holds(self, stored_id: str) -> bool:
        """Return whether a stored id belongs to this collection."""
        return collection_of(stored_id) == (self.name or "")

    def _masked(self, entries: Entries, ids: Sequence[str]) -> Entries:
        bands = None if entries.bands is None else entries.bands ^ self._segment_mask
        passages = None if entries.passages is None else list(map(self._masked_passages, entries.passages))
        simhashes = entries.simhashes ^ self._simhash_array
        return replace(entries, ids=ids, simhashes=simhashes, bands=bands, passages=passages, known_id_digests=None)

    def masked_passages(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the 64-bit hashes of passages with the collection's mask on their upper 32 bits, as they are stored.

        The upper 32 bits are the segments of the passage rows' keys. Masking twice gives the first hashes back.
        """
        return hashes ^ np.uint64(int(self._segment_mask) << layout.SEGMENT_BITS)

    def _masked_passages(self, packed: bytes) -> bytes:
        return np.sort(self.masked_passages(keys.unpack_simhashes(packed))).astype(">u8").tobytes()


def collection_of(stored_id: str) -> str:
    r"""Return the name of the collection that a stored document belongs to, from its stored id; empty for none.

    Examples
    --------
    >>> collection_of("\0news\0a"), collection_of("a"), collection_of("\0\0\0a")
    ('news', '', '')
    """
    return stored_id[1:].partition(MARK)[0] if stored_id[:1] == MARK else ""


def own_id(stored_id: str) -> str:
    r"""Return the id that the caller gave a document, from its stored id.

    Examples
    --------
    >>> own_id("\0news\0a"), own_id("a"), own_id("\0\0\0a")
    ('a', 'a', '\x00a')
    """
    return stored_id[1:].partition(MARK)[2] if stored_id[:1] == MARK else stored_id
