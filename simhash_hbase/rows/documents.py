"""What the cells of family ``d`` hold, and their bytes (MessagePack arrays, fields by position).

A *member* cell says what a search needs of a document and lives in the row of its fingerprint. The *document* cell is
the one authoritative word on an id: a member counts only while the document cell names its fingerprint.
"""

from typing import Any, Final, Literal

import msgspec

from simhash_hbase.errors import CorruptIndex

State = Literal["added", "original", "duplicate", "pending", "yielded", "aborted", "removed"]

FOUND_STATES: Final = frozenset({"added", "original"})
"""The states of documents that a query returns."""

UNDECIDED_STATES: Final = frozenset({"pending", "yielded"})
"""The states of claims under way; see `simhash_hbase.index.claim`."""


class Member(msgspec.Struct, array_like=True, frozen=True):
    """A document as the row of its fingerprint holds it."""

    id: str
    """The caller's id, whole: it is compared, not only its digest."""
    added: int
    """When it was added, ms since 1970."""
    length: int
    """Characters of its text; 0 when only a fingerprint was given."""
    features: int
    """Distinct features; 0 when only a fingerprint was given."""
    digest: bytes
    """Digest of the normalised text; empty when only a fingerprint was given."""
    sketch: bytes
    """64 bytes, eight words big-endian; empty when there is none."""
    metadata: dict[str, Any] | None = None
    """The caller's own."""


class DocumentState(msgspec.Struct, array_like=True, frozen=True):
    """The authoritative cell of an id; it changes by compare-and-set of the whole value only."""

    id: str
    """The caller's id, whole."""
    simhash: int
    """The fingerprint under which its member is."""
    state: State
    """What was decided, or how far a claim has come."""
    seen: int
    """When the document was last offered to the index, or named as an original, ms since 1970."""
    stamp: int
    """The highest timestamp used for its member cell: the next write or delete of that cell goes above it."""
    order: tuple[int, int] = (0, 0)
    """Milliseconds and the sequence within the batch: which of two documents was first."""
    token: bytes = b""
    """The attempt that wrote a claim's cell."""
    of: str | None = None
    """For a duplicate: the id of its original."""
    distance: int | None = None
    """For a duplicate: bits between its fingerprint and the original's."""
    similarity: float | None = None
    """For a duplicate: the estimated Jaccard similarity to the original; None without sketches."""
    previous: "DocumentState | None" = None
    """The decision for another fingerprint that stays in force while a new claim is undecided."""


def in_force(state: DocumentState) -> DocumentState | None:
    """Say what a document cell means to everyone but claims.

    Examples
    --------
    >>> old = DocumentState("a", 1, "original", seen=5, stamp=5)
    >>> in_force(DocumentState("a", 2, "pending", seen=9, stamp=9, previous=old)).simhash
    1
    """
    if state.state not in UNDECIDED_STATES:
        return state
    # Stamps belong to the id: what comes back was written at most as late as the claim.
    return state.previous and msgspec.structs.replace(state.previous, stamp=state.stamp)


def member_simhashes(state: DocumentState) -> set[int]:
    """List the fingerprints under which a document may have members, by its cell."""
    named = (state, state.previous) if state.previous else (state,)
    return {each.simhash for each in named if each.state not in ("duplicate", "aborted", "removed")}


def abandoned(state: DocumentState) -> DocumentState:
    """Make the cell of a claim that was given up: the decision before it returns."""
    return in_force(state) or msgspec.structs.replace(state, state="aborted")


_encoder = msgspec.msgpack.Encoder()
_documents = msgspec.msgpack.Decoder(DocumentState)
_members = msgspec.msgpack.Decoder(Member)


def encode(record: Member | DocumentState) -> bytes:
    """Encode a record; equal records have equal bytes, as compare-and-set needs."""
    return _encoder.encode(record)


def decode_member(value: bytes) -> Member:
    """Decode a member cell."""
    try:
        return _members.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptIndex(f"a member cell does not decode: {error}") from error


def decode_document(value: bytes) -> DocumentState:
    """Decode a document cell."""
    try:
        return _documents.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptIndex(f"a document cell does not decode: {error}") from error
