"""Why two documents are near or not."""

from collections.abc import Sequence
from dataclasses import dataclass

from simhash_hbase.analysis import Analysis
from simhash_hbase.blocks import Scheme
from simhash_hbase.entries import Entries
from simhash_hbase.errors import EmptyDocument
from simhash_hbase.fingerprint import cosine
from simhash_hbase.hamming import hamming
from simhash_hbase.sketch import similarity

__all__ = ["Side", "compare"]

SHOWN_FEATURES = 20

Features = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Side:
    """One of two documents."""

    name: str
    entries: Entries
    features: Features | None
    """None for a stored document: the index keeps no text."""

    @classmethod
    def of_text(cls, name: str, text: str, analysis: Analysis) -> "Side":
        """Analyse a text.

        Raises
        ------
        EmptyDocument
            When it leaves no feature.
        """
        analysed = analysis.texts([name], [text])
        if analysed.refused:
            raise EmptyDocument(f"{name} leaves no feature, so it has no fingerprint")
        return cls(name, analysed.entries, analysis.analyzer.features(text))

    @classmethod
    def of_entries(cls, name: str, entries: Entries) -> "Side":
        """Take a stored document."""
        return cls(name, entries, None)

    @property
    def simhash(self) -> int:
        """Its fingerprint."""
        return int(self.entries.simhashes[0])


def compare(a: Side, b: Side, scheme: Scheme) -> dict[str, object]:
    """Compare two documents.

    Parameters
    ----------
    a, b : Side
        The documents.
    scheme : Scheme
        The blocks to look at.

    Returns
    -------
    dict
        Distance, the blocks in which they differ, the flags of the tables that join them, similarity; from texts
        also the cosine of the weighted features, and the heaviest that both or just one of them has.
    """
    record: dict[str, object] = {
        "a": {"id": a.name, "simhash": f"{a.simhash:016x}"},
        "b": {"id": b.name, "simhash": f"{b.simhash:016x}"},
        "distance": hamming(a.simhash, b.simhash),
        "bits": f"{a.simhash ^ b.simhash:064b}",
        "differing_blocks": list(scheme.differing_blocks(a.simhash, b.simhash)),
        "tables": [table.flag for table in scheme.agreeing(a.simhash, b.simhash)],
        "similarity": _similarity(a.entries, b.entries),
    }
    if a.features is None or b.features is None:
        return record
    return {**record, "cosine": cosine(a.features, b.features), **_features(a.features, b.features)}


def _similarity(a: Entries, b: Entries) -> float | None:
    if not (a.sketched[0] and b.sketched[0]):
        return None
    return float(similarity(a.sketches[0], b.sketches[0]))


def _features(a: Features, b: Features) -> dict[str, object]:
    left, right = dict(a), dict(b)
    shared = [[name, weight, right[name]] for name, weight in a if name in right]
    only_a = [[name, weight] for name, weight in a if name not in right]
    only_b = [[name, weight] for name, weight in b if name not in left]
    return {
        "features": {"shared": len(shared), "only_a": len(only_a), "only_b": len(only_b)},
        "shared": shared[:SHOWN_FEATURES],
        "only_a": only_a[:SHOWN_FEATURES],
        "only_b": only_b[:SHOWN_FEATURES],
    }
