"""From FILE arguments to analysed chunks: what add, dedup, query and fingerprint have in common."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from types import TracebackType
from typing import Any, Self

from simhash_hbase.cli.corpus.destinations import check_destinations
from simhash_hbase.cli.corpus.extractor import warn_of_extractor
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.cli.screen.plurals import counted
from simhash_hbase.cli.screen.refusals import Refusals
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import InputOptions, Reject, Scanned, scan, total_bytes, write_rejects
from simhash_hbase.inputs import Progress as InputProgress
from simhash_hbase.pipeline.analyse import analyse
from simhash_hbase.pipeline.chunks import Chunk
from simhash_hbase.pipeline.workers import processors

INPUT_OPTIONS = (
    "input_format",
    "encoding",
    "id_field",
    "text_field",
    "simhash_field",
    "features_field",
    "metadata_fields",
    "max_document_bytes",
)
SHOWN_KINDS = 8


def tell_passed_over(output: Output, progress: InputProgress) -> None:
    """Tell what is in a crawl besides pages, the commonest kinds each."""
    skipped = progress.skipped
    if not skipped:
        return
    kinds = [f"{count:,} × {kind}" for kind, count in skipped.most_common(SHOWN_KINDS)]
    if len(skipped) > SHOWN_KINDS:
        kinds.append(f"and {len(skipped) - SHOWN_KINDS:,} other kinds")
    total = skipped.total()
    were = "is no page and was" if total == 1 else "are no pages and were"
    output.note(f"{counted(total, 'records')} {were} passed over: {', '.join(kinds)}")


def take_input(options: dict[str, Any]) -> dict[str, Any]:
    """Take the input options out of all options of a command."""
    return {name: options.pop(name) for name in (*INPUT_OPTIONS, "rejects", "workers")}


def input_settings(given: dict[str, Any], *, keep_raw: bool = False) -> InputOptions:
    """Make reader options of what `take_input` took."""
    fields = {name: given[name] for name in INPUT_OPTIONS[1:]}
    return InputOptions(format=given["input_format"], stdin=given.get("stdin"), keep_raw=keep_raw, **fields)


class Documents:
    """The documents of a command's FILEs."""

    def __init__(
        self, name: str, sources: Sequence[str], given: dict[str, Any], output: Output, *, keep_raw: bool = False
    ) -> None:
        self.read = 0
        """Documents that have an entry."""
        self.refused = 0
        self._name = name
        self._sources = sources
        # A record may turn out to be refused after it was read: its id came before, or it leaves no feature.
        self._options = input_settings(given, keep_raw=keep_raw or given["rejects"] is not None)
        # A sketch or two is not worth a thousand worker starts: --workers is what the machine lends us.
        self._workers = given["workers"] or processors()
        self._output = output
        self._consumed = InputProgress()
        check_destinations(sources, {"--rejects": given["rejects"]})
        self._total = total_bytes(sources)
        self._stack = ExitStack()
        self._path = given["rejects"]
        self._rejects: Callable[[Reject], None] | None = None
        self._told = Refusals(output)
        self._skipped = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def exit_code(self) -> int:
        """3 when something was refused."""
        return 3 if self.refused else 0

    def skip(self, records: int, *, read: int, refused: int) -> None:
        """Pass over records that an earlier run is done with."""
        self.read, self.refused, self._skipped = read, refused, records

    def _records(self) -> Iterator[Scanned]:
        records = scan(self._sources, self._options, self._consumed)
        yield from islice(records, self._skipped, None)

    def chunks(self, analysis: Analysis) -> Iterator[Chunk]:
        """Read and analyse; refused records are reported as they come."""
        if self._path:
            self._rejects = self._stack.enter_context(write_rejects(self._path, keep=self.refused))
        records = self._records()
        with self._output.meter(self._name, self._total, count=self.read) as meter:
            for chunk in analyse(records, analysis, workers=self._workers):
                self.read += len(chunk.kept)
                for reject in chunk.rejects:
                    self.refuse(reject)
                yield chunk
                meter.show(self.read, self._consumed.bytes_read)
        self._told.finish()
        tell_passed_over(self._output, self._consumed)
        warn_of_extractor(self._output, analysis.profile)

    def refuse(self, reject: Reject) -> None:
        """Count, report and keep a refused record."""
        self.refused += 1
        if self._rejects is not None:
            self._rejects(reject)
        self._told.tell(reject)
