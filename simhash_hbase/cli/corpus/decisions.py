"""Where the decisions of `dedup` go: standard output, or a file with a checkpoint."""

import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Protocol, Self

import msgspec

from simhash_hbase.cli.screen.output import Output
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.index.jsonforms import json_line
from simhash_hbase.inputs import source_files
from simhash_hbase.placed import open_placed, open_temporary, to_disk

VERSION = 2
_DECIDE_NOTHING = ("debug", "quiet", "report", "resume", "workers")


class Checkpoint(msgspec.Struct, forbid_unknown_fields=True):
    """How far a run has come: what it says is on the disk, whatever else is not."""

    inputs: str
    """Digest of path, size and time of change of every file of the input."""
    options: str
    """Digest of the options that decide what is written."""
    records: int = 0
    """Records of the input that are done with, refused ones too."""
    read: int = 0
    """Documents that have a decision."""
    originals: int = 0
    refused: int = 0
    result_bytes: int = 0
    """Length of the file of decisions."""
    kept_bytes: int = 0
    """Length of the file of kept documents, or number of files in their folder."""
    finished: bool = False
    version: int = VERSION


class _Decided(msgspec.Struct):
    """What a restart needs of a decision."""

    id: str


class Decisions(Protocol):
    """Takes decisions in input order."""

    @property
    def start(self) -> Checkpoint | None:
        """Where the run goes on; None at the beginning."""

    def line(self, record: Mapping[str, object]) -> None:
        """Take one decision."""

    def commit(self, progress: Checkpoint) -> None:
        """Make what was taken durable, as far as it can be."""

    def lines(self) -> Iterator[bytes]:
        """Read all decisions again, when the last one was committed."""

    def ids(self) -> Iterator[str]:
        """Read which documents have a decision from an earlier run."""


class PrintedDecisions:
    """Prints decisions as they come."""

    start: Checkpoint | None = None

    def __init__(self, output: Output, *, remember: bool) -> None:
        self._output = output
        self._copy = open_temporary() if remember else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._copy is not None:
            self._copy.close()

    def line(self, record: Mapping[str, object]) -> None:
        """Print one decision."""
        self._output.line(record)
        if self._copy is not None:
            self._copy.write(json_line(record))

    def lines(self) -> Iterator[bytes]:
        """Read all decisions again; only when they were to be remembered."""
        if self._copy is not None:
            self._copy.seek(0)
            yield from self._copy

    def ids(self) -> Iterator[str]:
        """Read nothing: there was no earlier run."""
        return iter(())

    def commit(self, progress: Checkpoint) -> None:
        """Hand what was printed to the reader."""
        self._output.flush()


class FileDecisions:
    """Writes decisions to a file, and beside it a checkpoint after each batch.

    The order is: the index commits a batch, its lines reach the disk, then the checkpoint replaces the one before.
    A crash in between leaves lines behind the checkpoint, which a restart cuts; their documents get the decisions
    that the index recorded, so the file ends with the same bytes.
    """

    def __init__(self, path: str, new: Checkpoint, *, resume: bool) -> None:
        self._path = Path(path)
        self._checkpoint = Path(checkpoint_path(path))
        self.start = self._earlier(new) if resume else None
        if not resume and self._path.exists():
            raise InvalidArgument(f"{path} is there already: add --resume to go on with it, or remove it")
        self._is_new = not self._path.exists()
        self._file: BinaryIO = open_placed(self._path, "a+b")
        self._file.truncate(self.start.result_bytes if self.start else 0)
        # Cutting moves no position, and how long the file is may be asked before the next byte is written.
        self._file.seek(0, 2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()
        finally:
            if kind is not None and self._is_new and not self._path.stat().st_size:
                # Nothing to go on from: the corrected command begins anew, and would be refused for these files.
                self._path.unlink()
                self._checkpoint.unlink(missing_ok=True)

    def line(self, record: Mapping[str, object]) -> None:
        """Write one decision."""
        self._file.write(json_line(record))

    def commit(self, progress: Checkpoint) -> None:
        """Bring lines, then the checkpoint, to the disk."""
        to_disk(self._file, self._path)
        progress.result_bytes = self._file.tell()
        partial = self._checkpoint.with_name(self._checkpoint.name + ".partial")
        try:
            with open_placed(partial, "wb") as file:
                file.write(msgspec.json.encode(progress))
                to_disk(file, partial)
            partial.replace(self._checkpoint)
        finally:
            partial.unlink(missing_ok=True)

    def lines(self) -> Iterator[bytes]:
        """Read all decisions again."""
        with self._path.open("rb") as file:
            yield from file

    def ids(self) -> Iterator[str]:
        """Read which documents have a decision from the earlier run; refused ones have none."""
        decode = msgspec.json.Decoder(_Decided).decode
        return (decode(line).id for line in self.lines())

    def _earlier(self, new: Checkpoint) -> Checkpoint | None:
        if not self._checkpoint.exists():
            if self._path.exists() and self._path.stat().st_size:
                raise InvalidArgument(f"{self._path} has no checkpoint beside it to go on from: name another file")
            return None
        try:
            found = msgspec.json.decode(self._checkpoint.read_bytes(), type=Checkpoint)
        except msgspec.MsgspecError as error:
            raise InvalidArgument(f"{self._checkpoint} is no checkpoint: remove it and {self._path}") from error
        if found.inputs != new.inputs:
            raise InvalidInput(f"the input has changed since the run of {self._path}: remove that file to start anew")
        if (found.options, found.version) != (new.options, new.version):
            raise InvalidArgument(f"{self._path} is from a run with other options: use the same ones, or remove it")
        if not self._path.exists() or self._path.stat().st_size < found.result_bytes:
            raise InvalidArgument(f"{self._path} is shorter than its checkpoint says: remove both to start anew")
        return found


def checkpoint_path(path: str) -> str:
    """Name the checkpoint of a file of decisions."""
    return path + ".checkpoint"


def new_checkpoint(sources: Sequence[str], options: Mapping[str, object]) -> Checkpoint:
    """Describe a run from its beginning."""
    if "-" in sources:
        raise InvalidArgument("--results needs files: standard input cannot be read again after a restart")
    deciding = {name: value for name, value in options.items() if name not in _DECIDE_NOTHING}
    digest = blake2b(msgspec.json.encode(deciding, order="sorted"), digest_size=16).hexdigest()
    return Checkpoint(inputs=_digest_of(sources), options=digest)


def _digest_of(sources: Sequence[str]) -> str:
    digest = blake2b(digest_size=16)
    for path, size, changed in source_files(sources):
        digest.update(os.fsencode(path) + f"\0{size} {changed}\n".encode())
    return digest.hexdigest()
