"""Two texts as an index sees them, side by side."""

import msgspec

from simhash_hbase.compare.differences import word_differences
from simhash_hbase.compare.explain import Side, compare
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.jsonforms import plain


def side_by_side(analysis: Analysis, a: str, b: str) -> bytes:
    """Compare two texts, and the words in them."""
    sides = [Side.of_text(name, text, analysis) for name, text in (("a", a), ("b", b))]
    record = compare(sides[0], sides[1], analysis.profile)
    pieces = [piece._asdict() for piece in word_differences(a, b)]
    return msgspec.json.encode(plain({**record, "block_widths": analysis.profile.blocks.widths, "pieces": pieces}))
