"""HFiles, the files in which HBase keeps cells, written by a Java program that reads sorted cells on standard input."""

import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec
import numpy as np

from simhash_hbase.bulk.sorting import KEY_BYTES, CellBlock
from simhash_hbase.errors import StoreRefused, StoreUnavailable
from simhash_hbase.rows.keys import BlockRows, pack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES, FAMILY_BLOCKS, FAMILY_DOCUMENTS

MAGIC = b"SHB1"
END = b"\x00"
# Both sides hold a whole block of the stream in memory.
ROWS_A_BLOCK = 1 << 18
CELLS_A_BLOCK = 1 << 14


def pack_stream(cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> Iterator[bytes]:
    """Yield the bytes that the Java program reads: sorted cells and block rows, and the `timestamp` of all, in ms.

    ``hfile_loader/HFileLoader.java`` describes the format.
    """
    yield MAGIC + timestamp.to_bytes(8, "big")
    for block in cells:
        for first in range(0, len(block.values), CELLS_A_BLOCK):
            some = CellBlock(block.keys[first : first + CELLS_A_BLOCK], block.values[first : first + CELLS_A_BLOCK])
            row_ends, ends = some.ends()
            lengths = np.fromiter(map(len, some.values), ">u4", len(some.values))
            yield _head(FAMILY_DOCUMENTS, KEY_BYTES, len(some.values), has_values=True)
            yield from (some.keys.tobytes(), row_ends.tobytes(), ends.tobytes(), lengths.tobytes())
            yield b"".join(some.values)
    for page in rows:
        for first in range(0, len(page.prefixes), ROWS_A_BLOCK):
            part = slice(first, first + ROWS_A_BLOCK)
            packed = pack_rows(BlockRows(page.prefixes[part], page.simhashes[part]))
            yield _head(FAMILY_BLOCKS, BLOCK_ROW_BYTES, len(packed) // BLOCK_ROW_BYTES, has_values=False)
            yield packed
    yield END


def _head(family: str, width: int, count: int, *, has_values: bool) -> bytes:
    return family.encode() + width.to_bytes(4, "big") + count.to_bytes(4, "big") + bytes([has_values])


# HBase and its libraries log into the same output.
MARK = b"HFileLoader: "
SHOWN_LINES = 6


class FamilyFiles(msgspec.Struct, frozen=True):
    """The numbers of cells, HFiles and bytes that the Java program wrote and loaded for one column family."""

    cells: int
    files: int
    bytes: int


class HFileWriter:
    """A `Writer` for HBase: writes the rows and cells of a load as HFiles, which the region servers take over."""

    way = "HFiles"

    def __init__(self, program: Sequence[str], table: str, staging: str) -> None:
        self._command = [*program, table, staging]
        self._table = table
        self.done: dict[str, FamilyFiles] = {}
        """Counts of the last `write`, by family."""

    def write(self, cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> None:
        """Write sorted cells and block rows as HFiles, and have HBase take these over; see `Writer.write`."""
        said = run_loader(self._command, pack_stream(cells, rows, timestamp=timestamp), self._table)
        self.done = msgspec.json.decode(said, type=dict[str, FamilyFiles])


def run_loader(command: list[str], pieces: Iterable[bytes], table: str) -> bytes:
    """Run the Java program that loads HFiles into a table, and return its report, a line of JSON.

    `pieces` is the program's standard input, piece by piece. `StoreRefused` has the reason if the program fails.
    """
    with tempfile.TemporaryFile() as log:
        try:
            # Out of reach of Ctrl-C: it ends when its input does.
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise StoreUnavailable(f"{command[0]} cannot be started: {error.strerror}") from error
        stream = process.stdin
        assert stream is not None
        try:
            # A program that ends early has logged why.
            with suppress(BrokenPipeError):
                stream.writelines(pieces)
                stream.flush()
        finally:
            # An input that breaks off is refused: the program removes its files, then ends.
            with suppress(BrokenPipeError):
                stream.close()
            try:
                process.wait()
            except BaseException:
                process.kill()
                process.wait()
                raise
        log.seek(0)
        lines = log.read().splitlines()
    reports = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    if process.returncode or not reports:
        # The exceptions in a Java program's output, else the last lines.
        texts = [text for line in lines if (text := line.decode(errors="replace").strip())]
        causes = [text for text in texts if text.startswith(("Exception in thread", "Caused by:", "Error:"))]
        complaint = " / ".join((causes or texts)[-SHOWN_LINES:]) or "the Java program printed no reason"
        raise StoreRefused(f"HFiles could not be loaded into {table}: {complaint}")
    return reports[-1]
