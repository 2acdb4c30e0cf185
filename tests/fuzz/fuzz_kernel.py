"""Texts: a text has the same entry alone and among others, in every form of text, and no text stops the analysis."""

from functools import cache

import numpy as np
from support.hostile import HOSTILE, special
from support.languages import read_passages

from fuzz import by_atheris
from simhash_hbase import create_index
from simhash_hbase.features.chunks import analyse_chunk
from simhash_hbase.kernel.texts import cut

CODES = ("utf-8", "utf-16-le", "utf-32-le", "gb18030")
ANALYZERS = ("learned", "shingle", "jieba")
OTHER = "市政府今天批准了穿过老城的新地铁线路。The council has approved it."
MOST_CHARACTERS = 4_000


@cache
def analyses():
    """Return an analysis of each kind; with passages, everything is made of a text that can be."""
    made = []
    for analyzer in ANALYZERS:
        with create_index("memory:", analyzer=analyzer, passages=50) as index:
            made.append(index.analysis)
    return made


def columns(analysed, at):
    """Return what was made of one text, or why nothing was."""
    if at in analysed.refused:
        return analysed.refused[at]
    row, entries = analysed.kept.index(at), analysed.entries
    arrays = (entries.simhashes, entries.sketches, entries.shingles, entries.features, entries.lengths, entries.bands)
    return [np.asarray(array[row]).tolist() for array in arrays], entries.digests[row], entries.passages[row]


def TestOneInput(data: bytes) -> None:
    """Analyse a text, whose encoding is the first byte."""
    text = data[1:].decode(CODES[data[0] % len(CODES) if data else 0], "replace")[:MOST_CHARACTERS]
    for analysis in analyses():
        alone = analyse_chunk(analysis, "texts", ["a"], [text], None).analysed
        among = analyse_chunk(analysis, "texts", ["b", "a", "c"], [OTHER, text, text[::-1]], None).analysed
        assert columns(alone, 0) == columns(among, 1)
    assert all(cut(text))


TEXTS = [*special(), *(text[:300] for text in HOSTILE.values()), *(texts[0] for texts in read_passages().values())]
SEEDS = [
    bytes([number % len(CODES)]) + text.encode(CODES[number % len(CODES)], "replace")
    for number, text in enumerate(TEXTS)
]

if __name__ == "__main__":
    by_atheris(TestOneInput)
