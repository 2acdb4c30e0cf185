"""HFiles by a Java program: it reads sorted cells from standard input and reports on standard output."""

import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import IO

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
    """Yield the program's input; ``hfile_loader/HFileLoader.java`` describes its format."""
    yield MAGIC + timestamp.to_bytes(8, "big")
    yield from chain.from_iterable(map(_cells, cells))
    yield from chain.from_iterable(map(_rows, rows))
    yield END


def _rows(rows: BlockRows) -> Iterator[bytes]:
    for first in range(0, len(rows.prefixes), ROWS_A_BLOCK):
        some = slice(first, first + ROWS_A_BLOCK)
        packed = pack_rows(BlockRows(rows.prefixes[some], rows.simhashes[some]))
        yield _head(FAMILY_BLOCKS, BLOCK_ROW_BYTES, len(packed) // BLOCK_ROW_BYTES, has_values=False)
        yield packed


def _cells(block: CellBlock) -> Iterator[bytes]:
    for first in range(0, len(block.values), CELLS_A_BLOCK):
        some = CellBlock(block.keys[first : first + CELLS_A_BLOCK], block.values[first : first + CELLS_A_BLOCK])
        rows, ends = some.ends()
        lengths = np.fromiter(map(len, some.values), ">u4", len(some.values))
        yield _head(FAMILY_DOCUMENTS, KEY_BYTES, len(some.values), has_values=True)
        yield from (some.keys.tobytes(), rows.tobytes(), ends.tobytes(), lengths.tobytes())
        yield b"".join(some.values)


def _head(family: str, width: int, count: int, *, has_values: bool) -> bytes:
    return family.encode() + width.to_bytes(4, "big") + count.to_bytes(4, "big") + bytes([has_values])


# HBase and its libraries log into the same output.
MARK = b"HFileLoader: "
SHOWN_LINES = 6


class FamilyFiles(msgspec.Struct, frozen=True):
    """What the program wrote and loaded for one family."""

    cells: int
    files: int
    bytes: int


class HFileWriter:
    """Writes a load as HFiles that the region servers take over."""

    way = "HFiles"

    def __init__(self, program: Sequence[str], table: str, staging: str) -> None:
        self._command = [*program, table, staging]
        self._table = table
        self.done: dict[str, FamilyFiles] = {}
        """Counts of the last `write`, by family."""

    def write(self, cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> None:
        """Write sorted cells and block rows; see `Writer.write`."""
        said = run_loader(self._command, pack_stream(cells, rows, timestamp=timestamp), self._table)
        self.done = msgspec.json.decode(said, type=dict[str, FamilyFiles])


def run_loader(command: list[str], pieces: Iterable[bytes], table: str) -> bytes:
    """Run the program on an input, and return what it reports."""
    with tempfile.TemporaryFile() as log:
        process = _start(command, log)
        try:
            _feed(process.stdin, pieces)
        finally:
            # An input that breaks off is refused: the program removes what it wrote, then ends.
            _end(process)
        log.seek(0)
        lines = log.read().splitlines()
    said = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    if process.returncode or not said:
        raise StoreRefused(f"HFiles could not be loaded into {table}: {_complaint(lines)}")
    return said[-1]


def _start(command: list[str], log: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start the program out of reach of Ctrl-C: it ends when its input does."""
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        raise StoreUnavailable(f"{command[0]} cannot be started: {error.strerror}") from error


def _feed(stream: IO[bytes] | None, pieces: Iterable[bytes]) -> None:
    """Write everything; a program that ends early has logged why."""
    if stream is not None:
        with suppress(BrokenPipeError):
            stream.writelines(pieces)
            stream.flush()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


def _complaint(log: list[bytes]) -> str:
    """Pick the exceptions out of a Java program's output, else the last lines."""
    lines = [text for line in log if (text := line.decode(errors="replace").strip())]
    causes = [line for line in lines if line.startswith(("Exception in thread", "Caused by:", "Error:"))]
    return " / ".join((causes or lines)[-SHOWN_LINES:]) or "the Java program printed no reason"
