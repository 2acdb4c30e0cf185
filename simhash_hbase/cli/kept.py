"""The kept documents of a corpus, in the input's own form."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["KeptFile", "open_kept"]


class KeptFile:
    """Writes records as they came, a line each."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, raw: bytes) -> None:
        """Write one record."""
        self._stream.write(raw + b"\n")


@contextmanager
def open_kept(path: str | None) -> Iterator[KeptFile | None]:
    """Open the file for kept documents, compressed where its name ends in ``.gz``; without a path there is none."""
    if path is None:
        yield None
        return
    with Path(path).open("wb") as file:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                yield KeptFile(packed)  # type: ignore[arg-type]
        else:
            yield KeptFile(file)
