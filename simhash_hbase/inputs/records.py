"""What a reader yields: a document, a page, or a refused record, each with its place; rejects as JSON lines."""

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from simhash_hbase.files.local import open_placed
from simhash_hbase.inputs.options import InputOptions

Feature = tuple[str | int, float]


class Place(NamedTuple):
    """Where a record starts."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Document:
    """One document; exactly one of ``text``, ``simhash`` and ``features`` is set."""

    id: str  # The caller's id, or the file and line when the input names none.
    text: str | None
    simhash: int | None  # The caller's own fingerprint, 0 <= simhash < 2**64.
    features: tuple[Feature, ...] | None
    metadata: dict[str, object] | None
    """The metadata fields that the record has; None when none was asked for or found."""
    place: Place
    raw: bytes | None  # The record's own bytes without the line end, when ``keep_raw`` asked for them.
    preference: float | None = None
    """Place in the order of `InputOptions.preference`, the least first; None where no field is asked for it."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record, or a whole file, that was refused while the rest goes on."""

    place: Place  # Where the record starts; line 0 for a whole file.
    reason: str  # One sentence for people, without a full stop.
    raw: bytes  # The record's own bytes; of one above the size limit its beginning; empty for a file.
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as saved or served; `extract` makes a document of it, which costs far more than reading."""

    id: str
    content: bytes
    options: InputOptions  # Has the fallback encoding and the metadata to keep.
    place: Place
    raw: bytes | None
    html: bool = True
    content_type: str | None = None  # The server's header, such as ``text/html; charset=big5``.
    metadata: dict[str, str] = field(default_factory=dict)  # More than its title and URL.


Record = Document | Reject

Scanned = Record | Page


def repeated_id(document_id: str, place: Place) -> str:
    """Return the reason to refuse a document whose id came before; for files of two folders with the way out."""
    reason = f"the id {document_id!r} came before in this input"
    if place.line or not place.file.endswith(f"{os.sep}{document_id}"):
        return reason
    return f"{reason}; the id of a file is its path below the folder that is named: name a folder above all of them"


@contextmanager
def write_rejects(path: str, *, keep: int = 0) -> Iterator[Callable[[Reject], None]]:
    """Open a file for rejects: ``{"file", "line", "reason", "raw"}``, one a line.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> from simhash_hbase.inputs import Place
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_rejects(os.path.join(folder, "rejects")) as write:
    ...         write(Reject(Place("a.txt", 3), "the text is empty", b" "))
    ...     print(pathlib.Path(folder, "rejects").read_text(), end="")
    {"file":"a.txt","line":3,"reason":"the text is empty","raw":" "}
    """
    encode = msgspec.json.Encoder().encode
    with open_placed(path, "r+b" if keep else "wb") as file:
        for _ in range(keep):
            file.readline()
        if keep:
            file.truncate(file.tell())

        def write(reject: Reject) -> None:
            file.write(encode(_as_json(reject)) + b"\n")
            # A checkpoint may count on it at once.
            file.flush()

        yield write


def _as_json(reject: Reject) -> dict[str, object]:
    # A file's name may hold bytes that are not UTF-8; JSON cannot.
    name = reject.place.file.encode(errors="backslashreplace").decode()
    entry: dict[str, object] = {"file": name, "line": reject.place.line, "reason": reject.reason}
    try:
        entry["raw"] = reject.raw.decode()
    except UnicodeDecodeError:
        entry["raw_base64"] = base64.b64encode(reject.raw).decode()
    if reject.id is not None:
        entry["id"] = reject.id
    return entry
