"""Measures what the index finds, and how much of it is right, on the shared evaluation documents.

Run by ``scripts/evaluate [SET…]``. Every document of a set is added to an index of its own and asked of it. Recall is
the share of the listed pairs that come back, by their exact Jaccard similarity; precision is the share of all pairs
that come back whose exact similarity is high. It prints Markdown, and exits with 1 when a required figure is missed.
"""

import importlib
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.general_idf import SETS as IDF_SETS, general_table
from support.labelled import Corpus, Pair, Similarities, documents_file, halves, read_corpus

from simhash_hbase.api import create_index, resolve_profile
from simhash_hbase.features.idf import IdfTable
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.stores.addresses import create_store

BINS = (0.95, 0.9, 0.8, 0.6)
"""Lower ends; each bin reaches up to the one before it, the first to 1."""
SAMPLE = 3_000
"""Documents that the idf is learned from."""
SEEDS = (20, 21, 22)
"""Seeds of the samples: another one moves recall by a hundredth or two, so the figures are means over these."""
CHUNK = 1_000
MOST_JUDGED = 20_000
"""Returned pairs beyond so many are judged by a sample."""
JUDGED = 0.75
STRICT = 0.8

OTHER_TABLES = {
    "--chinese": "support.chinese_copies",
    "--exact": "support.second_look",
    "--fails": "peers.weaknesses",
    "--passages": "support.shared_runs",
    "--peers": "peers",
}
"""Options that ask for another table, and the modules that make it."""

Recipe = dict[str, Any]

CLASSICAL: Recipe = {"analyzer": "jieba", "top": 200, "match": "distance", "distance": 3}
LEARNED: Recipe = {"analyzer": "learned", "match": "verified"}
NEAR_TEXT: Recipe = {**LEARNED, "near": "text"}
TEN_ROWS: Recipe = {**LEARNED, "bands": 0}
JIEBA: Recipe = {"analyzer": "jieba", "match": "verified"}
SHINGLES: Recipe = {"analyzer": "shingle", "match": "verified"}

LEARNED_NAME = "learned, verified"

REQUIRED_RECALL = {
    "lctt_zh_edit": (0.99, 0.963),
    "laws_tw_versions": (0.99, 0.973),
    "laws_tw_en_versions": (0.99, 0.96),
    "graph_zh_v1_beta": (0.99, 0.95),
}
"""Least recall of `LEARNED` on a whole set at J .9-.95 and .8-.9; the latter is that of Lance's index less .02."""
REQUIRED_PRECISION = 0.98
"""Least share of the pairs that `LEARNED` returns on these sets with J >= `JUDGED`."""
RECALL_ONLY = "minhash2500_en"
SETS = (*REQUIRED_RECALL, RECALL_ONLY)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of one recipe on some documents of a set."""

    documents: int
    recall: list[float | None]  # Share of the listed pairs that came back, by bin; None where no pair is listed.
    listed: list[int]  # By bin.
    returned: int
    judged: int
    precise: float | None  # Share of the judged pairs with J >= `JUDGED`.
    strictly: float | None  # The same with J >= `STRICT`.
    truncated: int


def sample(rows: Sequence[int], seed: int) -> list[int]:
    return sorted(random.Random(seed).sample(rows, min(SAMPLE, len(rows))))


def add_texts(index: LocalIndex, texts: Sequence[str], rows: Sequence[int]) -> list[Entries]:
    """Add the texts of these rows, whose numbers are their ids, as `add` adds a file; return what was made of them."""
    chunks = []
    with index.write_groups() as groups:
        for at in range(0, len(rows), CHUNK):
            some = rows[at : at + CHUNK]
            chunks.append(index.analysis.texts(list(map(str, some)), [texts[row] for row in some]).entries)
            with groups.batch():
                index.add_entries(chunks[-1])
    return chunks


def returned_pairs(index: LocalIndex, chunks: Sequence[Entries]) -> tuple[set[Pair], int]:
    """Ask an index for each document; return the pairs that come back, and the number of truncated answers."""
    pairs: set[Pair] = set()
    truncated = 0
    for entries in chunks:
        for name, answer in zip(map(int, entries.ids), index.query_entries(entries), strict=True):
            pairs.update((min(name, other), max(name, other)) for other in (int(match.id) for match in answer.matches))
            truncated += answer.truncated
    return pairs, truncated


def bin_of(similarities: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number the bins: 0 for the most similar; `len(BINS)` for what is below all."""
    return np.searchsorted(-np.array(BINS), -similarities, side="left")


def score(
    pairs: Sequence[Pair], returned: set[Pair], similarities: Similarities
) -> tuple[list[int], list[float | None]]:
    """Count the listed pairs of each bin, and the share of them that came back."""
    bins = bin_of(similarities.of_many(pairs))
    found = np.array([pair in returned for pair in pairs], dtype=bool)
    listed = [int((bins == i).sum()) for i in range(len(BINS))]
    return listed, [float(found[bins == i].mean()) if n else None for i, n in enumerate(listed)]


def precision(returned: set[Pair], exact: Similarities) -> tuple[int, float | None, float | None]:
    """Return how many pairs were judged, and the shares of them with J >= `STRICT` and `JUDGED`; None without pairs."""
    judged = sorted(returned)
    if len(judged) > MOST_JUDGED:
        judged = sorted(random.Random(SEEDS[0]).sample(judged, MOST_JUDGED))
    similar = exact.of_many(judged)
    strictly, precise = (float((similar >= least).mean()) if judged else None for least in (STRICT, JUDGED))
    return len(judged), strictly, precise


def with_table(url: str, table: IdfTable, recipe: Recipe) -> LocalIndex:
    """Make an index with an idf table of no sample."""
    profile, _ = resolve_profile(**recipe)
    profile = profile.replace(idf=table.digest(), idf_documents=table.documents, idf_name=None)
    return LocalIndex.create(create_store(url), profile, idf=table)


def run(
    corpus: Corpus, rows: Sequence[int], recipe: Recipe, learn_from: Sequence[int] | IdfTable, exact: Similarities
) -> Figures:
    """Measure one recipe; `learn_from` is a table, or the rows of its sample, none for a recipe that learns nothing."""
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as scratch, ExitStack() as stack:
        url = f"file:{scratch}/index"
        if isinstance(learn_from, IdfTable):
            index = stack.enter_context(with_table(url, learn_from, recipe))
        else:
            texts = [corpus.texts[row] for row in learn_from] or None
            index = stack.enter_context(create_index(url, learn_from=texts, **recipe))
        returned, truncated = returned_pairs(index, add_texts(index, corpus.texts, rows))
    inside = set(rows)
    listed, recall = score([p for p in corpus.pairs if inside.issuperset(p)], returned, exact)
    judged, strictly, precise = precision(returned, exact)
    return Figures(
        documents=len(rows),
        recall=recall,
        listed=listed,
        returned=len(returned),
        judged=judged,
        precise=precise,
        strictly=strictly,
        truncated=truncated,
    )


def mean(runs: Sequence[Figures]) -> Figures:
    counts = {name: round(np.mean([getattr(run, name) for run in runs])) for name in ("returned", "judged")}
    shares = {name: _mean([getattr(run, name) for run in runs]) for name in ("precise", "strictly")}
    recall = [_mean(values) for values in zip(*(run.recall for run in runs), strict=True)]
    return replace(runs[0], recall=recall, truncated=sum(run.truncated for run in runs), **counts, **shares)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def measure(corpus: Corpus) -> dict[str, Figures]:
    """Measure the recipes on a whole set, then the learned one on a half that its idf has and has not seen."""
    exact = Similarities(corpus.texts)
    every = range(len(corpus.ids))
    held_out, other = halves(corpus)
    plan: dict[str, tuple[Sequence[int], Recipe, list[Sequence[int] | IdfTable]]] = {
        "jieba 200, distance 3": (every, CLASSICAL, [[]]),
        "jieba 200, verified": (every, JIEBA, [[]]),
        "learned, verified, without bands": (every, TEN_ROWS, [sample(every, SEEDS[0])]),
        LEARNED_NAME: (every, LEARNED, [sample(every, seed) for seed in SEEDS]),
        "learned, verified, near text": (every, NEAR_TEXT, [sample(every, SEEDS[0])]),
        "shingle, verified": (every, SHINGLES, [[]]),
    }
    if others := [name for name in IDF_SETS if name != corpus.name and documents_file(name).exists()]:
        plan["shipped idf, made without this set; verified"] = (every, LEARNED, [general_table(others)])
    if held_out and other and corpus.name != RECALL_ONLY:
        plan["held-out half, idf of the other half"] = (held_out, LEARNED, [sample(other, SEEDS[0])])
        plan["held-out half, its own idf"] = (held_out, LEARNED, [sample(held_out, SEEDS[0])])
    done = {}
    for name, (rows, recipe, samples) in plan.items():
        runs = [run(corpus, rows, recipe, learn_from, exact) for learn_from in samples]
        for figures in runs:
            print(row(corpus.name, name, figures), file=sys.stderr, flush=True)
        done[name] = mean(runs)
    return done


def missed(name: str, figures: Figures) -> list[str]:
    """Say which required figures the learned recipe missed on a set."""
    required = REQUIRED_RECALL.get(name)
    if required is None:
        return []
    wanted = [
        ("recall at J .9-.95", figures.recall[1], required[0]),
        ("recall at J .8-.9", figures.recall[2], required[1]),
        (f"precision (J >= {JUDGED})", figures.precise, REQUIRED_PRECISION),
    ]
    return [
        f"{name}: {what} is {'unknown' if value is None else f'{value:.4f}'}, required is {least}"
        for what, value, least in wanted
        if value is None or value < least
    ]


def row(name: str, recipe: str, figures: Figures) -> str:
    precision = (None, None) if name == RECALL_ONLY else (figures.strictly, figures.precise)
    returned = f"{figures.returned:,}" + (" (sample)" if figures.judged < figures.returned else "")
    cells = [name, recipe, f"{figures.documents:,}", *map(_share, figures.recall), returned, *map(_share, precision)]
    return f"| {' | '.join(cells)} |"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


HEAD = (
    "| set | recipe | documents | recall J >= .95 | .9-.95 | .8-.9 | .6-.8 | pairs returned | J >= .8 | J >= .75 |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def main(arguments: list[str]) -> int:
    """Measure sets and print the table, or another one that the first argument asks for."""
    table = OTHER_TABLES.get(arguments[0]) if arguments else None
    names = arguments[table is not None :]
    absent = [name for name in names or SETS if not documents_file(name).exists()]
    if absent:
        print(f"evaluate: there is no {documents_file(absent[0])}; set SIMHASH_HBASE_DATA to the folder of the "
              f"labelled documents; the sets are {', '.join(SETS)}", file=sys.stderr)  # fmt: skip
        return 2
    if table is not None:
        return int(importlib.import_module(table).main(names))
    print(HEAD)
    notes, problems = [], []
    for name in names or SETS:
        done = measure(read_corpus(name))
        for recipe, figures in done.items():
            print(row(name, recipe, figures), flush=True)
            if figures.truncated:
                problems.append(f"{name}: {recipe}: {figures.truncated} answers are truncated")
        notes.append(f"{name} {', '.join(f'{n:,}' for n in next(iter(done.values())).listed)}")
        problems += missed(name, done[LEARNED_NAME])
    print(f"\nListed pairs by bin: {'; '.join(notes)}.")
    for problem in problems:
        print(f"evaluate: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
