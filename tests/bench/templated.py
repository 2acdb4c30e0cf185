"""Part ``templates``: what queries read as a set of templated pages grows, by how sketch rows are made."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
from labelled import Pair, Similarities, folder, read_corpus
from numpy.typing import NDArray

from bench.bandings import BANDINGS, BANDS, Bandings
from bench.made import fill_spool
from bench.sizes import Sizes
from bench.tables import Table, count
from bench.templates import Templates
from bench.texts import SETS, are_shared, corpus
from simhash_hbase.bulk import Spool, begin, load
from simhash_hbase.bulk.puts import StoreWriter
from simhash_hbase.features.analyzers import LearnedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.learning import LEARN_FROM, learn_idf
from simhash_hbase.index.index import Index
from simhash_hbase.index.reading import Searched
from simhash_hbase.opening import create_index
from simhash_hbase.rows.entries import Entries

__all__ = ["Copy", "Grown", "measure_templates", "rows_of"]

LEARNED_COPIES = 10
NONE = "none: ten block rows alone"
BIN = (0.8, 0.9)
COLUMNS = ("documents", "sketch rows", "recall J .8-.9", "rows read", "at most", "members read", "truncated", "a query")

Copy = tuple[Entries, list[NDArray[np.uint32]]]
"""Documents without bands, and their segments by each way to make them."""


class Grown:
    """A set of pages so many times over, with an idf learned from some pages of ten copies."""

    def __init__(self, texts: Sequence[str], copies: int) -> None:
        self._templates, self._number = Templates(texts), len(texts)
        rows = np.random.default_rng(23).permutation(len(texts))
        shares = np.array_split(rows[:LEARN_FROM], min(copies, LEARNED_COPIES))
        sample = [text for at, share in enumerate(shares) for text in self._templates.copy(at, share.tolist())]
        self._bandings = Bandings(sample, Fingerprinter(LearnedAnalyzer(idf=learn_idf(sample))))

    def copy(self, number: int) -> Copy:
        """Analyse one copy."""
        ids = [f"{number}/{at}" for at in range(self._number)]
        return self._bandings.analyse(ids, self._templates.copy(number))


def measure_templates(sizes: Sizes) -> list[Table]:
    """Grow the templated set; the other sets are measured as they are."""
    rows = []
    for name in sizes.growing_sets:
        texts = list(corpus(name))[: sizes.growing_documents]
        times = sizes.growing_times if name == sizes.growing_sets[0] else (1,)
        grown = Grown(texts, max(times))
        copies = [grown.copy(number) for number in range(max(times))]
        rows += [row for factor in times for row in rows_of(name, copies[:factor], _listed(name, texts), sizes)]
    return [
        Table(
            title="Sketch rows as a set of templated pages grows",
            columns=["set", *COLUMNS],
            rows=rows,
            notes=[
                "Each copy has the templates of the set and other content words: runs of letters that at most 20 pages "
                "have are exchanged for others of about their length. The idf is learned from ten of the copies.",
                f"{BANDS} sketch rows each, the rule of a new index, a `file:` index, "
                f"{count(sizes.growing_queries)} single queries of documents out of all copies: rows and members (of "
                "fingerprints within the gate) are means; processor time. Recall is of the listed pairs of the set "
                "itself. “Rare” leaves out shingles that 1 % of a sample have.",
            ],
        )
    ]


def _listed(name: str, texts: Sequence[str]) -> list[Pair]:
    """List the labelled pairs of the bin; there are none where the set is not at hand."""
    if not are_shared(name):
        return []
    pairs = [pair for pair in read_corpus(SETS[name], folder()).pairs if pair[1] < len(texts)]
    similar = Similarities(texts).of_many(pairs)
    return [pair for pair, alike in zip(pairs, similar, strict=True) if BIN[0] <= alike < BIN[1]]


def rows_of(name: str, copies: Sequence[Copy], listed: Sequence[Pair], sizes: Sizes) -> Iterator[list[str]]:
    """Measure all ways to make sketch rows on so many copies."""
    for at, way in enumerate([NONE, *BANDINGS]):
        batches = [replace(entries, bands=segments[at - 1]) if at else entries for entries, segments in copies]
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            index = create_index(f"file:{scratch}/index", analyzer="jieba", bands=BANDS if at else 0)
            spool = Spool(Path(scratch) / "spool", index.store.url, index.profile)
            fill_spool(spool, batches)
            begin(index, spool)
            load(index, spool, StoreWriter(index.store))
            documents = sum(map(len, batches))
            yield [name, count(documents), way, _recall(index, batches[0], listed), *_asked(index, batches, sizes)]
            index.close()


def _recall(index: Index, first: Entries, listed: Sequence[Pair]) -> str:
    answers = index.query_entries(first.take([a for a, _ in listed])) if listed else []
    found = [first.ids[b] in {m.id for m in answer.matches} for (_, b), answer in zip(listed, answers, strict=True)]
    return f"{np.mean(found):.3f}" if found else "—"


def _asked(index: Index, batches: Sequence[Entries], sizes: Sizes) -> list[str]:
    """Ask some documents of all copies, one at a time."""
    rng, seen, seconds = np.random.default_rng(41), list[Searched](), []
    index.on_search = seen.append
    for number in range(-sizes.growing_queries // 10, sizes.growing_queries):
        batch = batches[int(rng.integers(len(batches)))]
        query = batch.take([int(rng.integers(len(batch)))])
        start = process_time()
        index.query_entries(query)
        seconds.append(process_time() - start)
        if number < 0:
            seen.clear()
            seconds.clear()
    rows, members = (np.array([getattr(each, field) for each in seen]) for field in ("rows", "candidates"))
    figures = [f"{rows.mean():,.1f}", count(rows.max()), f"{members.mean():,.1f}"]
    return [*figures, count(sum(each.truncated for each in seen)), f"{np.mean(seconds) * 1e3:.2f} ms"]
