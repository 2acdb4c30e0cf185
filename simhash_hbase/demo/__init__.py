"""A demonstration corpus that every machine has: its own Python's documentation, and a few Chinese texts.

``python -m simhash_hbase.demo > corpus.jsonl`` writes it; ``python -m simhash_hbase.demo pages`` writes some of it as
web pages into a folder. Copies with small edits are mixed in, so there are near-duplicates to be found in both
languages.
"""

from simhash_hbase.demo.corpus import documents
from simhash_hbase.demo.texts import Text

__all__ = ["Text", "documents"]
