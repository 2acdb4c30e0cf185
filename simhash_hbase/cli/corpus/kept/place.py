"""A file that a run goes on with where an earlier one was ended."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.placed import open_placed, open_temporary


@contextmanager
def opened(path: str | None, keep: int) -> Iterator[BinaryIO]:
    """Open a file for more."""
    if path is None:
        with open_temporary() as unnamed:
            yield unnamed
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open_placed(path, "wb") as device:
            yield device
        return
    with open_placed(path, "a+b") as file:
        if file.seek(0, 2) < keep:
            raise InvalidArgument(f"{path} is shorter than the checkpoint says: remove --results FILE to start anew")
        file.truncate(keep)
        # Cutting moves no position, and how long the file is will be asked before the next byte is written.
        file.seek(0, 2)
        yield file
