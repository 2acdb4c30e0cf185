"""Rejects, kept whole as JSON lines."""

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from simhash_hbase.files.local import open_placed
from simhash_hbase.inputs.records import Place, Reject


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
