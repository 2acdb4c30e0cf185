"""A word on a terminal while a command loads what it needs: a first run makes jieba's dictionary ready."""

import os
import sys

_WORD = "starting …"
_ERASE_LINE = "\r\x1b[K"
_shown = False


def show_starting() -> None:
    """Show the word, unless standard error is no terminal, or one whose cursor does not move."""
    global _shown  # noqa: PLW0603 - a process has one terminal
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
        _shown = True  # Before it is: a signal may come in between.
        sys.stderr.write(_WORD)
        sys.stderr.flush()


def erase_starting() -> None:
    """Remove the word, before anything else is printed."""
    global _shown  # noqa: PLW0603
    if _shown:
        _shown = False
        sys.stderr.write(_ERASE_LINE)
        sys.stderr.flush()
