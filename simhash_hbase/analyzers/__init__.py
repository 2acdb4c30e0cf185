"""Analyzers: from a text to its features and their weights."""

from simhash_hbase.analyzers.classical import JiebaAnalyzer
from simhash_hbase.analyzers.learned import LearnedAnalyzer
from simhash_hbase.analyzers.protocols import Analyzer, CountingAnalyzer, weigh_tokens
from simhash_hbase.analyzers.shingle import ShingleAnalyzer
from simhash_hbase.analyzers.weighted import WeightedAnalyzer
from simhash_hbase.analyzers.words import word_set, word_tokens

__all__ = [
    "Analyzer",
    "CountingAnalyzer",
    "JiebaAnalyzer",
    "LearnedAnalyzer",
    "ShingleAnalyzer",
    "WeightedAnalyzer",
    "weigh_tokens",
    "word_set",
    "word_tokens",
]
