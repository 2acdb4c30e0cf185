"""Analyzers: from a text to its features and their weights."""

from simhash_hbase.features.analyzers.classical import JiebaAnalyzer
from simhash_hbase.features.analyzers.learned import LearnedAnalyzer
from simhash_hbase.features.analyzers.protocols import Analyzer, CountingAnalyzer, weigh_tokens
from simhash_hbase.features.analyzers.shingle import ShingleAnalyzer
from simhash_hbase.features.analyzers.weighted import WeightedAnalyzer
from simhash_hbase.features.analyzers.worded import WordedAnalyzer
from simhash_hbase.features.analyzers.words import word_tokens

__all__ = [
    "Analyzer",
    "CountingAnalyzer",
    "JiebaAnalyzer",
    "LearnedAnalyzer",
    "ShingleAnalyzer",
    "WeightedAnalyzer",
    "WordedAnalyzer",
    "weigh_tokens",
    "word_tokens",
]
