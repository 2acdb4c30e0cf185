"""Reading an input for the commands: its documents in analysed chunks, checks of files and ids, results of an index."""

import gc
import os
import shutil
import stat
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from errno import ENOENT
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from simhash_hbase.corpus.options import Reading, RunListener
from simhash_hbase.corpus.refusals import Refusals, other_extractor, reading_notes, unnamed_documents, where
from simhash_hbase.errors import InvalidArgument, SimhashError
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import Chunk, analyse
from simhash_hbase.files.local import followed, is_regular, open_new, target_of
from simhash_hbase.files.remote import is_remote, shown
from simhash_hbase.index.agree import agreed_value
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import (
    UNIQUE_IDS,
    Document,
    Place,
    Progress,
    Reject,
    Sources,
    are_files_here,
    as_sources,
    repeated_id,
    scan,
    total_bytes,
)
from simhash_hbase.inputs.meter import counted
from simhash_hbase.inputs.reading import OTHER_PACKERS
from simhash_hbase.inputs.sources import COMPRESSIONS
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import id_digest

if TYPE_CHECKING:
    from simhash_hbase.features.workers import Workers

_FileIdentity = tuple[int, int] | str

COLLECTED_OBJECTS = 50_000
"""New objects after which Python's garbage collector looks for cycles while documents are read.

A chunk makes some ten thousand, which are gone without it before the next one: with Python's own threshold, 700, it
took a tenth of the time of deciding.
"""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let Python's garbage collector run less often in the block, after `COLLECTED_OBJECTS` new objects, for speed.

    A collector that is turned off stays off.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < COLLECTED_OBJECTS:
        yield
        return
    gc.set_threshold(COLLECTED_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def are_made_here(written: Iterable[str]) -> bool:
    """Return whether the paths to be written are all regular files on this machine: no pipe, device or remote file.

    Only then the index may commit several batches together. The reader of a pipe may wait for a commit before it reads
    on, while the commit waits for the pipe.
    """
    return all(not is_remote(path) and is_regular(followed(path)) for path in written)


def check_destinations(sources: Sources, written: Mapping[str, str | None]) -> None:
    """Raise an error if a file that a run will write is also read, is written twice, or cannot be made.

    Called before any of them is opened. `written` has the paths by their names in messages: a parameter in backticks,
    or words for a file that lies beside such a one; None stands for a file that is not asked for.
    """
    places = {name: path for name, path in written.items() if path is not None}
    if not places:
        return
    for name in (name for name in places if name.startswith("`")):
        _check_name(name, places[name])
    read = {_identity(source.path) for source in sources.files() if source.path is not None}
    if "-" in sources:
        # The file that the shell opened as standard input, if it is one.
        with suppress(OSError, AttributeError):
            read.add(_identity(sys.stdin.fileno()))
    taken: dict[_FileIdentity, str] = {}
    for name, path in places.items():
        if (identity := _identity(path)) is None:
            continue
        if identity in read:
            raise InvalidArgument(f"{name} {shown(path)} is a file of the input: name another one")
        for folder in sources.folders:
            if _is_read_with(folder, path):
                raise InvalidArgument(
                    f"{name} {shown(path)} is in {shown(folder)}, which is read: name a place outside of it"
                )
        if identity in taken:
            raise InvalidArgument(f"{taken[identity]} and {name} both name {shown(path)}")
        taken[identity] = name
    _check_writable(places)


_PLAIN = frozenset({"`clusters`", "`rejects`", "`report`", "`results`"})
"""Files that are never compressed, whatever their names say."""


def _check_name(name: str, path: str) -> None:
    """Raise `InvalidArgument` for a file name that is empty or ``-``, or has the suffix of an unused compression."""
    if not path:
        raise InvalidArgument(f"{name} is empty: name a file, or leave it out")
    if path == "-":
        raise InvalidArgument(f"{name} - is no file, and standard output has the results: name a file")
    suffix = os.path.splitext(path)[1].lower()
    if suffix in OTHER_PACKERS:
        raise InvalidArgument(f"{name} {shown(path)} names a compression that is not written: .gz and .zst are")
    if suffix in COMPRESSIONS and name in _PLAIN:
        raise InvalidArgument(f"{name} {shown(path)} names a compression, and only `output` is compressed")


def _check_writable(places: Mapping[str, str]) -> None:
    # Commands that open no index do without LMDB.
    from simhash_hbase.stores.embedded.folder import is_file_of_index  # noqa: PLC0415

    # A place without a parameter is beside a file that was named, or makes its folders.
    for name in (name for name in places if name.startswith("`")):
        path = places[name]
        if not is_remote(path):
            # At the beginning, not after hours.
            target = followed(path)
            if not (parent := Path(target).parent).is_dir():
                raise FileNotFoundError(ENOENT, f"there is no folder {parent}: make it first", f"{name} {path}")
            if is_file_of_index(target):
                raise InvalidArgument(f"{name} {path} is a file of an index: name another one")
            if not os.path.isdir(target):  # The input's form tells whether `output` is one.
                target_of(path)
        elif name != "`output`":
            raise InvalidArgument(f"{name} {shown(path)}: only `output` can be written to an object store")
        elif "`results`" in places:
            raise InvalidArgument(
                f"`output` {shown(path)} cannot be continued: leave out `results`, or name a local file"
            )


def _is_read_with(folder: str, path: str) -> bool:
    if is_remote(folder) or is_remote(path):
        return path.startswith(folder)
    place, top = Path(path).resolve(), Path(folder).resolve()
    return place.is_relative_to(top) and not any(part.startswith(".") for part in place.relative_to(top).parts)


def _identity(file: str | int) -> _FileIdentity | None:
    """Return a value that is the same for all names of one file: its device and inode, or its path if it is missing.

    `file` is a path or a descriptor. Return None for a pipe or a device.
    """
    try:
        status = os.stat(file)
    except OSError:
        return os.path.realpath(file) if isinstance(file, str) else None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else None


@contextmanager
def spooled(sources: Sources, *, wanted: bool) -> Iterator[str | None]:
    """Copy standard input to a temporary file, so that it can be read twice, and yield the path of the copy.

    None is yielded if standard input is not among the sources, or no copy is `wanted`. A pipe that is named as a source
    cannot be read twice: with `wanted` it is an error.
    """
    if wanted:
        for source in sources.files():
            if stat.S_ISFIFO(source.mode) or stat.S_ISCHR(source.mode):
                raise InvalidArgument(f"{source.name} is a pipe and would be read twice: pass it as standard input, -")
    if not wanted or "-" not in sources:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        copy = Path(folder) / "stdin"
        with open_new(copy) as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield str(copy)


class UniqueIds:
    """A filter for the documents of an input that lets the first one of each id through and refuses the later ones.

    `refuse` is called with each refused document, `known` are ids from an earlier run, and `reason` makes the message.
    """

    def __init__(
        self,
        refuse: Callable[[Reject], None],
        known: Iterable[str] = (),
        reason: Callable[[str, Place], str] = repeated_id,
    ) -> None:
        self._refuse = refuse
        self._reason = reason
        self._seen = set(map(id_digest, known))

    def __call__(self, chunk: Chunk) -> tuple[Entries, Sequence[Document]]:
        """Return the entries and documents of a chunk whose ids are new in this input; refuse the others."""
        entries, documents = chunk.entries, chunk.kept
        digests = set(entries.id_digests)
        if len(digests) == len(documents) and self._seen.isdisjoint(digests):
            self._seen |= digests
            return entries, documents
        keep = [at for at, document in enumerate(documents) if self.passes(document)]
        return entries.take(keep), [documents[at] for at in keep]

    def passes(self, document: Document) -> bool:
        """Return whether the id of a document is new in this input; refuse the document if not."""
        digest = id_digest(document.id)
        is_new = digest not in self._seen
        self._seen.add(digest)
        if not is_new:
            reason = self._reason(document.id, document.place)
            self._refuse(Reject(document.place, reason, document.raw or b"", document.id))
        return is_new


LOOKED_AT = 1_000_000
"""Most documents whose ids `RepeatedIds` compares between files."""


class RepeatedIds:
    """Counts documents with the id of a document in an earlier file of the input, which they replace in the index.

    It looks at the first million documents only, and needs 91 bytes of memory for each.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: Document | None = None
        self._file = ""
        self._of_file: set[bytes] = set()
        self._before: set[bytes] = set()

    def look(self, documents: Iterable[Document]) -> None:
        """Count the documents of a chunk whose ids are in an earlier file."""
        for document in documents:
            if self._is_full():
                return
            if document.place.file != self._file:
                self._before |= self._of_file
                self._of_file.clear()
                self._file = document.place.file
            digest = id_digest(document.id)
            self._of_file.add(digest)
            if digest in self._before:
                self.count += 1
                self._first = self._first or document

    def _is_full(self) -> bool:
        """Return whether a million ids were looked at, each counted once a file, so that no further document is."""
        return len(self._of_file) + len(self._before) >= LOOKED_AT

    def warning(self) -> str:
        """Return a warning about the documents that were counted; it ends with advice on how to make ids unique."""
        among = f"of the first {LOOKED_AT:,} documents " if self._is_full() else ""
        first = self._first
        place = f", the first is {first.id!r} at {where(first.place)}" if first is not None else ""
        return (
            f"warning: {among}{counted(self.count, 'documents')} came with the id of one in an earlier file{place}; "
            f"that one is replaced where the text is another; {UNIQUE_IDS}"
        )


T = TypeVar("T")


class Documents:
    """Reads an input in chunks of analysed documents, refuses bad records, and has an index process each chunk.

    `name` is the title of the progress meter, `keep_raw` keeps the bytes of records, and `soon` makes the first chunks
    short, so that results come soon.
    """

    def __init__(
        self,
        name: str,
        sources: Sequence[str],
        reading: Reading,
        listener: RunListener,
        *,
        keep_raw: bool = False,
        soon: bool = True,
    ) -> None:
        self.read = 0
        """Documents that have an entry."""
        self.failed: Counter[type[SimhashError]] = Counter()
        """Documents for which the index had an error in place of a result, by its kind."""
        self.pool: Workers | None = None
        """Worker processes that were started ahead; None: reading starts its own."""
        self.joins = True
        """Whether near copies are joined, now or later: only then the field about which they must agree is read."""
        self._name = name
        self._sources = as_sources(sources)
        self._reading = reading
        # A record may turn out to be refused after it was read: its id came before, or it has no usable words.
        self._settings = replace(reading.settings, keep_raw=keep_raw or reading.rejects is not None)
        self._soon = soon
        self._listener = listener
        self._stack = ExitStack()
        self._skipped = 0
        self._refusals = Refusals(listener.note)
        check_destinations(self._sources, {"`rejects`": reading.rejects})

    def __enter__(self) -> Self:
        self._stack.enter_context(seldom_collected())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def refused(self) -> int:
        """Number of records that were refused so far, those of an earlier run too."""
        return self._refusals.count

    def skip(self, records: int, *, read: int, refused: int) -> None:
        """Leave out the first `records` of the input when it is read, since an earlier run has finished them.

        `read` and `refused` are the counts of that run, to which this one adds.
        """
        self.read, self._skipped, self._refusals.count = read, records, refused

    def chunks(self, analysis: Analysis | None, profile: Profile, *, with_texts: bool = True) -> Iterator[Chunk]:
        """Read the input, and yield it in chunks, analysed unless `analysis` is None; report refused records.

        Without `with_texts` documents may come without their texts: a large input is then read by worker processes.
        """
        opened = Refusals.open(self._reading.rejects, self._listener, count=self.refused)
        self._refusals = self._stack.enter_context(opened)
        consumed, total = Progress(), total_bytes(self._sources)
        is_warned = False
        agree = profile.agree if self.joins else None
        self._settings = replace(self._settings, agree_field=agree)
        # Whether a document has a value in the field about which near copies must agree; None before the first one.
        is_agreed: bool | None = None
        with self._listener.meter(self._name, total, count=self.read, unit="bytes") as meter:
            is_parted = not with_texts and total is not None and total >= 2 * self._reading.part_bytes
            chunks = self._parted(analysis, consumed) if is_parted else self._scanned(analysis, consumed)
            for chunk in self._stack.enter_context(closing(chunks)):
                self.read += len(chunk.kept)
                if agree is not None and not is_agreed and chunk.kept:
                    is_agreed = any(agreed_value(each.metadata, agree) for each in chunk.kept)
                if consumed.unnamed is not None and not is_warned:
                    self._listener.note(unnamed_documents(consumed.unnamed, has_fields=consumed.unnamed_has_fields))
                    is_warned = True
                for reject in chunk.rejects:
                    self._refusals.add(reject)
                yield chunk
                meter.show(self.read, consumed.bytes_read)
        self._refusals.finish()
        if is_agreed is False:
            self._listener.note(f"warning: no document of this run has the field {agree!r}, by which near copies agree")
        for note in reading_notes(consumed, self._sources.left_out):
            self._listener.note(note)
        if (warning := other_extractor(profile)) is not None:
            self._listener.note(warning)

    def _scanned(self, analysis: Analysis | None, consumed: Progress) -> Generator[Chunk, None, None]:
        """Yield the chunks of the input; this process reads all of it, and worker processes may analyse."""
        records = islice(scan(self._sources, self._settings, consumed), self._skipped, None)
        return analyse(records, analysis, workers=self._reading.processes, pool=self.pool, soon=self._soon)

    def _parted(self, analysis: Analysis | None, consumed: Progress) -> Generator[Chunk, None, None]:
        """Yield the chunks of the input, without texts; worker processes read and analyse parts of it.

        With a single process, or without an analysis, this process reads it as `_scanned` does.
        """
        workers = self._reading.processes
        if analysis is None or workers == 1:
            return self._scanned(analysis, consumed)
        from simhash_hbase.features.parts import PartedInput, analyse_parts  # noqa: PLC0415 - one process needs neither
        from simhash_hbase.features.workers import Workers  # noqa: PLC0415

        parted = PartedInput(self._sources, self._settings, consumed, self._reading.part_bytes, self._skipped)
        pool = self.pool or Workers(workers - 1)
        return analyse_parts(parted, analysis, pool, workers=workers, soon=self._soon)

    def acted(
        self,
        index: Index,
        act: Callable[[Chunk], Iterable[tuple[Document, T | SimhashError]]],
        *,
        writes: bool = False,
        analysed: bool = True,
    ) -> Iterator[Iterator[tuple[Document, T]]]:
        """Read the input, have an index process each chunk of it, and yield the documents of the chunk with results.

        Parameters
        ----------
        index : Index
            The index that the documents are added to, claimed in or looked up in.
        act : callable
            `added`, `claimed` or `answered` of that index, or a method that takes texts. It gives each document a
            result or an error, which refuses the document.
        writes : bool
            Whether `act` writes; if the input is files of this machine, several batches are then committed together.
        analysed : bool
            Whether `act` needs entries; otherwise it needs the texts.
        """
        waiting: deque[list[tuple[Document, T]]] = deque()
        repeated = RepeatedIds()
        is_looked_for = writes and len(list(islice(self._sources.files(), 2))) > 1

        def durable() -> Iterator[Iterator[tuple[Document, T]]]:
            while waiting:
                yield iter(waiting.popleft())

        gathers = writes and are_files_here(self._sources) and are_made_here(filter(None, [self._reading.rejects]))
        with index.write_groups(gathers=gathers) as groups:
            try:
                analysis = index.analysis if analysed else None
                for chunk in self.chunks(analysis, index.profile, with_texts=not analysed):
                    if is_looked_for:
                        repeated.look(chunk.kept)
                    if not groups.gathers:
                        yield self._results(act(chunk))
                        continue
                    with groups.batch():
                        results = self._results(act(chunk))
                        # Texts and raw records would take most of the memory.
                        waiting.append(
                            [
                                (replace(document, text=None, raw=None, features=None, metadata=None), result)
                                for document, result in results
                            ]
                        )
                    if groups.is_durable:
                        yield from durable()
            except (Exception, KeyboardInterrupt):
                groups.commit()
                if not groups.is_undone:
                    yield from durable()
                raise
        yield from durable()
        if repeated.count:
            self._listener.note(repeated.warning())

    def _results(self, outcomes: Iterable[tuple[Document, T | SimhashError]]) -> Iterator[tuple[Document, T]]:
        for document, outcome in outcomes:
            if isinstance(outcome, SimhashError):
                self.failed[type(outcome)] += 1
                self.refuse(Reject(document.place, str(outcome), document.raw or b"", document.id))
            else:
                yield document, outcome

    def refuse(self, reject: Reject) -> None:
        """Count and report a document as refused that was counted as read before."""
        self.read -= 1
        self._refusals.add(reject)
