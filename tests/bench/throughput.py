"""Part ``text``: documents from a file of texts to rows of an index, a core and by the clock, beside peers."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count as numbers
from itertools import islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import NamedTuple

import rjieba
from peers import entrants

from bench.deduping import CLI, ENVIRONMENT, write_lines
from bench.made import document_id
from bench.peers import peer
from bench.sizes import Sizes
from bench.tables import Table, count, fixed, rate
from bench.texts import are_shared, corpus
from simhash_hbase.errors import MissingExtra
from simhash_hbase.opening import create_index
from simhash_hbase.pipeline.chunks import CHUNK_DOCUMENTS

__all__ = ["measure_text"]

COLUMNS = ("documents /s a core", "MB/s a core", "documents /s by the clock", "MB/s by the clock")
PEERS = {
    "datasketch": ("Datasketch", "datasketch `MinHashLSH`, in memory"),
    "lance": ("Lance", "Lance `MINHASHLSH`, index build"),
}
"""Their modules, their classes in `peers.entrants`, and their rows."""


class _Cost(NamedTuple):
    """What something took, in seconds."""

    processor: float
    clock: float


Contestant = Callable[[], None]


def measure_text(sizes: Sizes) -> list[Table]:
    """Measure each set."""
    return [_table(name, sizes) for name in sizes.text_sets if are_shared(name)] or [_table("lctt", sizes)]


def _table(name: str, sizes: Sizes) -> Table:
    texts = list(islice(corpus(name), sizes.text_documents))
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "documents.jsonl"
        write_lines(file, ({"id": document_id(at), "text": text} for at, text in enumerate(texts)))
        contestants, missing = _contestants(texts, file)
        costs = {each: [_spent(work) for _ in range(sizes.text_rounds)] for each, work in contestants.items()}
    return Table(
        title=f"{name}: {count(len(texts))} documents of {fixed(megabytes, ' MB')} from text",
        columns=["what", *COLUMNS],
        rows=[[each, *_rates(found, len(texts), megabytes)] for each, found in costs.items()],
        notes=[
            "A core: by processor time of all processes and threads. MB are those of the texts in UTF-8.",
            "`dedup --create` and `create --learn-from` learn the idf from 3,000 of the documents; commands count "
            "from start to end. The others hold the texts in memory when the clock starts; ours loads its dictionary "
            "after that, which takes about a second.",
            f"The best of {sizes.text_rounds}.",
            *missing,
        ],
    )


def _contestants(texts: Sequence[str], file: Path) -> tuple[dict[str, Contestant], list[str]]:
    fresh = (file.with_name(f"index{number}") for number in numbers())
    found: dict[str, Contestant] = {
        "rjieba alone: the floor": partial(_cut, texts),
        "ours, fingerprint and sketch, jieba": partial(_analyse, texts),
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


def _spent(work: Contestant) -> _Cost:
    before, start = _processor(), perf_counter()
    work()
    return _Cost(_processor() - before, perf_counter() - start)


def _processor() -> float:
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _rates(costs: Sequence[_Cost], documents: int, megabytes: float) -> list[str]:
    best = [min(column) for column in zip(*costs, strict=True)]
    return [cell for seconds in best for cell in (rate(documents, seconds), fixed(megabytes / seconds))]


def _cut(texts: Sequence[str]) -> None:
    for text in texts:
        rjieba.cut(text)


def _analyse(texts: Sequence[str]) -> None:
    with create_index("memory:", analyzer="jieba") as index:
        for at in range(0, len(texts), CHUNK_DOCUMENTS):
            few = texts[at : at + CHUNK_DOCUMENTS]
            index.analysis.texts([""] * len(few), few)


def _dedup(fresh: Iterator[Path], file: Path, workers: int) -> None:
    _run("dedup", f"file:{next(fresh)}", "--create", str(file), "--workers", str(workers))


def _load(fresh: Iterator[Path], file: Path, workers: int) -> None:
    folder = next(fresh)
    _run("create", f"file:{folder}", "--learn-from", str(file))
    _run("load", f"file:{folder}", str(file), "--workers", str(workers), "--work", f"{folder}.work")


def _run(*command: str) -> None:
    subprocess.run([*CLI, *command, "--quiet"], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def _add(entrant: str, texts: Sequence[str]) -> None:
    with closing(getattr(entrants, entrant)(texts)) as made:
        made.add(texts)
