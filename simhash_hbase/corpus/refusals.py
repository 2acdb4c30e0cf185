"""Refused records of an input: their count, messages and file; notes about records and files that are left out."""

import base64
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Self

import msgspec

from simhash_hbase.corpus.options import RunListener
from simhash_hbase.files.local import is_regular, open_growing, target_of
from simhash_hbase.inputs import Place, Progress, Reject
from simhash_hbase.inputs.meter import counted
from simhash_hbase.profile import Profile
from simhash_hbase.profile.versions import extractor_versions

SHOWN_REJECTS = 20
SHOWN_OF_A_REASON = 3
SHOWN_REASONS = 4
SHOWN_KINDS = 8
_OTHER = "other reasons"
_KNOWN_REASONS = 1_000
_IMPORTED_FOR_PAGES = "simhash_hbase.inputs.html"


def where(place: Place) -> str:
    """Return file and line of a record for messages, such as ``a.jsonl:3``; the file ``-`` is called standard input."""
    return str(place._replace(file="standard input") if place.file == "-" else place)


def reading_notes(read: Progress, left_out: Counter[str]) -> Iterator[str]:
    """Yield notes for the end of an input: numbers of records that are no pages, of cut pages and of files left out.

    `left_out` has the names of files and folders that hold no documents.
    """
    if total := read.skipped.total():
        were = "is no page and was" if total == 1 else "are no pages and were"
        yield f"{counted(total, 'records')} {were} passed over: {_most_common(read.skipped, 'kinds')}"
    if total := read.truncated.total():
        only = "page has only its beginning" if total == 1 else "pages have only their beginnings"
        yield f"warning: {total:,} {only} in the crawl (WARC-Truncated): {_most_common(read.truncated, 'reasons')}"
    if total := left_out.total():
        were = "file or folder was" if total == 1 else "files or folders were"
        yield f"{total:,} {were} left out as marks or descriptions of data: {_most_common(left_out, 'names')}"


def unnamed_documents(first: Place, *, has_fields: bool) -> str:
    """Return a warning that documents without an id get file and line as their id, which later files may have, too.

    `first` is the place of the first such document; `has_fields` whether its format has a field for an id.
    """
    advice = "name the field of the id with `id_field`" if has_fields else "give that one another name"
    return (
        f"warning: documents without an id are stored as file and line, such as {where(first)}: the next file of this "
        f"name replaces them; {advice}"
    )


def _most_common(kinds: Counter[str], noun: str) -> str:
    shown = [f"{count:,} × {kind}" for kind, count in kinds.most_common(SHOWN_KINDS)]
    if len(kinds) > SHOWN_KINDS:
        shown.append(f"and {len(kinds) - SHOWN_KINDS:,} other {noun}")
    return ", ".join(shown)


def other_extractor(profile: Profile) -> str | None:
    """Return a warning if the main texts of pages were extracted by other versions of libraries than the index has.

    The profile names the versions that were installed when the index was made. None: they are the same, or no page was
    read.
    """
    if _IMPORTED_FOR_PAGES not in sys.modules or profile.extractor is None:
        return None
    here = extractor_versions()
    differing = [name for name in sorted(profile.extractor) if profile.extractor[name] != here.get(name)]
    if not differing:
        return None
    before = ", ".join(f"{name} {profile.extractor[name]}" for name in differing)
    now = ", ".join(f"{name} {here.get(name, 'none')}" for name in differing)
    return (
        f"warning: main texts of pages were taken by {now}, the index was made with {before}: "
        "the same page may have another text"
    )


@contextmanager
def write_rejects(path: str, *, keep: int = 0) -> Iterator[Callable[[Reject], None]]:
    """Open the file of refused records, and yield a function that writes one to it, as a line of JSON.

    If the file exists, its first `keep` lines stay, which are those of the run that is resumed.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_rejects(os.path.join(folder, "rejects")) as write:
    ...         write(Reject(Place("a.txt", 3), "the text is empty", b" "))
    ...     print(pathlib.Path(folder, "rejects").read_text(), end="")
    {"file":"a.txt","line":3,"reason":"the text is empty","raw":" "}
    """
    encode = msgspec.json.Encoder().encode
    size = 0
    if keep and is_regular(target_of(path)):
        with open(path, "rb") as earlier:
            size = sum(map(len, islice(earlier, keep)))
    with open_growing(path, size) as file:

        def write(reject: Reject) -> None:
            # A file's name may hold bytes that are not UTF-8; JSON cannot.
            name = reject.place.file.encode(errors="backslashreplace").decode()
            entry: dict[str, object] = {"file": name, "line": reject.place.line, "reason": reject.reason}
            try:
                entry["raw"] = reject.raw.decode()
            except UnicodeDecodeError:
                entry["raw_base64"] = base64.b64encode(reject.raw).decode()
            if reject.id is not None:
                entry["id"] = reject.id
            file.write(encode(entry) + b"\n")
            # A checkpoint may count on it at once.
            file.flush()

        yield write


class Refusals:
    """Counts refused records, reports some of them by messages, and writes all to a file of rejects, if asked for."""

    def __init__(
        self, note: Callable[[str], None], keep: Callable[[Reject], None] | None = None, count: int = 0
    ) -> None:
        self.count = count
        self._note = note
        self._keep = keep
        self._shown = 0
        self._seen: Counter[str] = Counter()
        self._hidden: Counter[str] = Counter()

    @classmethod
    @contextmanager
    def open(cls, path: str | None, listener: RunListener, *, count: int = 0) -> Iterator[Self]:
        """Yield an object that takes the refused records of a run; `path` is the file that all are written to, or None.

        `count` is the number of records that an earlier, resumed run refused: they stay in the file.
        """
        if path is None:
            yield cls(listener.note, None, count)
            return
        with write_rejects(path, keep=count) as write:
            yield cls(listener.note, lambda reject: write(replace(reject, reason=listener.words(reject.reason))), count)

    def add(self, reject: Reject) -> None:
        """Count a refused record and write it to the file of rejects, if there is one; print a message about it.

        After 20 messages, or 3 with the same reason, none is printed.
        """
        self.count += 1
        if self._keep is not None:
            self._keep(reject)
        # The words after a semicolon are advice, given once.
        reason = reject.reason.partition("; ")[0]
        if reject.id is not None:
            # The reasons of many ids are one reason.
            reason = reason.replace(repr(reject.id), "…")
        reason = reason if reason in self._seen or len(self._seen) < _KNOWN_REASONS else _OTHER
        self._seen[reason] += 1
        if self._shown < SHOWN_REJECTS and self._seen[reason] <= SHOWN_OF_A_REASON:
            self._shown += 1
            self._note(f"{where(reject.place)}: refused: {reject.reason}")
        else:
            self._hidden[reason] += 1

    def finish(self) -> None:
        """Print how many refused records had no message of their own, with the most frequent reasons."""
        total = self._hidden.total()
        if not total:
            return
        kinds = [f"{count:,} × {reason}" for reason, count in self._hidden.most_common(SHOWN_REASONS)]
        if len(self._hidden) > SHOWN_REASONS:
            kinds.append("and others")
        records = "record was" if total == 1 else "records were"
        self._note(f"{total:,} more {records} refused: {', '.join(kinds)}; `rejects=FILE` keeps them all")
