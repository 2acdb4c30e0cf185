"""Part ``dedup``: what deciding costs on top of analysing, and the memory that it takes a document."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import Any

import numpy as np

from bench.documents import are_shared, corpus, document_id
from bench.measuring import Table, anonymous_bytes, count, fixed, rate
from bench.sizes import Sizes
from simhash_hbase.api import create_index
from simhash_hbase.features.chunks import CHUNK_DOCUMENTS

CLI = (sys.executable, "-W", "ignore", "-m", "simhash_hbase")
ANALYSE = """\
import sys
from simhash_hbase.inputs import InputOptions, read
from simhash_hbase.api import create_index
from simhash_hbase.features.chunks import analyse
for _ in analyse(read(sys.argv[1:], InputOptions()), create_index("memory:", analyzer="jieba").analysis, workers=1):
    pass
"""
ROUNDS = 2  # Of the library; the sets take most of the time of the whole benchmark.
COLUMNS = ("documents", "duplicates", "analysing /s", "deciding /s", "overhead", "command /s", "its overhead")


def measure_dedup(sizes: Sizes) -> list[Table]:
    """Decide the first documents of sets, in this process and by the command."""
    sets = [name for name in sizes.dedup_sets if are_shared(name)] or ["lctt"]
    rows = [_row(name, sizes) for name in sets]
    return [
        Table(
            title="`dedup` on top of analysing",
            columns=["set", *COLUMNS],
            rows=rows,
            notes=[
                "The command's overhead is over a process that only reads and analyses the file, in processor time."
            ],
        ),
        _memory(sizes),
    ]


def _row(name: str, sizes: Sizes) -> list[str]:
    texts = list(islice(corpus(name), sizes.dedup_documents))
    analysing, deciding, duplicates = min((_library(texts) for _ in range(ROUNDS)), key=lambda r: r[0] + r[1])
    analysis, command = _commands(texts)
    n = len(texts)
    return [
        name,
        count(n),
        count(duplicates),
        rate(n, analysing),
        rate(n, deciding),
        fixed(100 * deciding / analysing, " %"),
        rate(n, command),
        fixed(100 * (command - analysis) / analysis, " %"),
    ]


def _library(texts: Sequence[str]) -> tuple[float, float, int]:
    analysing = deciding = 0.0
    duplicates = 0
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        create_index(f"file:{Path(folder) / 'index'}", analyzer="jieba") as index,
    ):
        deduplicator = index.deduplicator()
        # The dictionary is loaded before.
        index.analysis.texts([""], ["我来到北京清华大学"])
        for at in range(0, len(texts), CHUNK_DOCUMENTS):
            few = texts[at : at + CHUNK_DOCUMENTS]
            start = perf_counter()
            entries = index.analysis.texts([document_id(at + i) for i in range(len(few))], few).entries
            between = perf_counter()
            decisions = index.dedup_entries(entries, deduplicator)
            deciding += perf_counter() - between
            analysing += between - start
            duplicates += sum(not decision.is_original for decision in decisions)
    return analysing, deciding, duplicates


def _commands(texts: Sequence[str]) -> list[float]:
    """Return the processor time of a process that analyses, and of the command: the clock would count other work."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "documents.jsonl"
        write_lines(path, ({"id": document_id(at), "text": text} for at, text in enumerate(texts)))
        dedup = ["dedup", f"file:{Path(folder) / 'index'}", str(path), *OPTIONS, "--analyzer", "jieba"]
        seconds = []
        for command in ([sys.executable, "-W", "ignore", "-c", ANALYSE, str(path)], [*CLI, *dedup]):
            before = getrusage(RUSAGE_CHILDREN)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            after = getrusage(RUSAGE_CHILDREN)
            seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        return seconds


OPTIONS = ("--create", "--workers", "1", "--quiet")


def _memory(sizes: Sizes) -> Table:
    """Watch the command's own memory while it decides ready fingerprints."""
    first, last = sizes.memory_documents
    simhashes = np.random.default_rng(13).integers(0, 2**64, last, dtype=np.uint64).tolist()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "fingerprints.jsonl"
        write_lines(path, ({"id": document_id(at), "simhash": f"{value:016x}"} for at, value in enumerate(simhashes)))
        url = f"file:{Path(folder) / 'index'}"
        command = [*CLI, "dedup", url, str(path), *OPTIONS, "--analyzer", "jieba", "--simhash-field", "simhash"]
        start, seen = perf_counter(), []
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            # One line before the last, so that the process is still there: it waits for us to read on.
            for number, _ in enumerate(process.stdout, 1):
                if number in (first, last - 1):
                    seen.append(anonymous_bytes(process.pid))
        (less, more), seconds = seen, perf_counter() - start
    return Table(
        title="Memory of `dedup`",
        columns=["documents", "its own memory then", "growth a document", "documents /s"],
        rows=[
            [count(first), fixed(less / 2**20, " MiB"), "", ""],
            [
                count(last),
                fixed(more / 2**20, " MiB"),
                f"{(more - less) / (last - first):.0f} bytes",
                rate(last, seconds),
            ],
        ],
    )


def write_lines(path: Path, records: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
