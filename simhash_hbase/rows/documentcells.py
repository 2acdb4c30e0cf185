"""The cells of family ``d``: their fields, bytes (MessagePack arrays, fields by position) and keys.

A *document cell*, in the row of its id's digest, has the decision about a document and is the one authoritative word on
it. A *member cell*, in the row of the document's fingerprint, has the fields that a search needs; it counts only while
the document cell names its text. A *copy cell*, of the same form, stands for a duplicate in the row of the copies of
its original. The decision *in force* is the last one that was made: while a claim of a new text is undecided, it is the
one in the field `previous`. A `Change` has the old and the new form of a document cell, and lists the member cells
and copy cells that become stale.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.rows import checksums, clock
from simhash_hbase.rows.keys import copies_row, document_key, id_digest, member_key, member_row, row_digest, row_simhash
from simhash_hbase.rows.layout import (
    COUNT_BYTES,
    ID_DIGEST_BYTES,
    MEMBER_ROW_BYTES,
    PASSAGE_BYTES,
    SEGMENT_BYTES,
    SIMHASH_BITS,
    SKETCH_BYTES,
    TEXT_BYTES,
)

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Milliseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=clock.LAST_MS)]
Bits: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=SIMHASH_BITS)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]

State = Literal["added", "original", "duplicate", "pending", "yielded", "aborted", "removed"]

FOUND_STATES: Final = frozenset({"added", "original"})
UNDECIDED_STATES: Final = frozenset({"pending", "yielded"})
GONE_STATES: Final = frozenset({"aborted", "removed"})


class Text(NamedTuple):
    """Fingerprint and digest of a document's text, by which it is compared with an earlier text of the same id."""

    simhash: int
    digest: bytes = b""  # The first eight bytes of the text digest; empty when only a fingerprint was given.

    def is_same(self, other: "Text") -> bool:
        """Return whether two texts of an id are the same; where one has no digest, the fingerprints alone decide.

        Examples
        --------
        >>> Text(1, b"one").is_same(Text(1, b"other")), Text(1, b"one").is_same(Text(1))
        (False, True)
        """
        return self.simhash == other.simhash and (self.digest == other.digest or not (self.digest and other.digest))


class Outcome(NamedTuple):
    """A decision about a document, as in the fields of the same names of its document cell (`DocumentState`)."""

    state: State = "added"
    of: str | None = None
    distance: int | None = None
    similarity: float | None = None
    containment: float | None = None
    of_text: Text | None = None


class Member(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A member cell: a document as it is stored in the row of its fingerprint. A copy cell has the same fields."""

    id: str  # The caller's id, whole: it is compared, not only its digest.
    added: Milliseconds  # When it was added, ms since 1970.
    length: Count  # Characters of its text; 0 when only a fingerprint was given.
    features: Count  # Distinct features; 0 when only a fingerprint was given.
    digest: bytes  # Digest of the normalised text; empty when only a fingerprint was given.
    sketch: bytes
    """Eight words, 64 bytes, the number of its shingles, and the segments of its sketch rows, 4 bytes each, big-endian;
    empty when there is none."""
    metadata: dict[str, Any] | None = None  # The caller's own.

    @property
    def shingles(self) -> int:
        """Estimated number of distinct shingles (runs of characters) of the document's text; 0 without a sketch."""
        return int.from_bytes(self.sketch[SKETCH_BYTES : SKETCH_BYTES + COUNT_BYTES], "big")


class PassageMember(Member, array_like=True, frozen=True, gc=False):
    """A member cell with the hashes of passages (runs of the text), in an index that finds documents by these."""

    passages: bytes = b""  # The hashes of its passages, ascending, 8 bytes each, big-endian.


class RowFields(NamedTuple):
    """Sketches and packed passages of many member cells, from which their sketch and passage rows are made."""

    sketches: list[bytes]
    passages: list[bytes]


class DocumentState(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A document cell: the decision about a document, or how far its claim has come.

    It has the last word on the document. Once written, it is changed only by compare-and-set of the whole value.
    """

    id: str  # The caller's id, whole.
    simhash: Count  # The fingerprint under which its member is.
    state: State  # The decision, or how far a claim has come.
    seen: Milliseconds  # When the document was last offered to the index, or named as an original, ms since 1970.
    stamp: Milliseconds
    """The highest timestamp, in ms, used for its member cell: the next write or delete of that cell goes above it."""
    order: tuple[Milliseconds, Count] = (0, 0)
    """When the text came, in ms, and its position in the batch: the document with the lower order was first."""
    token: bytes = b""  # Names the attempt of a claim that wrote the cell.
    of: str | None = None  # For a duplicate: the id of its original.
    distance: Bits | None = None  # For a duplicate: bits between its fingerprint and the original's.
    similarity: Share | None = None
    """Estimated Jaccard similarity of a duplicate to its original; None without sketches."""
    containment: Share | None = None  # For a duplicate: the share of its shingles that the original has.
    previous: "DocumentState | None" = None
    """The decision about an earlier text of the id, in force while a claim of a new text is undecided; else None."""
    digest: bytes = b""  # The first eight bytes of the text digest; empty when only a fingerprint was given.
    of_text: Text | None = None  # For a duplicate: the text of its original when this was decided.
    batch: str | None = None
    """Name of the batch with which the text was added; None, which is not written, for a document without a batch."""

    @property
    def text(self) -> Text:
        """Fingerprint and digest of the text that the cell is about."""
        return Text(self.simhash, self.digest)

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Row and qualifier under which this document cell is stored."""
        return document_key(id_digest(self.id))

    def kept_key(self, digest: bytes) -> tuple[bytes, bytes]:
        """Return row and qualifier of the document's member cell, or of its copy cell if it is a duplicate.

        `digest` is the digest of the document's id.
        """
        if self.of is not None and self.is_duplicate:
            return copies_row(id_digest(self.of)), digest
        return member_key((self.simhash, self.digest), digest)

    @property
    def copy_key(self) -> tuple[bytes, bytes] | None:
        """Row and qualifier of the document's copy cell; None if it is no duplicate by the decision in force."""
        decision = self.in_force()
        if decision is None or not decision.is_duplicate or decision.of is None:
            return None
        return decision.kept_key(id_digest(self.id))

    @property
    def is_found(self) -> bool:
        """Whether queries find a document with this state: ``added`` or ``original``."""
        return self.state in FOUND_STATES

    @property
    def is_duplicate(self) -> bool:
        """Whether the decision is that the document duplicates another one."""
        return self.state == "duplicate"

    @property
    def is_undecided(self) -> bool:
        """Whether a claim of the document is under way; see `simhash_hbase.index.claim`."""
        return self.state in UNDECIDED_STATES

    @property
    def is_gone(self) -> bool:
        """Whether the cell only says that the document was removed, or that a claim of it was given up."""
        return self.state in GONE_STATES

    def in_force(self) -> "DocumentState | None":
        """Return the decision in force: this state, or `previous` while a claim is undecided; None if there is none.

        Examples
        --------
        >>> old = DocumentState("a", 1, "original", seen=5, stamp=5)
        >>> DocumentState("a", 2, "pending", seen=9, stamp=9, previous=old).in_force().simhash
        1
        """
        if not self.is_undecided:
            return self
        # Stamps belong to the id: a decision that comes back was written at most as late as the claim.
        return self.previous and msgspec.structs.replace(self.previous, stamp=self.stamp)

    def shown(self, since: int = 0) -> "DocumentState | None":
        """Return the decision in force; None if the document is gone or was last seen before `since`, ms since 1970."""
        decision = self.in_force()
        return decision if decision and not decision.is_gone and decision.seen >= since else None

    def found(self, since: int = 0) -> "DocumentState | None":
        """Return the decision in force if queries find the document and it was last seen at `since` (ms) or later.

        Else the result is None.
        """
        decision = self.shown(since)
        return decision if decision and decision.is_found else None

    def found_under(self, text: Text, since: int = 0) -> "DocumentState | None":
        """Return what `found` returns if that decision is about this text, by fingerprint and digest; else None."""
        decision = self.found(since)
        is_under = decision is not None and decision.simhash == text.simhash and decision.digest == text.digest
        return decision if is_under else None

    def recorded(self, text: Text, since: int) -> "DocumentState | None":
        """Return the decision in force if it is about this text, and the document was seen at `since` (ms) or later.

        Else the result is None, so the document must be decided.
        """
        decision = self.shown(since)
        return decision if decision and decision.text.is_same(text) else None

    def member_texts(self) -> set[Text]:
        """Return the texts under which the document may have a member cell: of this state and of `previous`."""
        named = (self, self.previous) if self.previous else (self,)
        return {each.text for each in named if not (each.is_duplicate or each.is_gone)}

    def outdated_keys(self, new: "DocumentState") -> list[tuple[bytes, bytes]]:
        """Return the keys of the member and copy cells that become stale when `new` replaces this document cell."""
        copies = [key for key in (self.copy_key,) if key and key != new.copy_key]
        texts = {state.text for state in (self, self.previous) if state is not None} - new.member_texts()
        return [*copies, *(member_key(text, id_digest(self.id)) for text in sorted(texts))]

    def abandoned(self) -> "DocumentState":
        """Return the document cell to write when its claim is given up: the decision in force, or state ``aborted``."""
        return self.in_force() or msgspec.structs.replace(self, state="aborted")


StoredState: TypeAlias = tuple[DocumentState, bytes]
"""A decoded document cell, and its bytes as they were read, which a compare-and-set expects."""


class Change(NamedTuple):
    """A change to write to the document cell of one document of a batch, from its old state to its new one."""

    at: int  # Position of the document in the batch.
    digest: bytes  # Digest of the document's id.
    old: DocumentState | None
    old_value: bytes | None
    new: DocumentState
    checksum: bool  # Whether cells of the index have checksums.

    @classmethod
    def of(cls, at: int, digest: bytes, stored: StoredState | None, new: DocumentState, *, checksum: bool) -> "Change":
        """Return the change of a document cell from the stored state, None if there is no cell yet, to a new one."""
        old, old_value = stored or (None, None)
        return cls(at, digest, old, old_value, new, checksum)

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Row and qualifier of the document cell that changes."""
        return document_key(self.digest)

    @property
    def kept_key(self) -> tuple[bytes, bytes]:
        """Row and qualifier of the member or copy cell that belongs to the new document cell."""
        return self.new.kept_key(self.digest)

    @property
    def value(self) -> bytes:
        """The value of the new document cell, encoded as bytes."""
        return encode(self.new, checksum=self.checksum)

    @property
    def outdated(self) -> Sequence[tuple[bytes, bytes]]:
        """The keys, row and qualifier, of the member and copy cells that become stale by this change."""
        return self.old.outdated_keys(self.new) if self.old else ()

    @property
    def before(self) -> DocumentState | None:
        """The decision in force that the change replaces; None if there was none."""
        return self.old and self.old.in_force()

    @property
    def moves(self) -> bool:
        """Whether the id had another text before: the decision that the change replaces is about that text."""
        return self.before is not None and not self.before.text.is_same(self.new.text)

    @property
    def is_known(self) -> bool:
        """Whether the index had a decision about the id, other than a removal or an aborted claim."""
        return self.before is not None and not self.before.is_gone

    @property
    def has_rows(self) -> bool:
        """Whether the block rows are written already: queries found the document by this fingerprint before."""
        return self.before is not None and self.before.is_found and self.before.simhash == self.new.simhash


def removal(at: int, stored: StoredState, *, checksum: bool) -> Change:
    """Return the change that marks a document as removed; `at` is its position among the ids to remove."""
    old, _ = stored
    gone = DocumentState(old.id, old.simhash, "removed", seen=old.seen, stamp=old.stamp, digest=old.digest)
    return Change.of(at, id_digest(old.id), stored, gone, checksum=checksum)


def is_of_removed(of_text: Text | None, standing: Text | None) -> bool:
    """Return whether a duplicate's original is gone or has another text by now, as `of_removed` of a `Decision` says.

    `of_text` is that field of the duplicate's document cell: the original's text when it was decided. `standing` is the
    original's text now, or None if queries do not find it.
    """
    return standing is None or not (of_text is None or of_text.is_same(standing))


class _Named(msgspec.Struct, array_like=True, frozen=True, gc=False):
    id: str


_encode = msgspec.msgpack.Encoder().encode
_PREVIOUS: Final = DocumentState.__struct_fields__.index("previous")


def encode(record: Member | DocumentState, *, checksum: bool) -> bytes:
    """Return the bytes of a member or document cell; equal records have equal bytes, as compare-and-set needs.

    A cell with a checksum has all fields. In one without a checksum the last field, passages or batch, is left out
    where it is empty, so its bytes are those of versions that did not have the field.
    """
    return _encoded(_written_fields(record, whole=checksum), checksum=checksum)


def encode_columns(columns: Sequence[Iterable[Any]], *, checksum: bool) -> list[bytes]:
    """Return the bytes of many cells, given as one column for each field of `PassageMember` or `DocumentState`."""
    if checksum:
        return checksums.sealed_all(map(_encode, zip(*columns, repeat(checksums.PLACEHOLDER), strict=False)))
    # The last field, passages or batch, is left out where it is empty.
    return [_encode(fields if fields[-1] else fields[:-1]) for fields in zip(*columns, strict=True)]


def _encoded(fields: tuple[Any, ...], *, checksum: bool) -> bytes:
    return checksums.sealed(_encode((*fields, checksums.PLACEHOLDER))) if checksum else _encode(fields)


def _written_fields(record: Member | DocumentState, *, whole: bool) -> tuple[Any, ...]:
    """Return the fields of a cell in order; unless `whole`, the last (passages or batch) is left out where empty."""
    fields = msgspec.structs.astuple(record)
    if isinstance(record, Member):
        return (*fields, b"") if whole and not isinstance(record, PassageMember) else fields
    if record.previous is not None:
        previous = _written_fields(record.previous, whole=False)
        fields = (*fields[:_PREVIOUS], previous, *fields[_PREVIOUS + 1 :])
    return fields if whole or record.batch is not None else fields[:-1]


_documents = msgspec.msgpack.Decoder(DocumentState)
_members = msgspec.msgpack.Decoder(Member)
_passage_members = msgspec.msgpack.Decoder(PassageMember)
_named = msgspec.msgpack.Decoder(_Named)
_many_members = msgspec.msgpack.Decoder(list[PassageMember])
# First byte of a member cell with the field of passages: a MessagePack array of eight, or of nine with a checksum.
_WITH_PASSAGES: Final = (b"\x98", b"\x99")
# First byte of a MessagePack array whose length takes four bytes.
_MANY: Final = b"\xdd"
# Cells that are decoded at a time: some megabytes, of which the sketches are kept.
DECODED_AT_ONCE: Final = 4_096


def sketch_bytes(bands: int) -> int:
    """Return the length in bytes of the sketch in a member cell, in an index whose sketches have `bands` bands."""
    return SKETCH_BYTES + COUNT_BYTES + SEGMENT_BYTES * bands


def _corrupt_cell(reason: str) -> CorruptIndex:
    error = CorruptIndex(reason)
    error.in_cell = True
    return error


def decode_member(value: bytes, *, bands: int) -> Member:
    """Return the member cell, or copy cell, that is encoded in these bytes.

    `bands` is the number of bands of a sketch in the index. Damage raises `CorruptIndex`.
    """
    decoder = _passage_members if value[:1] in _WITH_PASSAGES else _members
    try:
        member = decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _corrupt_cell(f"a member cell does not decode: {error}") from error
    if len(member.sketch) not in (0, sketch_bytes(bands)):
        raise _corrupt_cell(f"a member cell has a sketch of {len(member.sketch)} bytes, not of {sketch_bytes(bands)}")
    if len(passages_of(member)) % PASSAGE_BYTES:
        raise _corrupt_cell(f"a member cell has passages of {len(passages_of(member))} bytes, not of whole hashes")
    return member


def id_of(value: bytes) -> str:
    """Return the document's id in the bytes of a member, copy or document cell; errors of msgspec are let through."""
    return _named.decode(value).id


def passages_of(member: Member) -> bytes:
    """Return the hashes of the passages in a member cell, 8 bytes each; empty where it has none."""
    return member.passages if isinstance(member, PassageMember) else b""


def decode_sketches(values: Sequence[bytes], *, bands: int) -> list[bytes]:
    """Return the packed sketches of many member cells; an empty one where a cell has none or does not decode."""
    return decode_row_fields(values, bands=bands).sketches


def decode_row_fields(values: Sequence[bytes], *, bands: int) -> RowFields:
    """Return the sketches and passages of many member cells; empty ones where a cell has none or is damaged.

    The sketch and passage rows, by which queries find the documents, are made of these.
    """
    fields = RowFields([], [])
    for start in range(0, len(values), DECODED_AT_ONCE):
        some = values[start : start + DECODED_AT_ONCE]
        try:
            # One call decodes all cells, as the elements of an array.
            members = _many_members.decode(b"".join([_MANY, len(some).to_bytes(4, "big"), *some]))
            fit = {0, sketch_bytes(bands)}.issuperset(len(member.sketch) for member in members) and not any(
                len(member.passages) % PASSAGE_BYTES for member in members
            )
        except (msgspec.MsgspecError, UnicodeDecodeError):
            fit = False
        if fit:
            fields.sketches.extend(member.sketch for member in members)
            fields.passages.extend(member.passages for member in members)
            continue
        for value in some:
            sketch = passages = b""
            # Whether a damaged cell matters is seen when its document counts.
            with suppress(CorruptIndex):
                member = decode_member(value, bands=bands)
                sketch, passages = member.sketch, passages_of(member)
            fields.sketches.append(sketch)
            fields.passages.append(passages)
    return fields


def decode_document(value: bytes) -> DocumentState:
    """Return the state in the bytes of a document cell; raise `CorruptIndex` if they do not decode."""
    try:
        return _documents.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _corrupt_cell(f"a document cell does not decode: {error}") from error


def document_at(key: tuple[bytes, bytes], value: bytes) -> DocumentState:
    """Return the state in a document cell that was read at `key`, row and qualifier.

    Raise `CorruptIndex` if the cell is not in the row of its id, does not decode, or has a decision that contradicts
    itself, such as a duplicate of nothing.
    """
    state = decode_document(value)
    decision = state.in_force()
    if state.key != key:
        raise _corrupt_cell("a document cell is not in the row of its id")
    if decision is not None and decision.is_found and decision.of is not None:
        raise _corrupt_cell("a document cell says original of another document")
    if decision is not None and decision.is_duplicate and decision.of in {None, decision.id}:
        raise _corrupt_cell("a document cell says duplicate of nothing, or of itself")
    return state


def is_member_of(key: tuple[bytes, bytes], member: Member) -> bool:
    """Return whether a member cell belongs at this row and qualifier, by its id and the digest of its text.

    A member cell that a repair made again from the document cell has no digest, while its key still has that of the
    text.
    """
    row, qualifier = key
    digest, text = qualifier[:ID_DIGEST_BYTES], qualifier[ID_DIGEST_BYTES:]
    return (
        len(row) == MEMBER_ROW_BYTES
        and row == member_row(row_simhash(row))
        and digest == id_digest(member.id)
        and (not member.digest or text == member.digest[:TEXT_BYTES])
    )


def is_copy_of(key: tuple[bytes, bytes], copy: Member) -> bool:
    """Return whether a copy cell belongs at this row and qualifier: in a row of copies, by the digest of its id."""
    row, qualifier = key
    return row == copies_row(row_digest(row)) and qualifier == id_digest(copy.id)
