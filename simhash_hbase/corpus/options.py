"""Options of a run over a corpus: how the input is read and decided, and callbacks for results, notes and progress."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol, Self, runtime_checkable

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import InputOptions, Preference
from simhash_hbase.inputs.meter import Metering, silent
from simhash_hbase.inputs.options import PART_BYTES
from simhash_hbase.profile.defaults import GROUP_MB, checked_share
from simhash_hbase.report.sources import SourceFigures
from simhash_hbase.rows.names import checked_batch


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options for reading the documents of an input.

    Attributes
    ----------
    settings : InputOptions
        Formats, encodings, fields and limits.
    rejects : str, optional
        File that takes refused records, whole.
    workers : int, optional
        Processes that fingerprint; by default one a processor.
    part_bytes : int
        Bytes of a part, which one process reads and analyses; an input of less than two parts is read by one process.
    """

    settings: InputOptions = field(default_factory=InputOptions)
    rejects: str | None = None
    workers: int | None = None
    part_bytes: int = PART_BYTES

    def into_lasting(self, *, lasting: bool = True) -> Self:
        """Return these options for an index that stays, or if not `lasting` for a temporary one.

        Documents in an index that stays need ids that a later input does not have by chance: a record of standard input
        without an id is then refused.
        """
        return replace(self, settings=replace(self.settings, lasting=lasting))

    @property
    def processes(self) -> int:
        """Number of processes that make fingerprints: `workers`, or one a processor."""
        return self.workers or processors()


def processors() -> int:
    """Return the number of processors that this process may use, or, where the system does not tell, of all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class DedupOptions:
    """Options for deciding which documents of a corpus are duplicates, and the files that take the results.

    Attributes
    ----------
    by : str, optional
        The field of a record that names its source: `Summary.by_source` has figures of each then. The source of a URL
        is its host; a value is cut after 200 characters. Needs 21 bytes of memory a document, 73 more at the end, and
        some hundred a source.
    fail_above : float, optional
        The largest share of the documents that may be removed, of all and, with `by`, of each source. If more would be,
        the run raises `TooManyDuplicates` and writes nothing: no file, and nothing into the index. All is read and
        decided first, for an index that stays in a temporary folder, then decided again and written.
    fail_from : int
        Sources of fewer documents are not judged by `fail_above`; all documents together are.
    keep : str
        Which one of near copies becomes the original: ``first``; ``longest``; ``best:FIELD``, that with the highest
        number in a field of the record, ``best:-FIELD`` with the lowest; ``rank:FIELD=a,b,c``, that of the preferred
        source, where sources that are not listed come last. The first of equals is kept. A record without the field, or
        without a number in it, is refused. Documents that the index holds already always win, whatever their score.
    exact : bool
        Judge pairs that the sketches bring together by their texts: the Jaccard similarity of their 5-character
        shingles has to reach the threshold of the index. Texts of kept documents are copied, compressed, to the folder
        for temporary files. An original that only the index holds has no text, and is judged by the sketches.
    contained : float, optional
        Drop a near copy only if the kept text holds this share of its shingles; it implies `exact`. Where only the
        index holds the kept text, the estimate decides.
    dry_run : bool
        Leave the index as it is.
    output : str, optional
        File, or folder for whole files, that takes the originals in the input's own form; JSON lines, CSV and Parquet
        in the one that its suffix names.
    counts : str, optional
        A field that each record of `output` gets: how many documents were removed in its favour. With `by` there is
        also FIELD_sources: from how many sources these and the record come; all that name none count as one. JSON
        lines, CSV and Parquet have fields; a record that has one of the two ends the run before anything is written.
    duplicates : {"drop", "revisit"}
        Whether `output` of a crawl leaves duplicates out, or has records in their place: a ``revisit`` where the same
        payload was kept in this run, else ``metadata`` with the original's id, distance and similarity.
    clusters : str, optional
        File that takes each original with its duplicates.
    results : str, optional
        File that takes the decisions, with a checkpoint beside it.
    resume : bool
        Continue the run of `results` after its checkpoint.
    lasting : bool
        The index stays: a record of standard input without an id is refused, and of a file it is warned of.
    batch : str, optional
        The name of what the documents come in, such as a crawl; see `Index.batches`.
    memory_mb : int
        Memory in units of 2**20 bytes that rows may take before they are written to a folder: some 600 documents each.
        With more of it a run over millions of documents writes each page of the index fewer times, and one that is
        killed repeats more: up to two minutes for 256.
    """

    by: str | None = None
    fail_above: float | None = None
    fail_from: int = 1
    keep: str = "first"
    exact: bool = False
    contained: float | None = None
    dry_run: bool = False
    output: str | None = None
    counts: str | None = None
    duplicates: Literal["drop", "revisit"] = "drop"
    clusters: str | None = None
    results: str | None = None
    resume: bool = False
    lasting: bool = True
    batch: str | None = None
    memory_mb: int = GROUP_MB

    def __post_init__(self) -> None:
        checked_batch(self.batch)
        for name in ("output", "clusters", "results"):
            if isinstance(path := getattr(self, name), os.PathLike):
                object.__setattr__(self, name, os.fspath(path))
        if self.contained is not None:
            checked_share("contained", self.contained)
        if self.fail_above is not None and not (isinstance(self.fail_above, int | float) and 0 <= self.fail_above < 1):
            raise InvalidArgument(f"`fail_above` is {self.fail_above!r}: wanted a share from 0 to below 1")
        if self.fail_from < 1:
            raise InvalidArgument(f"`fail_from` is {self.fail_from}: wanted at least 1")
        if self.fail_from > 1 and (self.fail_above is None or self.by is None):
            raise InvalidArgument("`fail_from` goes with `fail_above=SHARE` and `by=FIELD`")
        if self.counts is not None and not (self.counts and self.output):
            raise InvalidArgument("`counts` names the field that records of `output=FILE` get")
        if self.memory_mb < 1:
            raise InvalidArgument(f"`memory_mb` is {self.memory_mb}: wanted at least 1")
        is_ranked = self.preference.by != "first"
        if self.resume:
            self._check_resumable(is_ranked=is_ranked)

    def _check_resumable(self, *, is_ranked: bool) -> None:
        """Raise `InvalidArgument` if a run with these options cannot be resumed after an interruption."""
        if not self.results:
            raise InvalidArgument("`resume` goes with `results=FILE`")
        conflicts = {
            f"`keep` {self.keep}, which decides at the end": is_ranked,
            "`exact`: the texts of the earlier run are gone": self.judges_texts,
            "`dry_run`": self.dry_run,
            "`by`: the sources of the earlier run are not known": self.by is not None,
            "`fail_above`, which writes all or nothing": self.fail_above is not None,
            "`counts`, which are known at the end": self.counts is not None,
        }
        for conflict, is_there in conflicts.items():
            if is_there:
                raise InvalidArgument(f"`resume` cannot be combined with {conflict}")

    @property
    def judges_texts(self) -> bool:
        """Whether pairs of near copies are judged by their texts, not by their sketches alone."""
        return self.exact or self.contained is not None

    @property
    def new_fields(self) -> tuple[str, ...]:
        """Names of the fields that the option `counts` adds to kept records; empty without it."""
        if self.counts is None:
            return ()
        return (self.counts,) if self.by is None else (self.counts, f"{self.counts}_sources")

    @property
    def decides_at_end(self) -> bool:
        """Whether these options need all documents to be read before the first one is decided."""
        return self.preference.by != "first" or self.fail_above is not None or self.counts is not None

    @property
    def preference(self) -> Preference:
        """The order of preference among near copies that the option `keep` names."""
        return Preference.parse(self.keep)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Tells a `Deduplication` what its caller does before and after the run, and which files the caller writes.

    Attributes
    ----------
    learn : bool
        `Deduplication.texts` is called before the run, so standard input is copied.
    remember : bool
        `Deduplication.lines` is called after the run, and the input is read again.
    made_with : mapping
        Other choices that a resumed run must share, such as options of the index that the caller makes.
    beside : mapping
        Files that the caller writes, by their names in messages; the run must not write to the same ones. A parameter
        of the caller is in backticks.
    """

    learn: bool = False
    remember: bool = False
    made_with: Mapping[str, object] = field(default_factory=dict)
    beside: Mapping[str, str | None] = field(default_factory=dict)


class Lines(Protocol):
    """A caller's object that gets the decisions of a run, in the order of the input, as soon as they are stored."""

    def line(self, record: Mapping[str, object]) -> None:
        """Take one decision, as a mapping that becomes a JSON object."""

    def flush(self) -> None:
        """Pass on the decisions that were taken so far, such as to a file; called when a batch of them is complete."""


@runtime_checkable
class EncodedLines(Lines, Protocol):
    """`Lines` that take decisions as bytes of JSON lines, too, which need a fifth of the memory of mappings."""

    def encoded(self, lines: bytes | bytearray) -> None:
        """Take some decisions, as whole lines of JSON."""


class RunListener(NamedTuple):
    """Callbacks of a caller for the messages and the progress of a run."""

    note: Callable[[str], None] = lambda _: None  # Takes a sentence for people: a warning, a refused record.
    meter: Metering = silent
    words: Callable[[str], str] = str  # Rewords a reason for the file of rejects: parameters by the caller's names.


@dataclass(frozen=True)
class Summary:
    """The result of deciding a corpus: how many documents were kept, removed and refused.

    Attributes
    ----------
    documents : int
        Documents that have a decision; with `resume`, those of earlier runs too.
    originals : int
        Documents that were kept.
    refused : int
        Records without a decision.
    decided_before : int
        Documents that an earlier run decided, which `resume` continued.
    uncontained : int
        Documents that have a near copy, and were kept since that holds less of their text than `contained` asks for.
    by_source : tuple of SourceFigures
        With `DedupOptions.by`, the figures of each source, that of the most documents first.
    """

    documents: int
    originals: int
    refused: int
    decided_before: int = 0
    uncontained: int = 0
    by_source: tuple[SourceFigures, ...] = ()

    @property
    def duplicates(self) -> int:
        """Number of documents that were removed as duplicates."""
        return self.documents - self.originals
