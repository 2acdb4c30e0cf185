"""An index for one run: in memory below a size, in a temporary folder above; gone afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from simhash_hbase.index.index import Index
from simhash_hbase.opening.indexes import create_index

IN_MEMORY_BYTES = 4 << 20
"""Bytes of input; a document in memory takes 7 KB, however short it is, and is decided at half of the speed."""


@contextmanager
def temporary_index(input_bytes: int | None, **options: Any) -> Iterator[Index]:  # noqa: ANN401 - of several types
    """Make an index that ends with the block, also when a signal or an error ends that.

    Parameters
    ----------
    input_bytes : int, optional
        Size of the documents; None if it is unknown.
    **options
        As for `create_index`.
    """
    with ExitStack() as stack:
        url = "memory:"
        if input_bytes is None or input_bytes > IN_MEMORY_BYTES:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="simhash-hbase-"))
            url = f"file:{Path(folder) / 'index'}"
        yield stack.enter_context(create_index(url, **options))
