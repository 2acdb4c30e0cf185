"""From sources to analysed chunks: what every command that reads documents has in common."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from typing import Self

from simhash_hbase.corpus.destinations import check_destinations
from simhash_hbase.corpus.notes import other_extractor, skipped_records
from simhash_hbase.corpus.options import Reading, Watch
from simhash_hbase.corpus.refusals import Refusals
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import Progress, Reject, scan, total_bytes
from simhash_hbase.inputs.sources import listed
from simhash_hbase.pipeline.analyse import Chunk, analyse
from simhash_hbase.pipeline.workers import processors


class Documents:
    """The documents of some sources; `name` is what progress is reported under."""

    def __init__(
        self,
        name: str,
        sources: Sequence[str],
        reading: Reading,
        watch: Watch,
        *,
        keep_raw: bool = False,
        soon: bool = True,
    ) -> None:
        self.read = 0
        """Documents that have an entry."""
        self._name = name
        self._sources = listed(sources)
        # A record may turn out to be refused after it was read: its id came before, or it leaves no feature.
        self._settings = replace(reading.settings, keep_raw=keep_raw or reading.rejects is not None)
        # A sketch or two is not worth a thousand worker starts: `workers` is what the machine lends us.
        self._workers = reading.workers or processors()
        self._soon = soon
        self._watch = watch
        self._path = reading.rejects
        self._stack = ExitStack()
        self._skipped = 0
        self._refusals = Refusals(watch.note, None, 0)
        check_destinations(self._sources, {"--rejects": reading.rejects})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def refused(self) -> int:
        """Records without an entry."""
        return self._refusals.count

    def skip(self, records: int, *, read: int, refused: int) -> None:
        """Pass over records that an earlier run is done with."""
        self.read, self._skipped, self._refusals.count = read, records, refused

    def chunks(self, analysis: Analysis) -> Iterator[Chunk]:
        """Read and analyse; refused records are reported as they come."""
        opened = Refusals.open(self._path, self._watch.note, count=self.refused)
        self._refusals = self._stack.enter_context(opened)
        consumed = Progress()
        records = islice(scan(self._sources, self._settings, consumed), self._skipped, None)
        with self._watch.meter(self._name, total_bytes(self._sources), count=self.read, unit="bytes") as meter:
            for chunk in analyse(records, analysis, workers=self._workers, soon=self._soon):
                self.read += len(chunk.kept)
                for reject in chunk.rejects:
                    self._refusals.add(reject)
                yield chunk
                meter.show(self.read, consumed.bytes_read)
        self._refusals.finish()
        for note in (skipped_records(consumed.skipped), other_extractor(analysis.profile)):
            if note is not None:
                self._watch.note(note)

    def refuse(self, reject: Reject) -> None:
        """Refuse a document that had an entry."""
        self.read -= 1
        self._refusals.add(reject)
