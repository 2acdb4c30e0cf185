"""Part ``dedup``: what deciding costs on top of analysing, and the memory that it takes a document."""

import subprocess
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
from support.corpus import write_jsonl
from support.results import command

from bench.documents import are_shared, corpus, document_id
from bench.measuring import Table, anonymous_bytes, count, fixed
from bench.sizes import Sizes
from simhash_hbase.api import create_index
from simhash_hbase.features.chunks import CHUNK_DOCUMENTS


def measure_dedup(sizes: Sizes) -> list[Table]:
    sets = [name for name in sizes.sets if are_shared(name)] or ["lctt"]
    columns = ["set", "documents", "overhead"]
    rows = [_row(name, sizes) for name in sets]
    return [Table(title="`dedup` on top of analysing", columns=columns, rows=rows), _memory(sizes)]


def _row(name: str, sizes: Sizes) -> list[str]:
    texts = list(islice(corpus(name), sizes.dedup_documents))
    rounds = [_decide(texts) for _ in range(min(2, sizes.repeats))]
    analysing, deciding = min(rounds, key=sum)
    return [name, count(len(texts)), fixed(100 * deciding / analysing, " %")]


def _decide(texts: Sequence[str]) -> tuple[float, float]:
    analysing = deciding = 0.0
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        create_index(f"file:{folder}/index", analyzer="jieba") as index,
    ):
        deduplicator = index.deduplicator()
        # The dictionary is loaded before.
        index.analysis.texts([""], ["我来到北京清华大学"])
        for at in range(0, len(texts), CHUNK_DOCUMENTS):
            few = texts[at : at + CHUNK_DOCUMENTS]
            start = perf_counter()
            entries = index.analysis.texts([document_id(at + i) for i in range(len(few))], few).entries
            between = perf_counter()
            index.dedup_entries(entries, deduplicator)
            deciding += perf_counter() - between
            analysing += between - start
    return analysing, deciding


def _memory(sizes: Sizes) -> Table:
    """Watch the command's own memory while it decides ready fingerprints."""
    first, last = sizes.memory_documents
    simhashes = np.random.default_rng(13).integers(0, 2**64, last, dtype=np.uint64).tolist()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        records = ({"id": document_id(at), "simhash": f"{value:016x}"} for at, value in enumerate(simhashes))
        file = write_jsonl(Path(folder) / "fingerprints.jsonl", records)
        words = ["--create", "--workers", "1", "--quiet", "--analyzer", "jieba", "--simhash-field", "simhash"]
        seen = []
        with subprocess.Popen(
            command("dedup", f"file:{folder}/index", file, *words), stdout=subprocess.PIPE
        ) as process:
            # One line before the last, so that the process is still there: it waits for us to read on.
            for number, _ in enumerate(process.stdout, 1):
                if number in (first, last - 1):
                    seen.append(anonymous_bytes(process.pid))
        less, more = seen
    growth = f"{(more - less) / (last - first):.0f} bytes"
    return Table(
        title="Memory of `dedup`",
        columns=["documents", "its own memory then", "growth a document"],
        rows=[[count(first), fixed(less / 2**20, " MiB"), ""], [count(last), fixed(more / 2**20, " MiB"), growth]],
    )
