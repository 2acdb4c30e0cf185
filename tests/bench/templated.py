"""Part ``templates``: what queries read as a set of templated pages grows, by how sketch rows are made."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time

import msgspec
import numpy as np
from labelled import Pair, Similarities, folder, read_corpus
from numpy.typing import NDArray

from bench.bandings import BANDINGS, BANDS, Bandings
from bench.made import fill_spool
from bench.sizes import Sizes
from bench.tables import Table, count, microseconds
from bench.templates import Templates
from bench.texts import SETS, are_shared, corpus
from bench.timing import in_turns
from simhash_hbase.bulk import Spool, begin, load
from simhash_hbase.bulk.puts import StoreWriter
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.analyzers import LearnedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.features.learning import LEARN_FROM, learn_idf
from simhash_hbase.index.index import Index
from simhash_hbase.index.reading import Searched
from simhash_hbase.opening import create_index
from simhash_hbase.opening.indexes import resolve_profile
from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import MatchRule
from simhash_hbase.rows.entries import Entries

__all__ = ["Copy", "Grown", "measure_limits", "measure_templates", "rows_of"]

LEARNED_COPIES = 10
NONE = "none: ten block rows alone"
BIN = (0.8, 0.9)
LIMITS = ((24,), (16, 24), (14, 20, 32), Profile.resolve().rule.band_distance)
IN_A_BATCH = 2_000
COLUMNS = ("documents", "sketch rows", "recall J .8-.9", "rows read", "at most", "members read", "truncated", "a query")

Copy = tuple[Entries, list[NDArray[np.uint32]]]
"""Documents without bands, and their segments by each way to make them."""


class Grown:
    """A set of pages so many times over, with an idf learned from some pages of ten copies."""

    def __init__(self, texts: Sequence[str], copies: int) -> None:
        self._templates, self._number = Templates(texts), len(texts)
        sample = _sample(self._templates, len(texts), copies)
        self._bandings = Bandings(sample, Fingerprinter(LearnedAnalyzer(idf=learn_idf(sample))))

    def copy(self, number: int) -> Copy:
        """Analyse one copy."""
        ids = [f"{number}/{at}" for at in range(self._number)]
        return self._bandings.analyse(ids, self._templates.copy(number))


def _sample(templates: Templates, documents: int, copies: int) -> list[str]:
    """Take pages of up to ten copies, by which the idf is learned."""
    rows = np.random.default_rng(23).permutation(documents)
    shares = np.array_split(rows[:LEARN_FROM], min(copies, LEARNED_COPIES))
    return [text for at, share in enumerate(shares) for text in templates.copy(at, share.tolist())]


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
            _fill(index, batches, scratch)
            documents, rule = sum(map(len, batches)), index.profile.rule
            figures = _asked(index, batches, rule, sizes)
            yield [name, count(documents), way, _recall(index, batches[0], listed, rule), *figures]
            index.close()


def measure_limits(sizes: Sizes) -> list[Table]:
    """Ask indexes of the same sets by several limits for what shares one sketch row, two, and more."""
    rows = []
    for name in sizes.growing_sets:
        texts = list(corpus(name))[: sizes.growing_documents]
        times = sizes.growing_times if name == sizes.growing_sets[0] else (1,)
        templates = Templates(texts)
        analysis = Analysis(*resolve_profile(_sample(templates, len(texts), max(times))))
        copies = [
            analysis.texts([f"{number}/{at}" for at in range(len(texts))], templates.copy(number)).entries
            for number in range(max(times))
        ]
        for factor in times:
            rows += limits_of(name, copies[:factor], _listed(name, texts), sizes)
    return [
        Table(
            title="Limits for what shares one sketch row, two, and more",
            columns=["set", "documents", "limits", *COLUMNS[2:], "in a batch"],
            rows=rows,
            notes=[
                f"Sets, queries and figures as in part `templates`, rows of 4 minima. Batches of {count(IN_A_BATCH)} "
                f"documents out of all copies. Limits were timed in turns, the best of {sizes.repeats}, processor time."
            ],
        )
    ]


def limits_of(name: str, batches: Sequence[Entries], listed: Sequence[Pair], sizes: Sizes) -> Iterator[list[str]]:
    """Measure all limits on one index of so many copies."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        index = create_index(f"file:{scratch}/index", analyzer="jieba")
        _fill(index, batches, scratch)
        rules = [msgspec.structs.replace(index.profile.rule, band_distance=limits) for limits in LIMITS]
        singly, together = (
            in_turns([partial(_ask, index, parts, rule) for rule in rules], repeats=sizes.repeats)
            for parts in (_drawn(batches, sizes.growing_queries), [Entries.joined(_drawn(batches, IN_A_BATCH))])
        )
        for limits, rule, each, many in zip(LIMITS, rules, singly, together, strict=True):
            figures = [*_asked(index, batches, rule, sizes)[:-1], f"{each.best / sizes.growing_queries * 1e3:.2f} ms"]
            recall = _recall(index, batches[0], listed, rule)
            told = [name, count(sum(map(len, batches))), ", ".join(map(str, limits)), recall]
            yield [*told, *figures, microseconds(many.best / IN_A_BATCH)]
        index.close()


def _fill(index: Index, batches: Sequence[Entries], scratch: str) -> None:
    spool = Spool(Path(scratch) / "spool", index.store.url, index.profile)
    fill_spool(spool, batches)
    begin(index, spool)
    load(index, spool, StoreWriter(index.store))


def _drawn(batches: Sequence[Entries], number: int) -> list[Entries]:
    """Draw documents out of all copies."""
    rng = np.random.default_rng(43)
    chosen = [(int(rng.integers(len(batches))), int(rng.integers(len(batches[0])))) for _ in range(number)]
    return [batches[batch].take([at]) for batch, at in chosen]


def _ask(index: Index, parts: Sequence[Entries], rule: MatchRule) -> None:
    for part in parts:
        index.query_entries(part, rule=rule)


def _recall(index: Index, first: Entries, listed: Sequence[Pair], rule: MatchRule) -> str:
    answers = index.query_entries(first.take([a for a, _ in listed]), rule=rule) if listed else []
    found = [first.ids[b] in {m.id for m in answer.matches} for (_, b), answer in zip(listed, answers, strict=True)]
    return f"{np.mean(found):.3f}" if found else "—"


def _asked(index: Index, batches: Sequence[Entries], rule: MatchRule, sizes: Sizes) -> list[str]:
    """Ask some documents of all copies, one at a time."""
    rng, seen, seconds = np.random.default_rng(41), list[Searched](), []
    index.on_search = seen.append
    for number in range(-sizes.growing_queries // 10, sizes.growing_queries):
        batch = batches[int(rng.integers(len(batches)))]
        query = batch.take([int(rng.integers(len(batch)))])
        start = process_time()
        index.query_entries(query, rule=rule)
        seconds.append(process_time() - start)
        if number < 0:
            seen.clear()
            seconds.clear()
    rows, members = (np.array([getattr(each, field) for each in seen]) for field in ("rows", "candidates"))
    figures = [f"{rows.mean():,.1f}", count(rows.max()), f"{members.mean():,.1f}"]
    return [*figures, count(sum(each.truncated for each in seen)), f"{np.mean(seconds) * 1e3:.2f} ms"]
