"""Part ``dedup``: what deciding costs on top of analysing, and the memory that it takes a document."""

import json
import os
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
import pyarrow as pa

from bench.documents import are_shared, corpus, document_id
from bench.measuring import Table, anonymous_bytes, count, fixed, rate
from bench.sizes import Sizes
from simhash_hbase.opening import create_index
from simhash_hbase.pipeline.analyse import CHUNK_DOCUMENTS

CLI = (sys.executable, "-W", "ignore", "-m", "simhash_hbase")
PROCESS = (sys.executable, "-W", "ignore", "-m", "bench.processes")
ROUNDS = 2  # Of the library; the sets take most of the time of the whole benchmark.
# A process of its own finds this package only by its folder.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
COLUMNS = (
    "documents", "duplicates", "analysing /s", "deciding /s", "overhead", "command /s", "its overhead", "of a table",
)  # fmt: skip


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
                "The command's overhead is over a process that only reads and analyses the same file, that of a table "
                "over the command, in processor time."
            ],
        ),
        _memory(sizes),
    ]


def _row(name: str, sizes: Sizes) -> list[str]:
    texts = list(islice(corpus(name), sizes.dedup_documents))
    analysing, deciding, duplicates = min((_library(texts) for _ in range(ROUNDS)), key=lambda r: r[0] + r[1])
    analysis, command, arrow = _commands(texts)
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
        fixed(100 * (arrow - command) / command, " %"),
    ]


def _library(texts: Sequence[str]) -> tuple[float, float, int]:
    analysing = deciding = 0.0
    duplicates = 0
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, _new(folder) as index:
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


def _new(folder: str) -> Any:
    return create_index(f"file:{Path(folder) / 'index'}", analyzer="jieba")


def _commands(texts: Sequence[str]) -> list[float]:
    """Time a process that analyses, the command, and one that reads a table."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path, table = Path(folder) / "documents.jsonl", Path(folder) / "documents.arrow"
        records = [{"id": document_id(at), "text": text} for at, text in enumerate(texts)]
        write_lines(path, records)
        rows = pa.Table.from_pylist(records)
        with pa.OSFile(str(table), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        dedup = ["dedup", f"file:{Path(folder) / 'index'}", str(path), *OPTIONS, "--analyzer", "jieba"]
        commands = ([*PROCESS, "analyse", str(path)], [*CLI, *dedup], [*PROCESS, "table", str(table)])
        return [_seconds(command) for command in commands]


OPTIONS = ("--create", "--workers", "1", "--quiet")


def _seconds(command: Sequence[str]) -> float:
    """Run a process and tell its processor time: the clock would count what else the machine does."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _memory(sizes: Sizes) -> Table:
    """Watch the command's own memory while it decides ready fingerprints."""
    first, last = sizes.memory_documents
    simhashes = np.random.default_rng(13).integers(0, 2**64, last, dtype=np.uint64).tolist()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "fingerprints.jsonl"
        write_lines(path, ({"id": document_id(at), "simhash": f"{value:016x}"} for at, value in enumerate(simhashes)))
        url = f"file:{Path(folder) / 'index'}"
        command = [*CLI, "dedup", url, str(path), *OPTIONS, "--analyzer", "jieba", "--simhash-field", "simhash"]
        start = perf_counter()
        less, more = _memory_after(command, (first, last))
        seconds = perf_counter() - start
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


def _memory_after(command: Sequence[str], lines: tuple[int, int]) -> list[int]:
    seen = []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        # One line before the last, so that the process is still there: it waits for us to read on.
        wanted = {lines[0], lines[1] - 1}
        for number, _ in enumerate(process.stdout, 1):
            if number in wanted:
                seen.append(anonymous_bytes(process.pid))
    return seen


def write_lines(path: Path, records: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
