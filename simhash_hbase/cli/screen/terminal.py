"""The process and its terminal: standard streams, signals, and characters that are safe to show."""

import errno
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from simhash_hbase.signals import ENDING, STOPPING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

OUTPUT, INPUT = "standard output", "standard input"
DEFAULT_ENCODING = "utf-8"
# Written as \u6c49 is better than not at all: an output's encoding is seldom its user's choice.
UNWRITABLE = "backslashreplace"

# A password may hold a slash that should have been percent-encoded.
_SECRET = re.compile(r"\b((?:rediss?|hbase(?:\+https?)?):(?://)?)\S*@|\b(https?://)[^\s/]*@", re.IGNORECASE)
_WRITTEN = {code: f"\\x{code:02x}" for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))}
_STARTING = "starting …"
_ERASE_LINE = "\r\x1b[K"
_shows_starting = False


def harmless(text: str) -> str:
    r"""Return a text in which control characters, which could move the cursor, are written as ``\x1b``.

    Tabs and line ends stay.

    Examples
    --------
    >>> harmless("a\x1b[2J")
    'a\\x1b[2J'
    """
    return text.translate(_WRITTEN)


def secretless(text: str) -> str:
    r"""Return a text in which the user names and passwords of addresses are replaced by ``…``.

    Examples
    --------
    >>> secretless("redis://:pa/ss@host/0 does not answer")
    'redis://…@host/0 does not answer'
    """
    return _SECRET.sub(r"\1\2…@", text)


def show_starting() -> None:
    """Show ``starting …`` on the terminal while a command loads its libraries, which may take seconds at a first run.

    Nothing is shown where standard error is no terminal, or one on which the text could not be erased.
    """
    global _shows_starting  # noqa: PLW0603 - a process has one terminal
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
        _shows_starting = True  # Before it is: a signal may come in between.
        sys.stderr.write(_STARTING)
        sys.stderr.flush()


def erase_starting() -> None:
    """Erase the text ``starting …`` if it is shown; called before anything else is printed."""
    global _shows_starting  # noqa: PLW0603
    if _shows_starting:
        _shows_starting = False
        sys.stderr.write(_ERASE_LINE)
        sys.stderr.flush()


def set_up_streams() -> None:
    """Replace ``sys.stdin`` and ``sys.stdout``, so that errors name them and every character can be written.

    ``sys.stderr`` can write every character, too. Only the process's own streams are replaced, not those that a caller
    put in their place, such as a test.
    """
    if sys.stdout is sys.__stdout__:
        encoding = getattr(sys.stdout, "encoding", None) or DEFAULT_ENCODING
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        raw = io.BufferedWriter(_NamedFile(1, "w", OUTPUT))
        sys.stdout = io.TextIOWrapper(raw, encoding=encoding, errors=UNWRITABLE, line_buffering=is_terminal)
    if sys.stdin is sys.__stdin__:
        encoding = getattr(sys.stdin, "encoding", None) or DEFAULT_ENCODING
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_NamedFile(0, "r", INPUT)), encoding=encoding)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors=UNWRITABLE)


def discard_output() -> None:
    """Let standard output that is not written yet go to the null device, so that Python's exit raises no error."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _NamedFile(io.FileIO):
    """A file opened by its descriptor, such as 1 for standard output, whose errors have a name to show."""

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


class Stopped(KeyboardInterrupt):
    """Raised in the main thread, as `KeyboardInterrupt` is, when Ctrl-C, SIGTERM or SIGHUP has come."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_stopped_by: list[int] = []  # The signals that have come within `stoppable`.


@contextmanager
def stoppable() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP raise `Stopped` in the block, so that it closes and removes its files.

    A library may turn that exception into one of its own, as numpy does where it compares structured arrays. After a
    signal, whatever comes out of the block is therefore `Stopped`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _stopped_by.clear()
    before = {number: signal.getsignal(number) for number in STOPPING}
    if before[signal.SIGINT] is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)
    for number in ENDING:
        if before[number] is signal.SIG_DFL:
            signal.signal(number, _stop)
    try:
        yield
    except BaseException as error:
        if _stopped_by and not isinstance(error, KeyboardInterrupt):
            raise Stopped(_stopped_by[0]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    _stopped_by.append(number)
    if number in ENDING:
        # A terminal that is closed sends its signal twice: the second must not end the cleaning up.
        for ending in ENDING:
            signal.signal(ending, signal.SIG_IGN)
    raise Stopped(number)
