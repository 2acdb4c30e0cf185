"""A file that a run goes on with where an earlier one was ended."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from simhash_hbase.errors import InvalidArgument

__all__ = ["opened"]


@contextmanager
def opened(path: str | None, keep: int) -> Iterator[BinaryIO]:
    """Open a file for more.

    Parameters
    ----------
    path : str or None
        Made where it is not there; None is a temporary file.
    keep : int
        Bytes of it that stay.

    Yields
    ------
    BinaryIO

    Raises
    ------
    InvalidArgument
        When it is shorter.
    """
    if path is None:
        with tempfile.TemporaryFile() as unnamed:
            yield unnamed
        return
    with Path(path).open("a+b") as file:
        if file.seek(0, 2) < keep:
            raise InvalidArgument(f"{path} is shorter than the checkpoint says: remove --results FILE to start anew")
        file.truncate(keep)
        # Cutting moves no position, and how long the file is will be asked before the next byte is written.
        file.seek(0, 2)
        yield file
