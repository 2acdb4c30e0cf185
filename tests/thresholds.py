"""Which distance and which similarity sketch rows are judged by: one search of a set, judged by all of them.

Run by ``scripts/evaluate --thresholds [SET…]``. Every document is asked within the widest distance and the least
similarity; each line keeps of the pairs that came back those that its own rule accepts.
"""

import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
from evaluate import JUDGED, LEARNED, SEEDS, STRICT, indexed, sample, score
from labelled import Corpus, Pair, Similarities, folder, read_corpus
from numpy.typing import NDArray

from simhash_hbase.opening import create_index
from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import MatchRule
from simhash_hbase.rows.entries import Entries

OWN = Profile.resolve().rule
BANDINGS = (
    *((limits, None) for limits in (None, (16,), (18,), (20,), (24,), (64,))),
    *((limits, OWN.free_distance) for limits in ((24,), (16, 24), (14, 20, 32), OWN.band_distance)),
)
"""Band distance and free distance: the ten rows alone, flat rules, and those beside that of a new index."""
LEAST = (0.77, 0.78, 0.8)
SETS = ("lctt_zh_edit", "laws_tw_versions", "laws_tw_en_versions", "graph_zh_v1_beta")
HEAD = (
    "| set | band distance | similarity | recall J .9-.95 | .8-.9 | pairs returned | J >= .8 | J >= .75 |\n"
    "|---|---|---|---|---|---|---|---|"
)

Found = dict[Pair, tuple[int, float | None, bool, int]]
"""Of each pair that came back: distance, similarity, whether a block row joins it, and how many sketch rows do."""


def search(corpus: Corpus, learn_from: Sequence[int], rule: MatchRule) -> Found:
    """Ask an index of a whole set for each of its documents."""
    texts = [corpus.texts[row] for row in learn_from]
    with (
        tempfile.TemporaryDirectory(prefix="simhash-hbase-") as scratch,
        create_index(f"file:{scratch}/index", learn_from=texts, **LEARNED) as index,
    ):
        chunks = indexed(index, corpus, range(len(corpus.ids)))
        rows = {name: row for entries in chunks for name, *row in _rows(entries)}
        at, found = {name: row for row, name in enumerate(corpus.ids)}, {}
        for entries in chunks:
            for name, answer in zip(entries.ids, index.query_entries(entries, rule=rule), strict=True):
                for match in answer.matches:
                    pair = min(at[name], at[match.id]), max(at[name], at[match.id])
                    (own, segments), (other, others) = rows[name], rows[match.id]
                    joined = bool(index.profile.blocks.agreeing(own, other))
                    shared = int((segments == others).sum())
                    found[pair] = match.distance, match.similarity, joined, shared
    return found


def _rows(entries: Entries) -> Iterator[tuple[str, int, NDArray[np.uint32]]]:
    return zip(entries.ids, entries.simhashes.tolist(), entries.segments, strict=True)


def accepted(found: Found, rule: MatchRule) -> set[Pair]:
    """Keep the pairs that a rule accepts."""
    reach = (-1, *(rule.band_distance or ()))
    return {
        pair
        for pair, (distance, alike, by_blocks, shared) in found.items()
        if (by_blocks and alike is None and distance <= rule.distance)
        or (
            alike is not None
            and alike - rule.more_asked(distance) >= rule.similarity
            and ((by_blocks and distance <= rule.radius) or distance <= reach[: shared + 1][-1])
        )
    }


def rows(corpus: Corpus) -> Iterator[str]:
    """Measure a set, a row of the table for each pair of thresholds."""
    widest = MatchRule(similarity=min(LEAST), band_distance=(64,))
    found = search(corpus, sample(range(len(corpus.ids)), SEEDS[0]), widest)
    exact = Similarities(corpus.texts)
    similar = dict(zip(found, exact.of_many(found), strict=True))
    for band_distance, free in BANDINGS:
        for least in LEAST:
            kept = accepted(found, MatchRule(similarity=least, band_distance=band_distance, free_distance=free))
            _, recall = score(corpus.pairs, kept, exact)
            judged = np.array([similar[pair] for pair in kept])
            cells = [*(f"{recall[at] or 0:.3f}" for at in (1, 2)), f"{len(kept):,}"]
            cells += [f"{(judged >= limit).mean():.3f}" for limit in (STRICT, JUDGED)]
            told = "none" if band_distance is None else ", ".join(map(str, band_distance))
            told += "" if free is None else f", more beyond {free}"
            yield f"| {' | '.join([corpus.name, told, f'{least:.2f}', *cells])} |"


def main(names: Sequence[str]) -> int:
    """Print the table."""
    print(HEAD)
    for name in names or SETS:
        for line in rows(read_corpus(name, folder())):
            print(line, flush=True)
    return 0
