"""A folder of analysed parts: after a kill, records that were analysed before are not analysed again."""

import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path

import numpy as np

from simhash_hbase.bulk.manifest import MANIFEST, Manifest, PartNote, read_manifest, write_manifest
from simhash_hbase.bulk.parts import Part, read_part, write_part
from simhash_hbase.bulk.seen import DIGEST, SeenIds
from simhash_hbase.errors import CorruptIndex, InvalidArgument, InvalidInput
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import Document, Page, Reject, Scanned, repeated_id
from simhash_hbase.pipeline.analyse import Chunk, analyse
from simhash_hbase.profile import Profile
from simhash_hbase.rows.entries import Entries
from simhash_hbase.rows.keys import id_digest

PART_CHUNKS = 16
"""Chunks of the pipeline in a part: a kill costs at most 16,000 documents or 32 million characters of work."""

DIGEST_BYTES = 16
SCRATCH = "simhash-hbase-scratch"


class Spool:
    """The folder of one load."""

    def __init__(self, folder: Path, url: str, profile: Profile) -> None:
        self.folder = folder
        self.resumed = 0
        """Documents that an earlier attempt had analysed."""
        folder.mkdir(parents=True, exist_ok=True)
        digest = blake2b(profile.encode(), digest_size=DIGEST_BYTES).hexdigest()
        found = read_manifest(folder)
        if found is not None and (found.url, found.profile) != (url, digest):
            raise InvalidArgument(
                f"{folder} holds an unfinished load into {found.url}: finish it, or delete the folder"
            )
        self.manifest = found or Manifest(url=url, profile=digest)
        self.save()

    def save(self) -> None:
        """Write the manifest."""
        write_manifest(self.folder, self.manifest)

    def fill(self, records: Iterable[Scanned], analysis: Analysis, *, workers: int = 1) -> Iterator[Part]:
        """Analyse the input part by part, from the first record on that differs from what an earlier attempt read."""
        seen = SeenIds()
        rest = iter(records)
        for number, note in enumerate(self.manifest.parts):
            taken = list(islice(rest, note.records))
            part = self._finished(note, taken)
            if part is None:
                self._check_unwritten()
                del self.manifest.parts[number:]
                rest = chain(taken, rest)
                break
            seen.add(part.digests)
            self.resumed += note.documents
            yield part
        # Digests are of the bytes read: a page is compared without being extracted.
        read: deque[bytes] = deque()
        chunks = analyse(_noted(rest, read), analysis, workers=workers)
        while group := list(islice(chunks, PART_CHUNKS)):
            yield self._keep(group, seen, read)
        # The input may have become shorter: then fewer parts are left, and no new one was saved.
        self.save()

    def parts(self) -> Iterator[tuple[int, Part]]:
        """Read all parts, each with the number of documents before it."""
        before = 0
        for note in self.manifest.parts:
            yield before, read_part(self.folder / note.file, note.checksum)
            before += note.documents

    def scratch(self) -> Path:
        """Make an empty folder for files that need not survive."""
        folder = self.folder / SCRATCH
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def remove(self) -> None:
        """Delete the files of the load, and the folder if nothing else is in it."""
        shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)
        for path in [*self.folder.glob("part-[0-9]*"), self.folder / MANIFEST]:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _check_unwritten(self) -> None:
        if self.manifest.writing:
            raise InvalidInput(
                f"the input differs from that in {self.folder}, which may be in the index in part: "
                "repeat the load with the same input, then load the rest"
            )

    def _finished(self, note: PartNote, records: Sequence[Scanned]) -> Part | None:
        """Return a part of an earlier attempt if it is sound and of the same records."""
        if len(records) != note.records or _joined(map(_digest, records)) != note.input:
            return None
        try:
            return read_part(self.folder / note.file, note.checksum)
        except CorruptIndex:
            return None

    def _keep(self, group: list[Chunk], seen: SeenIds, read: deque[bytes]) -> Part:
        part = _part(group, seen)
        records = sum(chunk.records for chunk in group)
        file = f"part-{len(self.manifest.parts):06d}"
        note = PartNote(
            file=file,
            checksum=write_part(self.folder / file, part),
            records=records,
            input=_joined(read.popleft() for _ in range(records)),
            documents=len(part.entries),
        )
        self.manifest.parts.append(note)
        self.save()
        return part


def _part(group: list[Chunk], seen: SeenIds) -> Part:
    """Join chunks, without the documents whose id came before."""
    pieces, digests, rejects = [], [], []
    for chunk in group:
        found = np.array([id_digest(name) for name in chunk.entries.ids], dtype=DIGEST)
        came = seen.add(found)
        rejects += chunk.rejects
        if came.any():
            kept = chunk.kept
            rejects += [_repeated(kept[at]) for at in np.flatnonzero(came).tolist()]
        pieces.append(chunk.entries.take(np.flatnonzero(~came)) if came.any() else chunk.entries)
        digests.append(found[~came])
    return Part(entries=Entries.joined(pieces), digests=np.concatenate(digests), rejects=rejects)


def _repeated(document: Document) -> Reject:
    reason = repeated_id(document.id, document.place)
    return Reject(document.place, reason, document.raw or b"", document.id)


def _noted(records: Iterable[Scanned], digests: deque[bytes]) -> Iterator[Scanned]:
    for record in records:
        digests.append(_digest(record))
        yield record


def _joined(digests: Iterable[bytes]) -> str:
    return blake2b(b"".join(digests), digest_size=DIGEST_BYTES).hexdigest()


def _digest(record: Scanned) -> bytes:
    """Digest everything that an entry is made of; a reject becomes none."""
    if isinstance(record, Reject):
        return b""
    if isinstance(record, Page):
        content, rest = record.content, repr((record.content_type, record.metadata))
    else:
        content = (record.text or "").encode("utf-8", "surrogatepass")
        rest = repr((record.simhash, record.features, record.metadata))
    digest = blake2b(digest_size=DIGEST_BYTES)
    for word in (record.id.encode("utf-8", "surrogatepass"), content, rest.encode("utf-8", "surrogatepass")):
        digest.update(len(word).to_bytes(8, "big"))
        digest.update(word)
    return digest.digest()
