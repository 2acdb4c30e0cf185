"""De-duplication of a whole corpus against an index: reading, deciding, resuming after an interruption, writing."""

from typing import TYPE_CHECKING

from simhash_hbase.lazy import handing_on

if TYPE_CHECKING:
    from simhash_hbase.corpus.documents import Documents
    from simhash_hbase.corpus.options import DedupOptions, Lines, Reading, RunListener, Summary, Surroundings
    from simhash_hbase.corpus.run import Deduplication, deduplicate

__all__ = [
    "DedupOptions",
    "Deduplication",
    "Documents",
    "Lines",
    "Reading",
    "RunListener",
    "Summary",
    "Surroundings",
    "deduplicate",
]

__getattr__ = handing_on(
    __name__,
    {
        "documents": ["Documents"],
        "options": ["DedupOptions", "Lines", "Reading", "RunListener", "Summary", "Surroundings"],
        "run": ["Deduplication", "deduplicate"],
    },
)
