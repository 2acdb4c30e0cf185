"""Spark for the tests: sessions, a cluster, a corpus that has everything, and what one machine makes of it."""

import gc
import os
import random
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pyspark
import pytest

from simhash_hbase.api import create_index
from simhash_hbase.bulk import Spool, StoreWriter, begin, load as load_alone
from simhash_hbase.corpus import Deduplication, DedupOptions, Reading, Surroundings
from simhash_hbase.index.jsonforms import json_line
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.inputs import InputOptions, scan
from simhash_hbase.spark import session
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder
from simhash_hbase.stores.memory import MemoryStore
from support.listening import free_port, listening
from support.results import Printed
from support.rows import contents
from support.serving import wait_for

QUICK = {
    # A test is over before a thorough compiler would have paid off.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Nor would Spark's own, which generates Java for each query.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.executor.memory": "512m",
}
# Splits of some kilobytes: a small corpus has many.
SPLITS = {**QUICK, "spark.sql.files.maxPartitionBytes": "40000", "spark.sql.files.openCostInBytes": "1000"}
WORDS = [
    "蚕", "丝绸", "灯塔", "港口", "机器", "学习", "索引", "指纹", "文档", "重复", "法律", "条例", "新闻", "编辑",
    "版本",
]  # fmt: skip


# py4j leaves its sockets to the garbage collector.
SOCKETS = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")


@contextmanager
def quiet_session(options):
    """Begin a session, and collect its sockets while the test still bears them."""
    with session(options) as spark:
        yield spark
    gc.collect()


def decisions_of_one_machine(sources, *, index=None, keep="first"):
    """Decide as `dedup` does; with an index, as a dry run against it. Return the lines and the summary."""
    printed = Printed()
    reading = Reading(workers=1)
    options = DedupOptions(keep=keep, dry_run=index is not None)
    surroundings = Surroundings(learn=index is None)
    with Deduplication(sources, options, reading=reading, lines=printed, surroundings=surroundings) as corpus:
        if index is not None:
            summary = corpus.run(index)
        else:
            with create_index("memory:", learn_from=corpus.texts()) as made:
                summary = corpus.run(made)
    return [json_line(record).decode().rstrip("\n") for record in printed.lines], summary


def cells_of_load(index, source, stamp, folder, options=None, batch=None):
    """Load as one machine does, into memory: with profile and collection of an index, and the same timestamp."""
    model = LocalIndex.create(MemoryStore(), index.profile)
    # The model has another secret, by which its collections are elsewhere.
    spool = Spool(folder, model.store.url, index.profile, index.collection, batch=batch)
    begin(model, spool)
    list(spool.fill(scan([source], options or InputOptions()), model.analysis))
    spool.manifest.stamp = stamp
    load_alone(model, spool, StoreWriter(model.store))
    return contents(model.store)


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


CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PACKAGE = "org.apache.spark.deploy"
HERE = "127.0.0.1"
WORKERS = 2


def java_home():
    return str(Downloads(cache_folder()).java().resolve().parents[1])


@contextmanager
def standalone(folder):
    """Yield the address of a master that has two workers of one core each."""
    own = {"SPARK_LOCAL_IP": HERE, "SPARK_DAEMON_MEMORY": "512m", "PYSPARK_PYTHON": sys.executable}
    environment = {**os.environ, "JAVA_HOME": java_home(), **own}
    log, port = folder / "master.log", free_port()
    url = f"spark://{HERE}:{port}"
    with ExitStack() as running:
        master = [f"{PACKAGE}.master.Master", "--port", str(port), "--webui-port", str(free_port())]
        running.enter_context(listening([CLASS, *master, "--host", HERE], port, log, env=environment))
        worker = [f"{PACKAGE}.worker.Worker", "--cores", "1", "--memory", "1g", "--host", HERE, url]
        for number in range(WORKERS):
            own_folder = str(folder / f"worker{number}")
            words = [CLASS, *worker, "--webui-port", str(free_port()), "--work-dir", own_folder]
            # The master's port: they start at the same time.
            running.enter_context(listening(words, port, folder / f"worker{number}.log", env=environment))
        wait_for(lambda: log.read_text().count("Registering worker") == WORKERS)
        yield url
