"""The kept records of a crawl, with records in place of the duplicates that refer to them."""

from collections.abc import Iterable

from simhash_hbase.corpus.kept.files import KeptFile
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.jsonforms import plain
from simhash_hbase.inputs import Place


class KeptCaptures:
    """Writes originals as they came, and for each duplicate a revisit or metadata.

    Parameters
    ----------
    file : KeptFile
        Takes all records.
    before : iterable of bytes
        The originals that an earlier run has written.
    """

    def __init__(self, file: KeptFile, before: Iterable[bytes]) -> None:
        from simhash_hbase.inputs.crawl.revisits import Captures  # noqa: PLC0415 - warcio is an extra

        self._file = file
        self._captures = Captures()
        for raw in before:
            self._captures.keep(raw)

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Take an original."""
        self._captures.keep(raw)
        self._file.write(raw, name, place)

    def refer(self, raw: bytes, decision: Decision, place: Place) -> None:
        """Take a duplicate."""
        fields = {
            "near-duplicate-of": decision.of,
            "distance": decision.distance,
            "similarity": plain(decision.similarity),
        }
        self._file.write(self._captures.reference(raw, fields), decision.id, place)

    def commit(self) -> int:
        """Bring what was taken to the disk; return the file's length."""
        return self._file.commit()
