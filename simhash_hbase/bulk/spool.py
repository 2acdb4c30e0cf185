"""The spool of a bulk load: a folder that keeps analysed documents, so that a load which was killed can be resumed.

The documents are in files, called parts. Each part is noted in the manifest with a digest of its records: a repeated
load reads the part instead of analysing the same records again.
"""

import secrets
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex, InvalidArgument, InvalidInput
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import Chunk, analyse
from simhash_hbase.files.local import replacing
from simhash_hbase.inputs import Page, Place, Reject, Scanned, repeated_id
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import SKETCH_WORDS, Entries
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.digests import blake2b, digest_of
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.layout import ID_DIGEST_BYTES
from simhash_hbase.rows.names import checked_batch

DIGEST = np.dtype(f"S{ID_DIGEST_BYTES}")  # Digests of ids as an array; numpy compares them as bytes.


class SeenIds:
    """A set of the digests of ids that a load has read so far, by which it notices an id that comes twice.

    It holds sorted arrays, each at least twice as long as the next: a batch is looked up in a few of them, and every
    digest is copied a few times in all.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.bytes_]] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, digests: NDArray[np.bytes_]) -> NDArray[np.bool_]:
        """Add a batch of digests; return a mask of those that came before, in the set or earlier in the batch."""
        order = np.argsort(digests, kind="stable")
        ascending = digests[order]
        came = np.zeros(len(digests), dtype=np.bool_)
        came[order[1:]] = ascending[1:] == ascending[:-1]
        for run in self._runs:
            came |= run[np.minimum(np.searchsorted(run, digests), len(run) - 1)] == digests
        fresh = np.sort(digests[~came])
        while self._runs and len(self._runs[-1]) < 2 * len(fresh):
            fresh = np.sort(np.concatenate([self._runs.pop(), fresh]), kind="stable")
        if len(fresh):
            self._runs.append(fresh)
        return came


class SpoolPart(NamedTuple):
    """The analysed documents and the refused records of one part, in the order of the input.

    A document whose id came before in the load is among the refused records.
    """

    entries: Entries
    rejects: list[Reject]


# Columns of `Entries` that are arrays, as a part has them.
ARRAYS = {"simhashes": "<u8", "sketches": "<u8", "shingles": "<u4", "features": "<i4", "lengths": "<i4"}
SEGMENTS = "<u4"


class _Columns(msgspec.Struct, array_like=True):
    ids: list[str]
    id_digests: bytes  # For version 1.0.0, which reads them.
    simhashes: bytes
    sketches: bytes
    shingles: bytes
    features: bytes
    lengths: bytes
    digests: list[bytes]
    metadata: list[dict[str, Any] | None]
    # File, line, reason, the record, its id: a file's name and an id may be more than UTF-8 can hold.
    rejects: list[tuple[bytes, int, str, bytes, bytes | None]]
    bands: int = 0
    segments: bytes = b""
    passages: list[bytes] | None = None


def id_digests(ids: Iterable[str]) -> NDArray[np.bytes_]:
    """Return the digests of ids, 16 bytes each, as an array of the form that `SeenIds.add` takes."""
    return np.array([id_digest(name) for name in ids], DIGEST)


def write_part(path: Path, part: SpoolPart) -> str:
    """Write a part to a file, whole or not at all, and return the file's checksum, for `read_part`."""
    entries = part.entries
    columns = _Columns(
        ids=list(entries.ids),
        id_digests=id_digests(entries.ids).tobytes(),
        **{name: getattr(entries, name).astype(kind).tobytes() for name, kind in ARRAYS.items()},
        digests=list(entries.digests),
        metadata=[None if metadata is None else dict(metadata) for metadata in entries.metadata],
        rejects=[
            (_bytes(r.place.file), r.place.line, r.reason, r.raw, None if r.id is None else _bytes(r.id))
            for r in part.rejects
        ],
        bands=entries.segments.shape[1],
        segments=entries.segments.astype(SEGMENTS).tobytes(),
        passages=None if entries.passages is None else list(entries.passages),
    )
    encoded = msgspec.msgpack.encode(columns)
    write_file(path, encoded)
    return digest_of(encoded)


def read_part(path: Path, checksum: str) -> SpoolPart:
    """Return the part that `write_part` wrote; raise `CorruptIndex` if its file is gone or has another checksum."""
    try:
        encoded = path.read_bytes()
    except FileNotFoundError as error:
        raise CorruptIndex(f"{path}: this part of the load is gone: repeat the load") from error
    if digest_of(encoded) != checksum:
        raise CorruptIndex(f"{path}: this part of the load is damaged: repeat the load")
    columns = msgspec.msgpack.decode(encoded, type=_Columns)

    def array(content: bytes, kind: str) -> NDArray[Any]:
        return np.frombuffer(content, kind).astype(np.dtype(kind).newbyteorder("="))

    arrays: dict[str, Any] = {name: array(getattr(columns, name), kind) for name, kind in ARRAYS.items()}
    arrays["sketches"] = arrays["sketches"].reshape(-1, SKETCH_WORDS)
    bands = array(columns.segments, SEGMENTS).reshape(len(columns.ids), columns.bands)
    entries = Entries(
        ids=columns.ids,
        digests=columns.digests,
        metadata=columns.metadata,
        bands=bands,
        passages=columns.passages,
        **arrays,
    )
    rejects = [
        Reject(Place(_text(file), line), reason, raw, None if name is None else _text(name))
        for file, line, reason, raw, name in columns.rejects
    ]
    return SpoolPart(entries, rejects)


def write_file(path: Path, content: bytes) -> None:
    """Write a file in place of an old one of that name; after a crash the old one or the new one is there, whole."""
    with replacing(path, follow=False) as file:
        file.write(content)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")


FORMAT = 1
MANIFEST = "manifest.json"
TOKEN_BYTES = 8


class PartNote(msgspec.Struct, frozen=True, kw_only=True):
    """The line of a load's manifest about one finished part: its file, checksum, and the records that it covers."""

    file: str
    checksum: str
    records: int  # Records of the input that it covers, with the refused ones.
    input: str  # Digest of these records: a restart that reads the same ones does not analyse them again.
    documents: int


class NotedLoad(msgspec.Struct, kw_only=True):
    """The facts of a load that are saved in its folder, so that it can be resumed: its index, batch and timestamp."""

    token: str = msgspec.field(default_factory=lambda: secrets.token_hex(TOKEN_BYTES))  # Names this load in the index.
    url: str
    profile: str  # Digest of the index's profile.
    stamp: int | None = None  # The timestamp of all cells; None until the index was asked for its time.
    writing: bool = False  # Whether cells may be in the index already.
    batch: str | None = None  # The batch in which all documents come.

    def check_index(self, url: str, profile: str, folder: Path | str, *, batch: str | None = None) -> None:
        """Raise `InvalidArgument` if the load that is saved here goes into another index, or has another batch name.

        `url` and `profile`, a digest, are those of the index that is to be loaded; `folder` is named in the error.
        """
        if (self.url, self.profile) != (url, profile):
            raise InvalidArgument(f"{folder} holds an unfinished load into {self.url}: finish it, or delete the folder")
        if self.batch != batch:
            named = "without a batch" if self.batch is None else f"in the batch {self.batch!r}"
            raise InvalidArgument(f"{folder} holds an unfinished load {named}: finish it, or delete the folder")

    def check_unwritten(self, folder: Path | str) -> None:
        """Raise `InvalidInput` if cells of the load may be in the index already.

        Called when the input has changed since the load began: cells of the earlier input would stay in the index.
        """
        if self.writing:
            raise InvalidInput(
                f"the input differs from that in {folder}, which may be in the index in part: "
                "repeat the load with the same input, then load the rest"
            )


class Manifest(NotedLoad, kw_only=True):
    """The content of the manifest, the file ``manifest.json`` in a load's folder, with a note of each finished part."""

    format: int = FORMAT
    parts: list[PartNote] = msgspec.field(default_factory=list)


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a load's folder; None if the folder has no such file."""
    path = folder / MANIFEST
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not the manifest of a load: {error}") from error
    if found.format != FORMAT:
        raise InvalidInput(f"{path} has format {found.format}, this version reads format {FORMAT}")
    return found


PART_CHUNKS = 16
"""Chunks of analysed records in a part: a kill costs at most 16,000 documents or 32 million characters of work."""

SCRATCH = "simhash-hbase-scratch"


class Spool:
    """The folder of one load into an index or a collection of it: its manifest, and the parts of analysed documents."""

    def __init__(
        self,
        folder: Path,
        url: str,
        profile: Profile,
        collection: Collection | None = None,
        *,
        batch: str | None = None,
    ) -> None:
        self.folder = folder
        self._collection = collection or Collection()
        self.resumed = 0
        """Documents that an earlier attempt had analysed."""
        folder.mkdir(parents=True, exist_ok=True)
        digest = digest_of(profile.encode())
        earlier = read_manifest(folder)
        if earlier is None and (others := next(self._part_files(), None)):
            raise InvalidArgument(f"{others} is of no load that this folder knows: remove it, or name another folder")
        batch = checked_batch(batch)
        self.manifest = earlier or Manifest(url=url, profile=digest, batch=batch)
        self.manifest.check_index(url, digest, folder, batch=batch)
        self.save()

    def save(self) -> None:
        """Write the manifest, which says how far the load has come, to its file in the folder."""
        write_file(self.folder / MANIFEST, msgspec.json.format(msgspec.json.encode(self.manifest), indent=1))

    def fill(self, records: Iterable[Scanned], analysis: Analysis, *, workers: int = 1) -> Iterator[SpoolPart]:
        """Analyse the input part by part, write each part to the folder, and yield it.

        A part that an earlier attempt has made of the same records is read from the folder instead.
        """
        seen = SeenIds()
        rest = iter(records)
        for number, note in enumerate(self.manifest.parts):
            taken = list(islice(rest, note.records))
            part = None
            if len(taken) == note.records and digest_of(b"".join(map(_digest, taken))) == note.input:
                with suppress(CorruptIndex):
                    part = read_part(self.folder / note.file, note.checksum)
            if part is None:
                self.manifest.check_unwritten(self.folder)
                del self.manifest.parts[number:]
                rest = chain(taken, rest)
                break
            seen.add(id_digests(part.entries.ids))
            self.resumed += note.documents
            yield part
        # Digests are of the bytes read: a page is compared without being extracted.
        read: deque[bytes] = deque()

        def noted() -> Iterator[Scanned]:
            for record in rest:
                read.append(_digest(record))
                yield record

        chunks = analyse(noted(), analysis, workers=workers)
        while group := list(islice(chunks, PART_CHUNKS)):
            yield self._keep(group, seen, read)
        # The input may have become shorter: then fewer parts are left, and no new one was saved.
        self.save()

    def parts(self) -> Iterator[tuple[int, SpoolPart]]:
        """Yield all finished parts, each as a pair: the number of documents in the parts before it, and the part."""
        before = 0
        for note in self.manifest.parts:
            part = read_part(self.folder / note.file, note.checksum)
            yield before, part._replace(entries=part.entries.in_batch(self.manifest.batch))
            before += note.documents

    def scratch(self) -> Path:
        """Make an empty folder for files that need not survive a crash, below the load's own, and return its path."""
        folder = self.folder / SCRATCH
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def remove(self) -> None:
        """Delete the files of the load, and the folder if nothing else is in it."""
        shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)
        for path in [*self._part_files(), self.folder / MANIFEST]:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _part_files(self) -> Iterator[Path]:
        return self.folder.glob("part-" + "[0-9]" * 6)

    def _keep(self, group: list[Chunk], seen: SeenIds, read: deque[bytes]) -> SpoolPart:
        """Write chunks of analysed records as one part, and return it; documents whose id came before are refused.

        `seen` are the ids so far, and `read` the digests of the records, which are removed as they are noted.
        """
        pieces, rejects = [], []
        for chunk in group:
            entries = self._collection.stored(chunk.entries)
            came = seen.add(id_digests(entries.ids))
            rejects += chunk.rejects
            if came.any():
                repeated = compress(chunk.kept, came.tolist())
                rejects += [Reject(d.place, repeated_id(d.id, d.place), d.raw or b"", d.id) for d in repeated]
            pieces.append(entries.take(np.flatnonzero(~came)) if came.any() else entries)
        part = SpoolPart(Entries.joined(pieces), rejects)
        records = sum(chunk.records for chunk in group)
        file = f"part-{len(self.manifest.parts):06d}"
        note = PartNote(
            file=file,
            checksum=write_part(self.folder / file, part),
            records=records,
            input=digest_of(b"".join(read.popleft() for _ in range(records))),
            documents=len(part.entries),
        )
        self.manifest.parts.append(note)
        self.save()
        return part


def _digest(record: Scanned) -> bytes:
    """Return a digest of a record's id and contents, which tells whether an input has changed; ``b""`` for a reject."""
    if isinstance(record, Reject):
        return b""
    if isinstance(record, Page):
        content, rest = record.content, repr((record.content_type, record.metadata))
    else:
        content = _bytes(record.text or "")
        rest = repr((record.simhash, record.features, record.metadata))
    digest = blake2b(digest_size=16)
    for word in (_bytes(record.id), content, _bytes(rest)):
        digest.update(len(word).to_bytes(8, "big"))
        digest.update(word)
    return digest.digest()
