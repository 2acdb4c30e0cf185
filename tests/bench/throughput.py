"""Part ``text``: documents from a file of texts to rows of an index, a core and by the clock, beside peers."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count as numbers, islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any

from peers import entrants
from support.corpus import write_jsonl
from support.results import command

from bench.documents import are_shared, corpus, document_id
from bench.measuring import Table, count, fixed, peer, rate
from bench.sizes import Sizes
from simhash_hbase.api import create_index
from simhash_hbase.errors import MissingExtra
from simhash_hbase.features.analyzers import JiebaAnalyzer
from simhash_hbase.features.chunks import CHUNK_DOCUMENTS
from simhash_hbase.features.fingerprints import Fingerprinter

COLUMNS = ("than rjieba alone", "documents /s a core", "documents /s by the clock")
FLOOR = "rjieba alone: the floor"
PEERS = {
    "datasketch": (entrants.Datasketch, "datasketch `MinHashLSH`, in memory"),
    "lance": (entrants.Lance, "Lance `MINHASHLSH`, index build"),
}
Contestant = Callable[[], None]


def measure_text(sizes: Sizes) -> list[Table]:
    return [_table(name, sizes) for name in sizes.sets if are_shared(name)] or [_table("lctt", sizes)]


def _table(name: str, sizes: Sizes) -> Table:
    texts, repeats = list(islice(corpus(name), sizes.text_documents)), min(2, sizes.repeats)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        records = ({"id": document_id(at), "text": text} for at, text in enumerate(texts))
        file = write_jsonl(Path(folder) / "documents.jsonl", records)
        contestants, missing = _contestants(texts, file)
        rounds = [{each: _spent(work) for each, work in contestants.items()} for _ in range(repeats)]
    best = {
        each: [min(taken) for taken in zip(*(spent[each] for spent in rounds), strict=True)] for each in contestants
    }
    return Table(
        title=f"{name}: {count(len(texts))} documents of {fixed(megabytes, ' MB')} from text",
        columns=["what", *COLUMNS],
        rows=[
            [each, f"{processor / best[FLOOR][0]:.2f} x", rate(len(texts), processor), rate(len(texts), clock)]
            for each, (processor, clock) in best.items()
        ],
        notes=[f"The best of {repeats}.", *missing],
    )


def _contestants(texts: Sequence[str], file: Path) -> tuple[dict[str, Contestant], list[str]]:
    fresh = (file.with_name(f"index{number}") for number in numbers())
    # The dictionaries are loaded before the clock starts.
    _cut(["预热"])
    _analyse(["预热"])
    found: dict[str, Contestant] = {
        FLOOR: partial(_cut, texts),
        "ours, fingerprint": partial(_fingerprint, Fingerprinter(JiebaAnalyzer()), texts),
        "ours, fingerprint, sketch, bands and digest": partial(_analyse, texts),
    }
    for workers in (1, 2):
        found[f"`dedup --create --workers {workers}`"] = partial(_dedup, fresh, file, workers)
        found[f"`create` and `load --workers {workers}`"] = partial(_load, fresh, file, workers)
    missing = []
    for module, (entrant, name) in PEERS.items():
        try:
            peer(module, "dev,peers")
            found[name] = partial(_add, entrant, texts)
        except MissingExtra as error:
            missing.append(f"{name} is left out: {error}.")
    return found, missing


def _spent(work: Contestant) -> tuple[float, float]:
    """Return the seconds of processors, those of child processes too, and by the clock."""
    before, start = _processor(), perf_counter()
    work()
    return _processor() - before, perf_counter() - start


def _processor() -> float:
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _cut(texts: Sequence[str]) -> None:
    rjieba = peer("rjieba")
    for text in texts:
        rjieba.cut(text)


def _fingerprint(fingerprinter: Fingerprinter, texts: Sequence[str]) -> None:
    for some in _chunks(texts):
        fingerprinter.fingerprint_many(some)


def _analyse(texts: Sequence[str]) -> None:
    with create_index("memory:", analyzer="jieba") as index:
        for some in _chunks(texts):
            index.analysis.texts([""] * len(some), some)


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[at : at + CHUNK_DOCUMENTS] for at in range(0, len(texts), CHUNK_DOCUMENTS))


def _dedup(fresh: Iterator[Path], file: Path, workers: int) -> None:
    _run("dedup", f"file:{next(fresh)}", "--create", file, "--workers", workers)


def _load(fresh: Iterator[Path], file: Path, workers: int) -> None:
    folder = next(fresh)
    _run("create", f"file:{folder}", "--learn-from", file)
    _run("load", f"file:{folder}", file, "--workers", workers, "--work", f"{folder}.work")


def _run(*words: object) -> None:
    subprocess.run(command(*words, "--quiet"), check=True, stdout=subprocess.DEVNULL)


def _add(entrant: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> None:
    with closing(entrant(texts)) as made:
        made.add(texts)
