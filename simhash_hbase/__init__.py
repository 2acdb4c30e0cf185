"""A near-duplicate index for documents, Chinese first and any language.

Examples
--------
>>> from simhash_hbase import create_index
>>> index = create_index("memory:")
>>> for name, text in [("a", "人生苦短，我们都用这一门语言写程序"), ("b", "今天天气很好，大家去公园散步看花")]:
...     simhash = index.add(name, text)
>>> [match.id for match in index.query("人生苦短，我们都用这一门语言写程序！").matches]
['a']
"""

from simhash_hbase.errors import (
    ClaimContended,
    CorruptIndex,
    DocumentMissing,
    EmptyDocument,
    IndexClosed,
    IndexExists,
    IndexMissing,
    InvalidArgument,
    InvalidInput,
    InvalidProfile,
    MissingExtra,
    NotAnIndex,
    Permanent,
    ProfileMismatch,
    Retryable,
    SimhashError,
    StoreBusy,
    StoreFull,
    StoreRefused,
    StoreTimeout,
    StoreUnavailable,
    Unsupported,
    WorkerLost,
)
from simhash_hbase.lazily import handing_on

# As of typing, which takes longer to import than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from simhash_hbase.features.analyzers import (
        Analyzer,
        JiebaAnalyzer,
        LearnedAnalyzer,
        ShingleAnalyzer,
        WeightedAnalyzer,
    )
    from simhash_hbase.features.fingerprints import Fingerprinter, cosine, fingerprint
    from simhash_hbase.features.hashes import WeakHashWarning
    from simhash_hbase.features.idf import IdfTable
    from simhash_hbase.index.answers import Answer, Decision, Match, Stored
    from simhash_hbase.index.copies import Copies, Copy
    from simhash_hbase.index.decide.dedup import Deduplicator
    from simhash_hbase.index.index import Index
    from simhash_hbase.opening import create_index, open_index
    from simhash_hbase.profile import MatchRule, Profile
    from simhash_hbase.profile.near import hamming
    from simhash_hbase.rows.blocks import Scheme
    from simhash_hbase.rows.entries import Entries
    from simhash_hbase.rows.keys import row_keys

__all__ = [
    "Analyzer",
    "Answer",
    "ClaimContended",
    "Copies",
    "Copy",
    "CorruptIndex",
    "Decision",
    "Deduplicator",
    "DocumentMissing",
    "EmptyDocument",
    "Entries",
    "Fingerprinter",
    "IdfTable",
    "Index",
    "IndexClosed",
    "IndexExists",
    "IndexMissing",
    "InvalidArgument",
    "InvalidInput",
    "InvalidProfile",
    "JiebaAnalyzer",
    "LearnedAnalyzer",
    "Match",
    "MatchRule",
    "MissingExtra",
    "NotAnIndex",
    "Permanent",
    "Profile",
    "ProfileMismatch",
    "Retryable",
    "Scheme",
    "ShingleAnalyzer",
    "SimhashError",
    "StoreBusy",
    "StoreFull",
    "StoreRefused",
    "StoreTimeout",
    "StoreUnavailable",
    "Stored",
    "Unsupported",
    "WeakHashWarning",
    "WeightedAnalyzer",
    "WorkerLost",
    "cosine",
    "create_index",
    "fingerprint",
    "hamming",
    "open_index",
    "row_keys",
]

_HOMES = {
    "features.analyzers": ("Analyzer", "JiebaAnalyzer", "LearnedAnalyzer", "ShingleAnalyzer", "WeightedAnalyzer"),
    "features.fingerprints": ("Fingerprinter", "cosine", "fingerprint"),
    "features.hashes": ("WeakHashWarning",),
    "features.idf": ("IdfTable",),
    "index.answers": ("Answer", "Decision", "Match", "Stored"),
    "index.copies": ("Copies", "Copy"),
    "index.decide.dedup": ("Deduplicator",),
    "index.index": ("Index",),
    "opening": ("create_index", "open_index"),
    "profile": ("MatchRule", "Profile"),
    "profile.near": ("hamming",),
    "rows.blocks": ("Scheme",),
    "rows.entries": ("Entries",),
    "rows.keys": ("row_keys",),
}
# Interrupts are handled before numpy is there.
__getattr__ = handing_on(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
