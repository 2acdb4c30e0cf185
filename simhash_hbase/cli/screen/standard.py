"""Standard input and output of the process: errors name them, and no character is one that they cannot write."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


OUTPUT, INPUT = "standard output", "standard input"
DEFAULT_ENCODING = "utf-8"
# Written as \u6c49 is better than not at all: an output's encoding is seldom what its user chose.
UNWRITABLE = "backslashreplace"


class _Named(io.FileIO):
    """A file by its number, whose errors name it."""

    def __init__(self, number: int, mode: str, name: str) -> None:
        super().__init__(number, mode, closefd=False)
        self._said = name
        self._ended = False

    def write(self, data: "ReadableBuffer", /) -> int:
        with self._named():
            return super().write(data)

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        if self._ended:
            # A terminal would wait for a second ^D.
            return 0
        with self._named():
            read = super().readinto(buffer)
        self._ended = read == 0
        return read

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = self._said
            if error.errno == errno.EBADF:
                error.strerror = "it is closed"
            raise


def set_up_streams() -> None:
    """Replace standard input and output of this process, and have standard error write whatever it is given.

    Only the process's own are replaced: what a caller put in their place is the caller's.
    """
    if sys.stdout is sys.__stdout__:
        encoding, is_terminal = _encoding(sys.stdout), sys.stdout is not None and sys.stdout.isatty()
        raw = io.BufferedWriter(_Named(1, "w", OUTPUT))
        sys.stdout = io.TextIOWrapper(raw, encoding=encoding, errors=UNWRITABLE, line_buffering=is_terminal)
    if sys.stdin is sys.__stdin__:
        encoding = _encoding(sys.stdin)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Named(0, "r", INPUT)), encoding=encoding)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors=UNWRITABLE)


def _encoding(stream: object) -> str:
    return getattr(stream, "encoding", None) or DEFAULT_ENCODING


def discard_output() -> None:
    """Throw away what is still to be written, so that Python does not complain of it at its end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
