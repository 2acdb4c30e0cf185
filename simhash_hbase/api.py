"""The public names; `simhash_hbase` imports them when the first of them is used."""

from simhash_hbase import __version__
from simhash_hbase.compare.explain import cosine
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
from simhash_hbase.features.analyzers import Analyzer, JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer, WeightedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter, fingerprint
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.index.answers import Answer, Decision, Match, Stored
from simhash_hbase.index.copies import Copies, Copy
from simhash_hbase.index.dedup import Deduplicator
from simhash_hbase.index.index import Index
from simhash_hbase.opening import WeakHashWarning, create_index, open_index
from simhash_hbase.profile import MatchRule, Profile
from simhash_hbase.profile.matching import hamming
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.blocks import Scheme
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
    "__version__",
    "cosine",
    "create_index",
    "fingerprint",
    "hamming",
    "open_index",
    "row_keys",
]
