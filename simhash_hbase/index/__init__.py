"""The index: documents in, near-duplicates out, over any store."""

from simhash_hbase.index.answers import Answer, Decision, Match, Stored
from simhash_hbase.index.decide.dedup import Deduplicator
from simhash_hbase.index.index import Index

__all__ = ["Answer", "Decision", "Deduplicator", "Index", "Match", "Stored"]
