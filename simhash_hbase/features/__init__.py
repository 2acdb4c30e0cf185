"""Features: from a text to its weighted features, its fingerprint and its sketch."""

from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.features.analyzers import Analyzer, JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer, WeightedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter, fingerprint
from simhash_hbase.features.hashes import WeakHashWarning
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.features.weights import cosine

__all__ = [
    "Analysed",
    "Analysis",
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
]
