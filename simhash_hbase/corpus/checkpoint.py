"""Where the decisions of a run over a corpus go: to the caller, or to a file with a checkpoint for a restart.

The checkpoint is a small file beside the decisions that says how far the run has come.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Self

import msgspec

from simhash_hbase.corpus.options import EncodedLines, Lines
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.files.local import open_growing, open_temporary, replacing, to_disk
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.jsonforms import DECISION, json_line
from simhash_hbase.inputs import Sources
from simhash_hbase.report.duplicates import duplicate_table, read_decisions
from simhash_hbase.rows.digests import blake2b
from simhash_hbase.signals import whole

VERSION = 4
HANDED_BYTES = 1 << 16  # Bytes of JSON lines that are handed to the caller at a time, about.


class Checkpoint(msgspec.Struct, forbid_unknown_fields=True):
    """How far a run over a corpus has come: what is on the disk for good, so that a restart can continue from there."""

    inputs: str = ""  # Digest of path, size and time of change of every file of the input.
    options: str = ""  # Digest of the options that decide the files that are written.
    index: str = ""  # Identity of the index: another one need not hold the decided documents.
    records: int = 0  # Records of the input that are done with, refused ones too.
    read: int = 0  # Documents that have a decision.
    originals: int = 0
    refused: int = 0
    result_bytes: int = 0  # Length of the file of decisions.
    kept_bytes: int = 0  # Length of the file of kept documents, or number of files in their folder.
    finished: bool = False
    version: int = VERSION


class HandedDecisions:
    """Passes decisions to the caller's `Lines`, each batch when the index has committed its documents.

    With `remember` all decisions are also copied to a temporary file, so that they can be read again.
    """

    start: Checkpoint | None = None

    def __init__(self, lines: Lines | None, *, remember: bool) -> None:
        self.progress = Checkpoint()
        self._lines = lines
        self._encoded = lines if isinstance(lines, EncodedLines) else None
        self._records: deque[Mapping[str, object]] = deque()
        self._waiting: deque[bytearray] = deque()  # Encoded lines that wait in place of records.
        self._copy = open_temporary() if remember else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._copy is not None:
            self._copy.close()

    def take(self, decisions: Decisions) -> None:
        """Queue the decisions of a batch until `commit`; with `remember`, copy them to the temporary file."""
        lines = [] if self._encoded is None and self._copy is None else decisions.lines()
        if self._encoded is not None:
            for line in lines:
                if not self._waiting or len(self._waiting[-1]) >= HANDED_BYTES:
                    self._waiting.append(bytearray())
                self._waiting[-1] += line
        elif self._lines is not None:
            self._records.extend(map(DECISION.write, decisions))
        if self._copy is not None:
            self._copy.writelines(lines)

    def lines(self) -> Iterator[bytes]:
        """Yield all decisions again, as JSON lines; nothing without `remember`."""
        if self._copy is not None:
            self._copy.seek(0)
            yield from self._copy

    def ids(self) -> Iterator[str]:
        """Return no ids of documents that an earlier run decided: a run without a file of decisions continues none."""
        return iter(())

    def length(self) -> int:
        """Return 0, the length of the file of decisions: there is no file."""
        return 0

    def commit(self, progress: Checkpoint) -> None:
        """Hand the queued decisions to the caller: the index has committed their documents."""
        if self._lines is None:
            return
        while self._records:
            self._lines.line(self._records.popleft())
        while self._waiting and self._encoded is not None:
            # An interrupt in between would lose lines, or print them twice.
            with whole():
                self._encoded.encoded(self._waiting.popleft())
        self._lines.flush()


class FileDecisions:
    """Writes decisions to a file as JSON lines, and the run's progress to a checkpoint beside it.

    The order is: the index commits a group of batches, its decisions reach the disk, then a new checkpoint replaces the
    one before. A crash in between leaves lines that the checkpoint does not count. A restart cuts them off; their
    documents get the decisions that the index recorded, or the same ones again, so the file ends with the same bytes.
    """

    def __init__(self, path: str, new: Checkpoint, *, resume: bool) -> None:
        self._path = Path(path)
        self._checkpoint = Path(path_of(path))
        self.start = self._earlier(new) if resume else None
        self.progress = self.start or new
        if not resume and self._path.exists():
            raise InvalidArgument(f"{path} exists already: continue its run with `resume` if that can be, or remove it")
        self._is_new = not self._path.exists()
        self._file = open_growing(self._path, self.start.result_bytes if self.start else 0)
        self._waiting = bytearray()  # Lines of decisions that the index has not committed.
        self._has_failed = False  # Whether a commit failed: the next start finds out what the file holds then.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()
        finally:
            if kind is not None and self._is_new and not self._path.stat().st_size:
                # Nothing to continue from: the corrected command begins anew, and would be refused for these files.
                self._path.unlink()
                self._checkpoint.unlink(missing_ok=True)

    def begin(self, index: str) -> None:
        """Put the index's identity into the checkpoint; raise `InvalidArgument` if a resumed run had another index."""
        if self.start is not None and self.start.index != index:
            raise InvalidArgument(
                f"{self._path} is from a run with another index, or with a temporary one, which cannot be continued: "
                "name the index of that run, or remove the file"
            )
        self.progress.index = index

    def take(self, decisions: Decisions) -> None:
        """Queue the decisions of a batch, as JSON lines, until `commit` writes them."""
        self._waiting += b"".join(decisions.lines())

    def length(self) -> int:
        """Return how many bytes the file of decisions will have once the queued lines are written."""
        return self._file.tell() + len(self._waiting)

    def commit(self, progress: Checkpoint) -> None:
        """Write the queued lines to the disk, then the checkpoint with this progress.

        Nothing is written after a call that failed: a restart finds out what is on the disk.
        """
        if self._has_failed:
            return
        self._has_failed = True
        lines, self._waiting = self._waiting, bytearray()
        self._file.write(lines)
        to_disk(self._file, self._path)
        with replacing(self._checkpoint, follow=False) as file:
            file.write(msgspec.json.encode(progress))
        self._has_failed = False

    def lines(self) -> Iterator[bytes]:
        """Yield all decisions again, as JSON lines, read from the file."""
        with self._path.open("rb") as file:
            yield from file

    def ids(self) -> Iterator[str]:
        """Yield the ids of all documents in the file: at the beginning, those that the interrupted run has decided."""
        return (decided.id for decided in read_decisions(self.lines()))

    def _earlier(self, new: Checkpoint) -> Checkpoint | None:
        if not self._checkpoint.exists():
            if self._path.exists() and self._path.stat().st_size:
                raise InvalidArgument(f"{self._path} has no checkpoint beside it to continue from: name another file")
            return None
        try:
            earlier = msgspec.json.decode(self._checkpoint.read_bytes(), type=Checkpoint)
        except msgspec.MsgspecError as error:
            raise InvalidArgument(f"{self._checkpoint} is not a checkpoint: remove it and {self._path}") from error
        if earlier.inputs != new.inputs:
            raise InvalidInput(f"the input has changed since the run of {self._path}: remove that file to start anew")
        if (earlier.options, earlier.version) != (new.options, new.version):
            raise InvalidArgument(f"{self._path} is from a run with other options: use the same ones, or remove it")
        if not self._path.exists() or self._path.stat().st_size < earlier.result_bytes:
            raise InvalidArgument(f"{self._path} is shorter than its checkpoint says: remove both to start anew")
        return earlier


Sink = HandedDecisions | FileDecisions  # Takes decisions in input order.


def path_of(path: str) -> str:
    """Return the path of the checkpoint that belongs to the file of decisions at `path`."""
    return path + ".checkpoint"


def of_beginning(sources: Sources, deciding: object) -> Checkpoint:
    """Return the checkpoint of a run that has done nothing yet, with digests of its input and its options.

    A restart compares the digests; `deciding` has the options that must be the same.
    """
    if "-" in sources:
        raise InvalidArgument("`results` needs files: standard input cannot be read again after a restart")
    inputs = blake2b(digest_size=16)
    for source in sources.files():
        if source.path is not None and source.mode:
            inputs.update(os.fsencode(source.path) + f"\0{source.size} {source.changed_ns}\n".encode())
    options = blake2b(msgspec.json.encode(deciding, order="sorted"), digest_size=16)
    return Checkpoint(inputs.hexdigest(), options.hexdigest())


_ROWS = (
    "SELECT of, id, distance, similarity FROM duplicate"
    " JOIN (SELECT of, MIN(number) AS first FROM duplicate GROUP BY of) USING (of) ORDER BY first, number"
)


def write_clusters(lines: Iterable[bytes], path: str) -> None:
    """Write the clusters of a corpus to the file `path`: a JSON line for each original with the ids of its duplicates.

    `lines` are the JSON lines of all decisions. They are grouped on the disk, in the folder for temporary files: memory
    does not grow with the corpus.
    """
    with duplicate_table(lines) as database, replacing(path) as file:
        for of, members in groupby(database.execute(_ROWS), key=lambda row: row[0]):
            named = [dict(zip(("id", "distance", "similarity"), row[1:], strict=True)) for row in members]
            file.write(json_line({"id": of, "members": named}))
