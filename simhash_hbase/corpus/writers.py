"""Writers of the documents of a corpus that are kept: to a file, to a folder, as records of a crawl, or as a table.

A *kept* document is an original, which de-duplication does not remove. *Added fields* are whole numbers, such as counts
of copies, that each kept record gets. A *batch* is the documents that are decided at a time.
"""

import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import accumulate, islice
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from simhash_hbase import inputs
from simhash_hbase.corpus.forms import FILES, RECORDS, AddedNumbers, Conversion, KeptForm, check_id, split_row
from simhash_hbase.corpus.options import RunListener
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import followed, open_growing, open_temporary, replacing, target_of, to_disk, write_below
from simhash_hbase.files.remote import created, is_remote
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.jsonforms import plain
from simhash_hbase.inputs.columns import DocumentColumns
from simhash_hbase.inputs.lines import DELIMITERS
from simhash_hbase.inputs.records import text_of

# Without a time, so that the same documents make the same bytes.
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, compresslevel=6, mtime=0),
    ".zst": zstandard.compress,
}


def packer(path: str | Path) -> Callable[[bytes], bytes]:
    """Return the function that compresses bytes as a path's suffix says: .gz or .zst; with any other it copies them."""
    return _PACKERS.get(os.path.splitext(path)[1].lower(), bytes)


class NotKept:
    """The writer of kept documents for a run without an output: it writes nothing."""

    def write(self, documents: DocumentColumns, kept: Sequence[int], numbers: Sequence[Sequence[int]] = ()) -> None:
        """Do nothing: the kept documents of this run are not written."""

    def flush(self) -> int:
        """Return 0, the length of an output that is not written."""
        return 0

    def sync(self) -> None:
        """Do nothing: there is no file to sync to the disk."""


class KeptFile:
    """Writes the bytes of kept records to one file, one after the other, as they were in the input.

    Parameters
    ----------
    stream : BinaryIO
        The open file.
    start : bytes
        Bytes to write before the first record.
    entry : callable
        Returns the bytes of one record as they are written.
    batch : callable
        Returns the bytes of all queued records as they are written, such as compressed.
    added : AddedNumbers, optional
        Fields that the records get.
    """

    def __init__(
        self,
        stream: BinaryIO,
        start: bytes,
        entry: Callable[[bytes], bytes],
        batch: Callable[[bytes], bytes],
        *,
        added: AddedNumbers | None = None,
    ) -> None:
        self._stream = stream
        self._added = added
        self._entry = entry
        self._batch = batch
        self._waiting = bytearray(start)

    def write(self, documents: DocumentColumns, kept: Sequence[int], numbers: Sequence[Sequence[int]] = ()) -> None:
        """Queue the documents at the positions `kept` of a batch; `numbers` has each document's added fields."""
        raws = [documents.raws[at] or b"" for at in kept]
        if self._added is not None:
            raws = list(map(self._added.into, raws, (numbers[at] for at in kept)))
        self._waiting += b"".join(map(self._entry, raws))

    def add(self, raw: bytes) -> None:
        """Queue the bytes of one record for `flush`."""
        self._waiting += self._entry(raw)

    def flush(self) -> int:
        """Write the queued records to the file; return its length in bytes, 0 for a pipe."""
        if self._waiting:
            self._stream.write(self._batch(bytes(self._waiting)))
            self._waiting.clear()
        # The reader of a pipe has them now, and a full disk leaves whole records.
        self._stream.flush()
        return self._stream.tell() if self._stream.seekable() else 0

    def sync(self) -> None:
        """Sync the records that were written to the disk."""
        to_disk(self._stream, self._stream.name)


def check_kept(path: str, form: KeptForm, *, resume: bool) -> None:
    """Raise an error if kept documents cannot be written to `path`.

    If the documents are whole files, `path` must be a folder that is new or empty, or with `resume` the folder of the
    earlier run. Otherwise it must be a file.
    """
    if is_remote(path):
        return
    if form.kind != FILES:
        target_of(path)
        return
    folder = Path(followed(path))
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(f"`output` {path} is a file, and the input's documents are files: name a folder")
    if not resume and folder.exists() and next(folder.iterdir(), None) is not None:
        raise InvalidArgument(f"`output` {path} exists already and is not empty: name another folder")


class KeptFolder:
    """Writes each kept document to a file of its own in a folder; its id, a relative path, is the file's name.

    A file whose name ends in .gz or .zst is compressed, as in the input. `resume` says that an earlier run, which was
    interrupted, has begun the folder.
    """

    def __init__(self, path: str, *, resume: bool) -> None:
        self._folder = Path(path)
        self._resume = resume
        self._waiting: list[Path] = []
        self._count = 0
        self._folder.mkdir(exist_ok=True)

    def write(self, documents: DocumentColumns, kept: Sequence[int], numbers: Sequence[Sequence[int]] = ()) -> None:
        """Write the documents at the positions `kept` of a batch, each as a file named by its id."""
        for at in kept:
            name, raw = documents.ids[at], documents.raws[at] or b""
            check_id(name)
            write_below(self._folder, name, packer(name)(raw), completes=self._resume)
            self._waiting.append(self._folder / name)
        self._count += len(kept)

    def flush(self) -> int:
        """Return how many files this run has written so far."""
        return self._count

    def sync(self) -> None:
        """Sync the written files to the disk."""
        for path in self._waiting:
            with path.open("rb") as file:
                os.fsync(file.fileno())
        self._waiting.clear()


class KeptCaptures:
    """Writes WARC records of a crawl: originals as they came, and for each duplicate a record that refers to one.

    The record for a duplicate is a ``revisit`` record where the same payload was kept, else a ``metadata`` record.

    Parameters
    ----------
    file : KeptFile
        The file to which all records are written.
    before : iterable of bytes
        The originals that an earlier run has written.
    """

    def __init__(self, file: KeptFile, before: Iterable[bytes]) -> None:
        from simhash_hbase.inputs.warc import Captures  # noqa: PLC0415 - warcio is an extra

        self._file = file
        self._captures = Captures()
        for raw in before:
            self._captures.keep(raw)

    def write(self, documents: DocumentColumns, kept: Sequence[int], numbers: Sequence[Sequence[int]] = ()) -> None:
        """Queue the records of the documents at the positions `kept` of a batch, which are originals."""
        for at in kept:
            raw = documents.raws[at] or b""
            self._captures.keep(raw)
            self._file.add(raw)

    def write_decided(self, documents: DocumentColumns, decisions: Decisions) -> None:
        """Queue a record for each document of a batch: an original as it came, a reference in place of a duplicate."""
        for at, decision in enumerate(decisions):
            if decision.is_original:
                self.write(documents, [at])
                continue
            fields = {
                "near-duplicate-of": decision.of,
                "distance": decision.distance,
                "similarity": plain(decision.similarity),
            }
            self._file.add(self._captures.reference(documents.raws[at] or b"", fields))

    def flush(self) -> int:
        """Write the queued records; return the length of the file in bytes."""
        return self._file.flush()

    def sync(self) -> None:
        """Sync the records that were written to the disk."""
        self._file.sync()


_ROWS = [("file", "<u4"), ("row", "<u8")]
_BATCH_ROWS = 1_000

ConvertedRow = dict[str, Any]


class KeptRows:
    """Writes kept documents, at the end of the run, to a file of another format than the input's, or of Parquet.

    Until then they are noted in a file of their own, the notes: a Parquet file cannot be continued by a restart, and
    the header of a table needs the columns of all documents.

    Parameters
    ----------
    path : str
        The file to be written.
    conversion : Conversion
        The formats of the input and of the file.
    notes : BinaryIO
        Takes kept records as JSON lines, or numbers of rows of Parquet; a resumed run continues it.
    added : AddedNumbers, optional
        Fields that the records get.
    """

    def __init__(self, path: str, conversion: Conversion, notes: BinaryIO, added: AddedNumbers | None = None) -> None:
        self._added = added
        self._names = () if added is None else added.names
        self._row = Struct("<IQ" + "Q" * len(self._names))
        self._path = path
        self._conversion = conversion
        self._notes = notes
        self._files = {name: number for number, name in enumerate(conversion.files)}
        self._columns = [] if conversion.copies_rows else conversion.columns()

    def write(self, documents: DocumentColumns, kept: Sequence[int], numbers: Sequence[Sequence[int]] = ()) -> None:
        """Write the documents at the positions `kept` of a batch to the notes, with their added fields, `numbers`."""
        added = [numbers[at] if self._names else () for at in kept]
        if self._conversion.source == "parquet":
            places = ((self._files[documents.files[at]], documents.lines[at] - 1) for at in kept)
            notes = (self._row.pack(*place, *more) for place, more in zip(places, added, strict=True))
        else:
            notes = (self._json(documents.raws[at] or b"", more) for at, more in zip(kept, added, strict=True))
        self._notes.writelines(notes)

    def _json(self, raw: bytes, numbers: Sequence[int]) -> bytes:
        """Return a record, a line of JSON or a row of CSV, as a line of JSON; `numbers` are its added fields."""
        source, encoding = self._conversion.source, self._conversion.encoding
        if source in DELIMITERS:
            values = split_row(raw.decode(encoding), DELIMITERS[source])
            columns = (*self._columns, *self._names)
            return msgspec.json.encode(dict(zip(columns, (*values, *numbers), strict=True))) + b"\n"
        line = raw if self._added is None else self._added.into(raw, numbers)
        return _plain_json(line.decode(encoding).strip()) + b"\n"

    def flush(self) -> int:
        """Return the length in bytes of the notes, the file of the kept rows."""
        self._notes.flush()
        return self._notes.tell()

    def sync(self) -> None:
        """Sync the notes to the disk."""
        to_disk(self._notes, self._notes.name)

    def finish(self, listener: RunListener) -> None:
        """Write the noted documents to the file of the output, at the end of the run; Parquet input is read again."""
        copies, target = self._conversion.copies_rows, self._conversion.target
        if copies and not self._files:
            return
        rows = self.flush() // self._row.size if copies else None
        with replacing(self._path) as file, listener.meter("dedup: write the kept rows", rows, noun="rows") as meter:
            if copies:
                added = self._numbers()
                inputs.parquet.copy_rows(self._parts(), file, lambda done: meter.show(done, done), added)
                return
            counts = self._write_lines(file)
            if target == "parquet":
                parquet = inputs.parquet
                schema = parquet.schema_of_rows(self._batches())
                counts = parquet.written(file, schema, (parquet.batch_of(rows, schema) for rows in self._batches()))
            for done in accumulate(counts):
                meter.show(done)

    def _parts(self) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield the path of each Parquet file of the input with the numbers of its kept rows, from 0.

        An error is raised if a file was changed since the beginning of the run.
        """
        rows = self._noted()
        for number, (name, path) in enumerate(self._conversion.files.items()):
            first, last = np.searchsorted(rows["file"], (number, number + 1)).tolist()
            version = self._conversion.versions.get(name)
            if version is not None:
                version.check(path, name)
            yield path, rows["row"][first:last].astype(np.int64)
            if version is not None:
                version.check(path, name)

    def _noted(self) -> NDArray[Any]:
        """Return the kept rows of Parquet: for each the numbers of its file and row, from 0, and its added fields."""
        self._notes.flush()
        self._notes.seek(0)
        # A column of theirs may be called "row".
        return np.frombuffer(self._notes.read(), [*_ROWS, *((f"added {name}", "<u8") for name in self._names)])

    def _numbers(self) -> Mapping[str, NDArray[np.int64]]:
        """Return the columns that are added to kept rows of Parquet, such as counts of copies, by name."""
        rows = self._noted() if self._names else None
        return {} if rows is None else {name: rows[f"added {name}"].astype(np.int64) for name in self._names}

    def _batches(self) -> Iterator[list[ConvertedRow]]:
        """Yield the kept documents in the notes, in lists, each document as a dictionary of its fields.

        Each call reads all notes again.
        """
        rows: Iterator[ConvertedRow]
        if self._conversion.source == "parquet":
            rows = inputs.parquet.read_rows(self._parts())
            if numbers := self._numbers():
                columns = zip(*(column.tolist() for column in numbers.values()), strict=True)
                rows = (row | dict(zip(numbers, more, strict=True)) for row, more in zip(rows, columns, strict=True))
        else:
            self._notes.seek(0)
            rows = map(msgspec.json.Decoder(ConvertedRow).decode, self._notes)
        while batch := list(islice(rows, _BATCH_ROWS)):
            yield batch

    def _write_lines(self, file: BinaryIO) -> Iterator[int]:
        pack, delimiter = packer(self._path), DELIMITERS.get(self._conversion.target)
        if delimiter is None:
            for rows in self._batches():
                file.write(pack(msgspec.json.Encoder().encode_lines(rows)))
                yield len(rows)
            return
        names = [*self._columns, *self._names]
        if not self._columns:
            names = list(dict.fromkeys(name for rows in self._batches() for row in rows for name in row))
        file.write(pack(_csv([names], delimiter)))
        for rows in self._batches():
            file.write(pack(_csv(([text_of(row.get(name)) for name in names] for row in rows), delimiter)))
            yield len(rows)


def _plain_json(line: str) -> bytes:
    """Return a line of JSON as UTF-8, valid for all programs: NaN, infinite and too large numbers become null."""
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        # Python reads these.
        return msgspec.json.encode(json.loads(line))
    return line.encode()


def _csv(rows: Iterable[Sequence[str | None]], delimiter: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode()


Kept = NotKept | KeptFile | KeptCaptures | KeptFolder | KeptRows
"""A writer of kept documents: `write` takes batches in input order, with the positions of the kept documents.

`flush` writes what is queued, and returns how many bytes or files there are in all; `sync` has them reach the disk.
"""
_GZIP = b"\x1f\x8b"


def rows_path(path: str) -> str:
    """Return the path of the file beside an output in which `KeptRows` notes kept rows, for a resumed run to read."""
    return f"{path}.rows"


@contextmanager
def open_kept(
    path: str | None, form: KeptForm | None, listener: RunListener, *, keep: int | None, resume: bool
) -> Iterator[Kept]:
    """Open the file or folder for the kept documents of a run, and yield their writer.

    If `path` is None, the writer writes nothing. `keep` is how many bytes of an earlier run's file stay, 0 for a first
    run; None if no restart can continue this run. `resume` says that an earlier run has begun the output.
    """
    if path is None or form is None:
        yield NotKept()
    elif form.conversion is not None:
        notes = open_temporary() if keep is None else open_growing(rows_path(path), keep, follow=False)
        with notes:
            rows = KeptRows(path, form.conversion, notes, form.added)
            yield rows
            rows.finish(listener)
    elif form.kind == FILES:
        yield KeptFolder(path, resume=resume)
    else:
        with _opened(path, keep) as file:
            pack = packer(path)
            if form.kind != RECORDS:
                start = b"" if keep else form.start
                kept = KeptFile(file, start, lambda raw: raw + form.line_end, pack, added=form.added)
            elif path.lower().endswith(".gz"):
                # A record that came as a gzip member stays as it is.
                kept = KeptFile(file, b"", lambda raw: raw if raw.startswith(_GZIP) else pack(raw), bytes)
            else:
                kept = KeptFile(file, b"", lambda raw: gzip.decompress(raw) if raw.startswith(_GZIP) else raw, pack)
            if form.refers:
                pages = inputs.scan([path], inputs.InputOptions(format="warc", keep_raw=True)) if keep else ()
                yield KeptCaptures(kept, (page.raw for page in pages if isinstance(page, inputs.Page) and page.raw))
            else:
                yield kept
            kept.flush()
            kept.sync()


def _opened(path: str, keep: int | None) -> AbstractContextManager[BinaryIO]:
    """Open the output file to write after its first `keep` bytes; None: it takes its name when it is complete."""
    if is_remote(path):
        return created(path)
    return replacing(path) if keep is None else open_growing(path, keep)
