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

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from simhash_hbase.errors import (
    ClaimContended,
    CorruptIndex,
    DocumentMissing,
    EmptyDocument,
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

if TYPE_CHECKING:
    from simhash_hbase.entries import Entries
    from simhash_hbase.features.analyzers import (
        Analyzer,
        JiebaAnalyzer,
        LearnedAnalyzer,
        ShingleAnalyzer,
        WeightedAnalyzer,
    )
    from simhash_hbase.features.fingerprints import Fingerprinter, fingerprint
    from simhash_hbase.features.hashes import WeakHashWarning
    from simhash_hbase.features.idf import IdfTable
    from simhash_hbase.features.weights import cosine
    from simhash_hbase.index.answers import Answer, Decision, Match, Stored
    from simhash_hbase.index.decide.dedup import Deduplicator
    from simhash_hbase.index.index import Index
    from simhash_hbase.near import MatchRule, hamming
    from simhash_hbase.opening import create_index, open_index
    from simhash_hbase.profile import Profile
    from simhash_hbase.rows.blocks import Scheme
    from simhash_hbase.rows.keys import row_keys

__all__ = [
    "Analyzer",
    "Answer",
    "ClaimContended",
    "CorruptIndex",
    "Decision",
    "Deduplicator",
    "DocumentMissing",
    "EmptyDocument",
    "Entries",
    "Fingerprinter",
    "IdfTable",
    "Index",
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
    "entries": ("Entries",),
    "features": (
        "Analyzer",
        "Fingerprinter",
        "IdfTable",
        "JiebaAnalyzer",
        "LearnedAnalyzer",
        "ShingleAnalyzer",
        "WeakHashWarning",
        "WeightedAnalyzer",
        "cosine",
        "fingerprint",
    ),
    "index": ("Answer", "Decision", "Deduplicator", "Index", "Match", "Stored"),
    "near": ("MatchRule", "hamming"),
    "opening": ("create_index", "open_index"),
    "profile": ("Profile",),
    "rows": ("Scheme", "row_keys"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name or a module when it is first used: interrupts are handled before numpy is there.

    No module has the name of a public function: importing it would put the module in the function's place.
    """
    if name in _HOME_OF:
        found: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = found
        return found
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
