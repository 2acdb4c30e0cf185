"""Spark for the tests: its settings, decisions and cells of one machine, and a made corpus that has everything."""

import gc
import random
from contextlib import contextmanager

import msgspec
import pytest

from simhash_hbase.bulk import Spool, StoreWriter, begin
from simhash_hbase.bulk import load as load_alone
from simhash_hbase.corpus import Deduplication, DedupOptions, Reading
from simhash_hbase.index.answers import json_line
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import InputOptions, scan
from simhash_hbase.opening import create_index
from simhash_hbase.spark import session
from simhash_hbase.stores.memory import MemoryStore

__all__ = [
    "QUICK",
    "SOCKETS",
    "cells",
    "cells_of_load",
    "corpus",
    "decisions_of_one_machine",
    "quiet_session",
    "write_lines",
]

QUICK = {
    # A test is over before a thorough compiler would have paid off.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "512m",
}
WORDS = [
    "蚕",
    "丝绸",
    "灯塔",
    "港口",
    "机器",
    "学习",
    "索引",
    "指纹",
    "文档",
    "重复",
    "法律",
    "条例",
    "新闻",
    "编辑",
    "版本",
]


# py4j leaves its sockets to the garbage collector.
SOCKETS = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")


@contextmanager
def quiet_session(options):
    """Begin a session, and collect its sockets while the test still bears them."""
    with session(options) as spark:
        yield spark
    gc.collect()


class Lines:
    """Takes decisions as they are printed."""

    def __init__(self):
        self.taken = []

    def line(self, record):
        self.taken.append(json_line(record).decode().rstrip("\n"))

    def flush(self):
        pass


def decisions_of_one_machine(sources, *, settings=None, index=None, keep="first"):
    """Decide as `dedup` does; with an index, as a dry run against it."""
    lines = Lines()
    reading = Reading(settings=settings or InputOptions(), workers=1)
    options = DedupOptions(keep=keep, dry_run=index is not None, learn=index is None)
    with Deduplication(sources, options, reading=reading, lines=lines) as corpus:
        if index is not None:
            return lines.taken, corpus.run(index)
        with create_index("memory:", learn_from=corpus.texts()) as made:
            return lines.taken, corpus.run(made)


def cells(index):
    """Read all rows and all document cells."""
    rows = [(p, s) for page in index.store.scan_range(0, 1 << 40, page=9_999) for p, s in zip(*page, strict=True)]
    return rows, [cell for page in index.store.scan_cells("d", b"", None, page=9_999) for cell in page]


def cells_of_load(index, source, stamp, folder, options=None):
    """Load as one machine does, into memory: with profile and collection of an index, and the same timestamp."""
    model = Index.create(MemoryStore(), index.profile).in_collection(index.collection.name)
    spool = Spool(folder, model.store.url, index.profile, model.collection)
    begin(model, spool)
    list(spool.fill(scan([source], options or InputOptions()), model.analysis))
    spool.manifest.stamp = stamp
    load_alone(model, spool, StoreWriter(model.store))
    return cells(model)


def corpus(seed=5, families=60):
    """Make families of documents that were edited again and again, exact copies, short ones and refused ones."""
    chance = random.Random(seed)
    records = []
    for family in range(families):
        words = chance.choices(WORDS, k=120) + [f"题{family}"] * 5
        for version in range(chance.randint(1, 8)):
            records.append({"id": f"{family}/{version}", "text": "，".join(words)})
            for _ in range(chance.randint(0, 6)):
                words[chance.randrange(len(words))] = chance.choice(WORDS)
    chance.shuffle(records)
    records += [{"id": f"copy/{at}", "text": record["text"]} for at, record in enumerate(records[::7])]
    records += [{"text": records[3]["text"] + "，又一版"}, {"id": "short", "text": "灯塔"}]
    return [*records, {"id": "no text"}, {"id": "empty", "text": " "}, {"id": "0/0", "text": "港口，来过两次"}]


def write_lines(path, records, *, others=(b"", b"{no json")):
    """Write JSON lines, with an empty line and a line that is none among them, or with other ones."""
    lines = [msgspec.json.encode(record) for record in records]
    lines[5:5] = others
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)
