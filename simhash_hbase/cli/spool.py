"""Standard input that has to be read twice."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["spooled"]


@contextmanager
def spooled(files: tuple[str, ...], *, wanted: bool) -> Iterator[tuple[str, ...]]:
    """Copy standard input to a temporary file where it is among the sources and will be read twice.

    Parameters
    ----------
    files : tuple of str
        FILE arguments.
    wanted : bool
        False leaves standard input alone.

    Yields
    ------
    tuple of str
        The arguments, ``-`` replaced by the file.
    """
    if not wanted or "-" not in files:
        yield files
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        copy = Path(folder) / "stdin.jsonl"
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield tuple(str(copy) if name == "-" else name for name in files)
