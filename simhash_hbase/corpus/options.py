"""What a caller chooses of a corpus: how it is read and decided, and what hears of it meanwhile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import InputOptions
from simhash_hbase.pipeline.meter import Metering, silent


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How documents are read.

    Attributes
    ----------
    settings : InputOptions
        Formats, encodings, fields and limits.
    rejects : str, optional
        File that takes refused records, whole.
    workers : int, optional
        Processes that fingerprint; by default one a processor.
    """

    settings: InputOptions = field(default_factory=InputOptions)
    rejects: str | None = None
    workers: int | None = None


@dataclass(frozen=True, kw_only=True)
class DedupOptions:
    """What is decided of a corpus, and where it is written.

    Attributes
    ----------
    keep : {"first", "longest"}
        Of near copies, which becomes the original.
    dry_run : bool
        Leave the index as it is.
    output : str, optional
        File, or folder for whole files, that takes the originals in the input's own form; JSON lines, CSV and Parquet
        in the one that its suffix names.
    duplicates : {"drop", "revisit"}
        Whether `output` of a crawl leaves duplicates out, or has records in their place: a ``revisit`` where the same
        payload was kept in this run, else ``metadata`` with the original's id, distance and similarity.
    clusters : str, optional
        File that takes each original with its duplicates.
    results : str, optional
        File that takes the decisions, with a checkpoint beside it.
    resume : bool
        Continue the run of `results` after its checkpoint.
    learn : bool
        `Deduplication.texts` is called before the run, so standard input is copied.
    remember : bool
        `Deduplication.lines` is called after the run, and the input is read again.
    made_with : mapping
        Other choices that a resumed run must share, such as options of the index that it makes.
    beside : mapping
        Places that the caller writes itself, by what messages call them: the run writes elsewhere.
    """

    keep: Literal["first", "longest"] = "first"
    dry_run: bool = False
    output: str | None = None
    duplicates: Literal["drop", "revisit"] = "drop"
    clusters: str | None = None
    results: str | None = None
    resume: bool = False
    learn: bool = False
    remember: bool = False
    made_with: Mapping[str, object] = field(default_factory=dict)
    beside: Mapping[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.resume and not self.results:
            raise InvalidArgument("--resume goes with --results FILE")
        if self.resume and (self.keep == "longest" or self.dry_run):
            raise InvalidArgument("--resume cannot be combined with --keep longest or --dry-run")


class Lines(Protocol):
    """Takes decisions as they are made, in the order of the input."""

    def line(self, record: Mapping[str, object]) -> None:
        """Take one decision in its JSON form."""

    def flush(self) -> None:
        """Hand on what was taken: the index holds it."""


def _ignore(_text: str) -> None:
    pass


class Watch(NamedTuple):
    """What a caller hears of a run."""

    note: Callable[[str], None] = _ignore  # Takes a sentence for people: a warning, or a record that was refused.
    meter: Metering = silent


@dataclass(frozen=True)
class Summary:
    """What a run came to.

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
    """

    documents: int
    originals: int
    refused: int
    decided_before: int = 0

    @property
    def duplicates(self) -> int:
        """Documents that were not kept."""
        return self.documents - self.originals
