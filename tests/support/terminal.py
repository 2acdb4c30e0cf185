"""Terminals: one for a process of its own, and one in place of this process's standard error."""

import errno
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager
from fcntl import ioctl
from threading import Thread, Timer

from support.patience import END_S
from support.results import command

LINES = 24
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# Makes the terminal on its standard input its own, so that a ^C that is typed reaches it and its workers.
TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


def without_styles(shown):
    return STYLE.sub("", shown)


def open_terminal(columns):
    """Return both ends of a terminal: the user's, and the one for programs."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    return master, slave


def read_some(master):
    """Read what a terminal shows; nothing when no program holds it any more."""
    try:
        return os.read(master, 1 << 16).decode(errors="replace")
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return ""


class Terminal:
    """A process whose standard error is a terminal, and its standard output too unless there is a file for it."""

    def __init__(self, *words, out=None, env=None, columns=80):
        self._master, slave = open_terminal(columns)
        environment = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *command(*words)],
            stdin=slave,
            stdout=out or slave,
            stderr=slave,
            env={name: value for name, value in environment.items() if value is not None},
            start_new_session=True,
        )
        os.close(slave)
        self.shown = ""

    def type(self, keys):
        os.write(self._master, keys.encode())

    def read_until(self, pattern):
        while not re.search(pattern, self.shown):
            some = read_some(self._master)
            assert some, f"ended without {pattern}: {self.shown}"
            self.shown += some

    def finish(self):
        stopper = Timer(END_S, self.process.kill)
        stopper.start()
        while some := read_some(self._master):
            self.shown += some
        stopper.cancel()
        code = self.process.wait(timeout=END_S)
        os.close(self._master)
        return code, self.shown


def on_terminal(*words, **options):
    return Terminal(*words, **options).finish()


@contextmanager
def terminal_as_stderr(monkeypatch):
    """Put a terminal in the place of standard error; yields a list that has what it showed in the end."""
    master, slave = open_terminal(80)
    shown = []
    reader = Thread(target=lambda: shown.extend(iter(lambda: read_some(master), "")))
    reader.start()
    with open(slave, "w", encoding="utf-8") as stderr, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "80")
        yield shown
    reader.join()
    os.close(master)
    shown[:] = ["".join(shown)]
