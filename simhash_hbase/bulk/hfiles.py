"""HFiles by a Java program: sorted cells into its standard input, what it did out of its standard output."""

import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import IO

import msgspec

from simhash_hbase.bulk.cells import CellBlock
from simhash_hbase.bulk.stream import pack_stream
from simhash_hbase.errors import StoreRefused, StoreUnavailable
from simhash_hbase.rows.keys import BlockRows

# What HBase and its libraries log stands in the same output.
MARK = b"HFileLoader: "
SHOWN_LINES = 6


class FamilyFiles(msgspec.Struct, frozen=True):
    """What became of one family."""

    cells: int
    files: int
    bytes: int


class HFilesLoaded(msgspec.Struct, frozen=True):
    """What the Java program says."""

    families: dict[str, FamilyFiles]
    write_s: float
    """Seconds in which it read cells and wrote files."""
    load_s: float
    """Seconds in which the region servers took them over."""


class _Regions(msgspec.Struct, frozen=True):
    starts: list[str]


class HFileWriter:
    """Writes a load as HFiles that the region servers take over."""

    way = "HFiles"
    """For the summary."""

    def __init__(self, program: Sequence[str], table: str, staging: str) -> None:
        self._program = list(program)
        self._table = table
        self._staging = staging
        self.done: HFilesLoaded | None = None
        """What the last `write` did."""

    def write(self, cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> None:
        """Write sorted cells and block rows; see `Writer.write`."""
        pieces = pack_stream(cells, rows, timestamp=timestamp)
        said = self._run(["load", self._table, self._staging], pieces)
        self.done = msgspec.json.decode(said, type=HFilesLoaded)

    def region_starts(self) -> list[bytes]:
        """Ask HBase for the first keys of the table's regions, the first of them empty."""
        said = self._run(["regions", self._table], [])
        return [bytes.fromhex(start) for start in msgspec.json.decode(said, type=_Regions).starts]

    def _run(self, arguments: list[str], pieces: Iterable[bytes]) -> bytes:
        with tempfile.TemporaryFile() as log:
            process = _start([*self._program, *arguments], log)
            try:
                _feed(process.stdin, pieces)
            finally:
                # An input that breaks off is refused: the program removes what it wrote, then ends.
                _end(process)
            log.seek(0)
            lines = log.read().splitlines()
        said = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
        if process.returncode or not said:
            raise StoreRefused(f"HFiles could not be loaded into {self._table}: {_complaint(lines)}")
        return said[-1]


def _start(command: list[str], log: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start the program; a Ctrl-C is not for it, it ends when its input does."""
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        raise StoreUnavailable(f"{command[0]} cannot be started: {error.strerror}") from error


def _feed(stream: IO[bytes] | None, pieces: Iterable[bytes]) -> None:
    """Write everything; a program that ends early has said why."""
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
    """Take what says most from a Java program's output: the exceptions, else the last lines."""
    lines = [text for line in log if (text := line.decode(errors="replace").strip())]
    causes = [line for line in lines if line.startswith(("Exception in thread", "Caused by:", "Error:"))]
    return " / ".join((causes or lines)[-SHOWN_LINES:]) or "it says nothing"
