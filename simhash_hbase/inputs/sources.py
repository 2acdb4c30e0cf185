"""Sources of the input: the names that the caller gives, with patterns expanded and folders walked to their files."""

import glob
import os
import pickle
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, islice, takewhile
from pathlib import PurePath
from typing import BinaryIO, NamedTuple, Self
from weakref import finalize

from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.local import is_descriptor, open_temporary
from simhash_hbase.files.remote import is_folder, is_remote, remote_files

STDIN = "-"
UNKNOWN = -1  # The size of a file of which the server does not say it.
COMPRESSIONS = {".gz": "gz", ".zst": "zst"}
_PACKED = 8


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the input, or standard input, with what is known of it before it is opened."""

    name: str  # As named, or found below the folder that was.
    path: str | None  # Where to open it; None is standard input itself.
    id: str
    in_folder: bool = False  # Whether a folder was named, not the file.
    fault: str | None = None  # Why it cannot be read, if that is known before it is opened.
    size: int = 0  # Bytes when it was listed; so are the next two, which are 0 where the system said nothing.
    changed_ns: int = 0
    mode: int = 0

    @property
    def has_name(self) -> bool:
        """Whether the file's name is valid UTF-8, so that ids and messages can show it: on disk it may be any bytes."""
        return self.name == shown(self.name)

    @property
    def compression(self) -> str | None:
        """The compression that the file's name tells by its suffix: ``"gz"``, ``"zst"``, or None."""
        return COMPRESSIONS.get(os.path.splitext(self.name)[1].lower())

    @property
    def suffix(self) -> str:
        """The suffix of the file's name in lower case, such as ``.jsonl``, without one of compression; or empty.

        A part of a data set without a suffix has that of the nearest folder of records above it, such as
        ``x.csv/part-00000``.
        """
        suffix = os.path.splitext(self._unpacked)[1].lower()
        if not self.is_part:
            return suffix
        above = (folder.suffix.lower() for folder in PurePath(self.name).parents)
        return next((name for name in above if name in _RECORDS), suffix)

    @property
    def is_part(self) -> bool:
        """Whether the name is like ``part-00000``, as Spark, Hadoop or Hive name the parts of a data set."""
        return _PART.fullmatch(os.path.basename(self._unpacked)) is not None

    @property
    def _unpacked(self) -> str:
        return os.path.splitext(self.name)[0] if self.compression else self.name


class FileChanged(InvalidInput):
    """Raised when a file that is read in pieces, or twice, was changed, replaced or removed meanwhile."""

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the error for the file with this name."""
        return cls(
            f"{name} was changed, replaced or removed while it was read: begin again, and if others write to it, "
            "read a copy"
        )


class FileVersion(NamedTuple):
    """Identifies the version of a file at some moment, so that a later change or replacement is noticed.

    Two writes within one tick of the system's clock, some milliseconds, may be one version.
    """

    device: int
    inode: int
    size: int
    changed_ns: int

    @classmethod
    def of(cls, file: str | int) -> Self:
        """Return the current version of a file, given by its path or its descriptor."""
        status = os.stat(file)
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def check(self, file: str | int, name: str) -> None:
        """Raise `FileChanged` unless the file still has this version; `name` is its name for the message."""
        try:
            is_same = FileVersion.of(file) == self
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise FileChanged.of(name)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the input that one process can read by itself: whole files, or some lines or row groups of one file."""

    sources: tuple[Source, ...]
    start: int = 0  # The byte of the file at which its lines begin.
    stop: int | None = None  # The byte at which they end; None: the part is not one of lines.
    line: int = 1  # The number of its first line, or row.
    encoding: str = ""  # Encoding of the file, of which only the beginning may tell it.
    version: FileVersion | None = None  # The file when it was divided.
    groups: range | None = None  # Row groups of Parquet.

    @property
    def is_stretch(self) -> bool:
        """Whether the part is a range of lines or row groups of one file; any other part is one or more whole files."""
        return self.stop is not None or self.groups is not None

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Return a context manager that opens the file of a part that is a range of lines or row groups.

        Raises
        ------
        FileChanged
            When it has another version than at the division, at the beginning of the block or at its end.
        """
        [source] = self.sources
        with ExitStack() as stack:
            try:
                file = stack.enter_context(open(source.path or "", "rb", buffering=0))
            except FileNotFoundError as error:
                raise FileChanged.of(source.name) from error
            self.check(file.fileno())
            yield file
            self.check(file.fileno())

    def check(self, file: str | int) -> None:
        """Raise `FileChanged` if a file, given by path or descriptor, has changed since it was divided into parts."""
        if self.version is not None:
            self.version.check(file, self.sources[0].name)

    @property
    def size(self) -> int | None:
        """The number of bytes to read, about; None where a source is no ordinary local file."""
        if self.stop is not None:
            return self.stop - self.start
        return sum(map(unpacked_size, self.sources)) if all(map(is_file_here, self.sources)) else None


_POINTER_BYTES = 1_000
_POINTERS = {
    b"version https://git-lfs.github.com/spec/": "Git LFS, which `git lfs pull` gets",
    b"/annex/objects/": "git-annex, which `git annex get` gets",
}


def pointer_fault(source: Source) -> str | None:
    """Return the reason to refuse a file that is only a pointer of Git LFS or git-annex, not the content; else None."""
    if not 0 < source.size < _POINTER_BYTES or not is_file_here(source):
        return None
    try:
        with open(source.path or "", "rb", buffering=0) as file:
            head = file.read(_POINTER_BYTES)
    except OSError:
        return None
    kept = next((kept for beginning, kept in _POINTERS.items() if head.startswith(beginning)), None)
    return None if kept is None else f"the file is a pointer to content of {kept}"


def shown(path: str) -> str:
    r"""Return a path as text that can be printed: bytes that are not UTF-8 as ``\xff``."""
    return os.fsencode(path).decode(errors="backslashreplace")


def is_open_file(name: str) -> bool:
    """Return whether a source is standard input or a descriptor such as ``/dev/fd/3``, which have no lasting name."""
    path = re.sub("^/+", "/", os.path.normpath(name))
    return name == STDIN or path == "/dev/stdin" or is_descriptor(path)


_RECORDS = frozenset({".jsonl", ".ndjson", ".jsonlines", ".jl", ".json", ".csv", ".tsv", ".parquet", ".warc", ".wet"})
_PART = re.compile(r"(part-([mr]-)?\d{5}|\d{6}_\d)[^.]*")
_MARKERS = re.compile(
    r"_SUCCESS|_(committed|started)_.*|_temporary|_delta_log|_spark_metadata|_(common_)?metadata|\..*\.crc"
    r"|(?i:thumbs\.db|desktop\.ini)"
)
"""Names of files that Spark, Hadoop, Delta, Parquet and Windows write beside data."""
_DESCRIPTIONS = re.compile(
    r"(readme|licen[cs]e|notice|copying|citation|changelog)(\..*)?|(authors|manifest|checksums?)(\.(txt|md))?"
    r"|dataset_(infos?|dict)\.json|(md5|sha\d+)sums?(\.txt)?|.*\.(md5|sha\d+)",
    re.I,
)


_PROSE = frozenset({".md", ".mdx", ".markdown", ".rst", ".adoc", ".html", ".htm", ".xhtml"})
"""Suffixes of prose: sites have it in ``_posts`` and ``_index.md``, but no tool of data sets writes it into ``_…``."""


def is_marker(name: str, *, beside_records: bool, is_folder: bool = False) -> bool:
    """Return whether a file's or folder's name shows that it holds no document, such as ``_SUCCESS``.

    `beside_records` says that data files lie in the same folder tree: then ``README.md`` and names that begin with
    ``_`` or a dot count, too.
    """
    if _MARKERS.fullmatch(name):
        return True
    # A folder is called by what it holds: texts of authors, notices of offices.
    return beside_records and (name.startswith((".", "_")) or (not is_folder and _is_description(name)))


def _is_description(name: str) -> bool:
    return _DESCRIPTIONS.fullmatch(name) is not None


def _is_prose(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in _PROSE and not _is_description(name.lstrip("_"))


def without_markers(paths: Sequence[str], left_out: Counter[str]) -> list[str]:
    """Return the paths except those of markers such as ``_SUCCESS``, which patterns like ``out/*`` match too.

    Markers are counted by name in `left_out`. If all paths are markers, all are returned.
    """
    parts = [(path if is_remote(path) else os.path.abspath(path)).split("/") for path in paths]
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*parts, strict=False))
    above = len(list(levels))  # Folders that all of them are in.
    markers = [next((part for part in path[above:] if is_marker(part, beside_records=False)), None) for path in parts]
    if None not in markers:
        return list(paths)
    left_out.update(filter(None, markers))
    return [path for path, marker in zip(paths, markers, strict=True) if marker is None]


def has_records(names: Iterable[str], folder: str = "") -> bool:
    """Return whether one of these files in a folder holds many records, as JSON lines or Parquet do, by its name."""
    for name in names:
        path = os.path.join(folder, name)
        if Source(path, path, name).suffix in _RECORDS:
            *folders, file = name.split("/")
            markers = (is_marker(part, beside_records=True, is_folder=True) for part in folders)
            if not is_marker(file, beside_records=True) and not any(markers):
                return True
    return False


@dataclass
class _Folder:
    """A folder whose files are read; `left_out` counts the files and folders below that hold no documents, by name."""

    path: str
    left_out: Counter[str] = field(default_factory=Counter)

    @cached_property
    def has_records(self) -> bool:
        """Whether a file of many records, such as JSON lines, is below the folder; it is looked for once, if needed."""
        for path, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if not is_marker(name, beside_records=True, is_folder=True)]
            if has_records(names, path):
                return True
        return False

    def leaves_out(self, name: str, path: str) -> bool:
        """Return whether a file or folder is not read: it is hidden, or holds no document, which `left_out` counts."""
        if name.startswith("."):
            return True
        beside_records = (name.startswith("_") or _is_description(name)) and self.has_records
        if beside_records and name.startswith("_"):
            below = chain((name,), *(names for _, _, names in os.walk(path)))
            beside_records = not any(map(_is_prose, below))
        if not is_marker(name, beside_records=beside_records, is_folder=beside_records and os.path.isdir(path)):
            return False
        self.left_out[name] += 1
        return True


def files(path: str, left_out: Counter[str] | None = None) -> Iterator[Source]:
    """Yield the file at a path, or all files below a folder, in the order of their names.

    Hidden files are left out. So are markers such as ``_SUCCESS``, which are counted by name in `left_out`.
    """
    left_out = Counter() if left_out is None else left_out
    if path == STDIN:
        yield Source(STDIN, None, STDIN)
    elif is_remote(path):
        yield from _remote_files(path, left_out)
    elif os.path.isdir(path):
        # A stack, as folders may be nested more deeply than Python calls.
        folder = _Folder(path, left_out)
        waiting = [_entries(folder, path, "")]
        while waiting:
            entry = next(waiting[-1], None)
            if entry is None:
                waiting.pop()
            elif isinstance(entry, Source):
                yield entry
            else:
                waiting.append(_entries(folder, *entry))
    else:
        yield _source(path, path)


def _remote_files(url: str, left_out: Counter[str]) -> Iterator[Source]:
    in_folder = is_folder(url)
    listed = list(remote_files(url))
    beside_records = in_folder and has_records((file.name for file in listed), url)
    # The paths of all pages, and of the folders that they are in.
    prose = {path for file in listed if _is_prose(os.path.basename(file.name)) for path in _paths(file.name)}
    kept = {file.url for file in listed} if in_folder else set(without_markers([file.url for file in listed], left_out))
    for file in listed:
        if file.url not in kept:
            continue
        parts = zip(file.name.split("/"), _paths(file.name), strict=True) if in_folder else ()
        markers = (
            part
            for part, path in parts
            if is_marker(
                part,
                beside_records=beside_records and not (part.startswith("_") and path in prose),
                is_folder=path != file.name,
            )
        )
        if (marker := next(markers, None)) is not None:
            left_out[marker] += 1
            continue
        name, size = file.url if in_folder else file.name, UNKNOWN if file.size is None else file.size
        yield Source(name, file.url, file.name, in_folder, None, size, file.version)


def _paths(name: str) -> Iterator[str]:
    """Yield the paths of a name's folders, outermost first, then the name: ``a``, ``a/b``, ``a/b/c`` for ``a/b/c``."""
    return accumulate(name.split("/"), "{}/{}".format)


def _entries(top: _Folder, folder: str, relative: str) -> Iterator[Source | tuple[str, str]]:
    """Yield the files of a folder and, as pairs (path, name below the top folder), its subfolders, sorted by name.

    `relative` is the name of the folder below the top folder, with a slash at its end, or empty.
    """
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda e: e.name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        yield Source(folder, folder, relative, in_folder=True, fault=f"the folder cannot be read: {reason}")
        return
    for entry in found:
        if top.leaves_out(entry.name, entry.path):
            continue
        name = relative + entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                yield entry.path, f"{name}/"
            elif entry.is_file():
                # A file without a status is opened all the same: the error of that says more.
                yield replace(_source(entry.path, name, in_folder=True), fault=None)
            elif entry.is_symlink() and (broken := _source(entry.path, name, in_folder=True)).fault:
                yield broken
        except OSError:
            yield _source(entry.path, name, in_folder=True)


def _source(path: str, name: str, *, in_folder: bool = False) -> Source:
    """Return the `Source` of a file; if the file cannot be read, its `fault` says why."""
    try:
        status = os.stat(path)
    except OSError as error:
        what = "the symbolic link leads nowhere" if os.path.islink(path) else "it cannot be read"
        return Source(path, path, name, in_folder, f"{what}: {(error.strerror or str(error)).lower()}")
    return Source(path, path, name, in_folder, None, status.st_size, status.st_mtime_ns, status.st_mode)


_IN_MEMORY = 1_000
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Sources(tuple[str, ...]):
    """The names that the caller gave for the input, and the files that they lead to.

    Folders are walked once, at the beginning, however often the files are read. The list of a large tree is kept in a
    temporary file, so that memory does not grow with it.
    """

    def __new__(cls, named: Iterable[str | os.PathLike[str]]) -> Self:
        """Make the tuple of names; path objects become strings."""
        if isinstance(named, str | os.PathLike):
            raise InvalidInput("sources is a sequence of names, not one string or path")
        try:
            return super().__new__(cls, [os.fspath(name) for name in named])
        except TypeError as error:
            raise InvalidInput(f"sources is a sequence of names: {error}") from error

    def __init__(self, named: Iterable[str | os.PathLike[str]]) -> None:
        if self.count(STDIN) > 1:
            raise InvalidInput("standard input can be read only once")
        self.left_out: Counter[str] = Counter()
        """Names of files and folders that are no documents, such as ``_SUCCESS``, below folders and among files."""
        paths = without_markers([path for name in self for path in _matches(name)], self.left_out)
        self.folders = [path for path in paths if os.path.isdir(path) or is_folder(path)]
        """Folders below which all files are read, except hidden ones and markers."""
        listed = (source for path in paths for source in files(path, self.left_out))
        self._first = list(islice(listed, _IN_MEMORY))
        self._others = _SpooledSources(listed)

    def files(self, stdin: str | None = None) -> Iterator[Source]:
        """Yield every file of the input; `stdin` is the path of a copy of standard input, to be read in its place."""
        for source in chain(self._first, self._others):
            yield source if source.name != STDIN or stdin is None else replace(source, path=stdin)


class _SpooledSources:
    """The `Source` objects of a long list, kept in a temporary file, which is closed when this object is freed.

    A tuple such as `Sources` cannot have a finalizer itself.
    """

    def __init__(self, listed: Iterator[Source]) -> None:
        self._starts: list[int] = []
        while part := list(islice(listed, _IN_MEMORY)):
            if not self._starts:
                self._file = open_temporary()
                finalize(self, self._file.close)
            self._starts.append(self._file.tell())
            pickle.dump(part, self._file)

    def __iter__(self) -> Iterator[Source]:
        for start in self._starts:
            # Two readers may be on their way at once: each seeks its own part.
            self._file.seek(start)
            yield from pickle.load(self._file)


def as_sources(named: Sequence[str]) -> Sources:
    """Return a `Sources` for these names; if it is one already, return it as it is."""
    return named if isinstance(named, Sources) else Sources(named)


def _matches(name: str) -> list[str]:
    """Return the paths that a name stands for: itself, or the matches of a pattern.

    Raises `InvalidInput` if there are none.
    """
    if name == STDIN or is_remote(name):
        return [name]
    if os.path.exists(name):
        if not os.access(name, os.R_OK):
            raise InvalidInput(f"{name} cannot be read: permission denied")
        return [name]
    if os.path.islink(name):
        raise InvalidInput(f"{name} is a symbolic link that leads nowhere")
    if scheme := _SCHEME.match(name):
        raise InvalidInput(f"{scheme[0]} is not read: wanted a file, s3://, gs://, hf://, http:// or https://")
    if not glob.has_magic(name):
        raise InvalidInput(f"{name} does not exist")
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise InvalidInput(f"no file matches the pattern {name}")
    return found


def total_bytes(named: Sequence[str]) -> int | None:
    """Return the total size of the sources as stored (compressed), for a progress bar; None if a size is unknown."""
    total = 0
    for source in as_sources(named).files():
        if source.path is None or source.size == UNKNOWN:
            return None
        if not is_remote(source.path) and (source.mode and not stat.S_ISREG(source.mode) and source.fault is None):
            return None
        total += source.size
    return total


def are_files_here(named: Sequence[str]) -> bool:
    """Return whether all sources are ordinary local files, so that reading never waits long, as it may for a pipe."""
    return all(map(is_file_here, as_sources(named).files()))


def unpacked_size(source: Source) -> int:
    """Return the estimated size of a file after decompression, in bytes: eight times that of a compressed file."""
    return source.size * _PACKED if source.compression else source.size


def is_file_here(source: Source) -> bool:
    """Return whether a source is an ordinary local file: no pipe, standard input or URL."""
    return source.path is not None and not is_remote(source.path) and stat.S_ISREG(source.mode)
