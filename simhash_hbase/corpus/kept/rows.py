"""The kept documents of Parquet files: a Parquet file with the same columns."""

import os
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import replacing
from simhash_hbase.inputs import Place

_ENTRY = Struct("<IQ")
_ENTRIES = np.dtype([("file", "<u4"), ("row", "<u8")])


class RowNotes:
    """Numbers of rows of some files, noted one by one."""

    def __init__(self, files: Mapping[str, str], notes: BinaryIO) -> None:
        self._files = files
        self._numbers = {name: number for number, name in enumerate(files)}
        self._notes = notes

    def add(self, place: Place) -> None:
        """Note the row at a place."""
        self._notes.write(_ENTRY.pack(self._numbers[place.file], place.line - 1))

    def parts(self) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Return each file, by where to open it, with its rows."""
        self._notes.flush()
        self._notes.seek(0)
        entries = np.frombuffer(self._notes.read(), _ENTRIES)
        for number, path in enumerate(self._files.values()):
            first, last = np.searchsorted(entries["file"], (number, number + 1)).tolist()
            yield path, entries["row"][first:last].astype(np.int64)


class KeptRows:
    """Notes which rows are kept; writes them at the end, since a Parquet file cannot be continued."""

    def __init__(self, path: str, files: Mapping[str, str], notes: BinaryIO) -> None:
        if path.lower().endswith((".gz", ".zst")):
            raise InvalidArgument(f"--output {path}: Parquet compresses inside of the file: name it .parquet")
        self._path = path
        self._files = files
        self._numbers = RowNotes(files, notes)
        self._notes = notes

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Note one row."""
        self._numbers.add(place)

    def commit(self) -> int:
        """Bring what was noted to the disk; return its length."""
        self._notes.flush()
        os.fsync(self._notes.fileno())
        return self._notes.tell()

    def finish(self, watch: Watch) -> None:
        """Read the input again, and write the rows."""
        if not self._files:
            return
        from simhash_hbase.inputs.parquet.parquetcopy import copy_rows  # noqa: PLC0415 - pyarrow is an extra

        rows = self.commit() // _ENTRY.size
        with replacing(self._path) as file, watch.meter("dedup: write the kept rows", rows, noun="rows") as meter:
            copy_rows(self._numbers.parts(), file.name, lambda done: meter.show(done, done))


def rows_path(path: str) -> str:
    """Name the file of row numbers beside an output, from which a restart continues."""
    return f"{path}.rows"


def same_columns(files: Mapping[str, str]) -> Mapping[str, str]:
    """Return those of some Parquet files that can be read: names, and where to open them."""
    if not files:
        return {}
    from simhash_hbase.inputs.parquet.parquetcopy import schema_of  # noqa: PLC0415 - pyarrow is an extra

    schemas = {name: schema for name, path in files.items() if (schema := schema_of(path)) is not None}
    names = tuple(schemas)
    for name in names[1:]:
        if schemas[name] != schemas[names[0]]:
            raise InvalidArgument(f"--output keeps rows of the same columns, and those of {names[0]} and {name} differ")
    return {name: files[name] for name in names}
