"""Lines of a stream, many at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

from simhash_hbase.inputs.options import RAISE
from simhash_hbase.inputs.stream.streams import Stream


@dataclass(slots=True)
class Batch:
    """Consecutive lines without their line ends, or one piece that is no whole line."""

    first: int  # 1-based number of the first line.
    lines: list[bytes]  # Line ends ``\n`` and ``\r\n`` are taken off, nothing else.
    fault: str | None = None  # Why ``lines`` is one incomplete line.


def batches(stream: Stream, max_bytes: int, first: int = 1) -> Iterator[Batch]:
    r"""Split a stream at ``\n`` and ``\r\n``, not at U+2028, U+0085 or a lone ``\r``; number lines from `first` on."""
    splitter = _Splitter(max_bytes, first)
    for block in stream.blocks:
        yield from splitter.feed(block)
    yield from splitter.finish(stream.fault)


class _Splitter:
    """Keeps the beginning of a line whose end has not come yet."""

    def __init__(self, max_bytes: int, first: int) -> None:
        self._max_bytes = max_bytes
        self._number = first
        self._pieces: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, block: bytes) -> Iterator[Batch]:
        cut = block.rfind(b"\n")
        if cut >= 0:
            yield from self._whole_lines(block[:cut].split(b"\n"))
        self._hold(block[cut + 1 :])
        # One byte more may be the \r of a line that just fits.
        if self._held > self._max_bytes + 1:
            yield self._too_long(b"".join(self._pieces), self._number)
            self._pieces, self._held, self._skipping = [], 0, True

    def finish(self, fault: str | None) -> Iterator[Batch]:
        rest = b"".join(self._pieces)
        if fault is not None:
            yield Batch(self._number, [rest], fault)
        elif rest:
            yield from self._bounded(self._number, [rest])

    def _whole_lines(self, lines: list[bytes]) -> Iterator[Batch]:
        first = self._number
        self._number += len(lines)
        if self._skipping:
            lines, first = lines[1:], first + 1
        elif self._pieces:
            lines[0] = b"".join((*self._pieces, lines[0]))
        self._pieces, self._held, self._skipping = [], 0, False
        yield from self._bounded(first, lines)

    def _hold(self, piece: bytes) -> None:
        if piece and not self._skipping:
            self._pieces.append(piece)
            self._held += len(piece)

    def _bounded(self, first: int, lines: list[bytes]) -> Iterator[Batch]:
        lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        start = 0
        for at, line in enumerate(lines):
            if len(line) > self._max_bytes:
                yield Batch(first + start, lines[start:at])
                yield self._too_long(line, first + at)
                start = at + 1
        yield Batch(first + start, lines[start:] if start else lines)

    def _too_long(self, line: bytes, number: int) -> Batch:
        reason = f"the line is longer than {self._max_bytes:,} bytes; {RAISE}; only its beginning is kept"
        return Batch(number, [line[: self._max_bytes]], reason)
