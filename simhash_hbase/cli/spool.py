"""Standard input that has to be read twice."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["spooled"]


@contextmanager
def spooled(files: tuple[str, ...], *, wanted: bool) -> Iterator[str | None]:
    """Copy standard input to a temporary file where it is among the sources and will be read twice.

    Parameters
    ----------
    files : tuple of str
        FILE arguments.
    wanted : bool
        False leaves standard input alone.

    Yields
    ------
    str or None
        The copy; None where there is none.
    """
    if not wanted or "-" not in files:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield str(copy)
