"""Spark on a cluster with HDFS: the commands of the page about Spark, and what they write there."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from simhash_hbase.index.index import Index
from simhash_hbase.profile import Profile
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from support.fresh_clone import blocks, split
from support.spark_cluster import CLASS, java_home
from support.spark_sessions import QUICK, cells, cells_of_load, corpus, decisions_of_one_machine, write_lines

__all__ = ["spark_works_on"]

SHELL = [CLASS, "org.apache.hadoop.fs.FsShell"]
SHOWN = {"crawl": "hdfs://127.0.0.1:8020/crawl", "table": "hbase://127.0.0.1:9091/news", "conf": "/etc/hbase/conf"}
"""What the page has for places of a reader's own."""
# A small corpus has many splits.
SETTINGS = {**QUICK, "spark.sql.files.maxPartitionBytes": "20000", "spark.sql.files.openCostInBytes": "1000"}


def environment_of(folder):
    """Write what Spark and Hadoop read when they start; return the variables that name it."""
    folder.mkdir(parents=True)
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in SETTINGS.items()))
    # Hadoop's shell does not start without one. It names no file system: the commands do.
    (folder / "core-site.xml").write_text("<configuration/>")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "HADOOP_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    found = {"PATH": path, "JAVA_HOME": java_home(), "SPARK_CONF_DIR": str(folder), "HADOOP_CONF_DIR": str(folder)}
    return {**kept, **found}


def write_corpus(folder):
    """Write a corpus as JSON lines, and as two files of Parquet of which the first one is in an inner folder."""
    whole = {
        record["id"]: record for record in corpus(families=30) if "id" in record and record.get("text", "").strip()
    }
    records = list(whole.values())
    half = len(records) // 2
    (folder / "corpus" / "a").mkdir(parents=True)
    for name, some in (("a/z.parquet", records[:half]), ("b.parquet", records[half:])):
        pq.write_table(pa.Table.from_pylist(some), folder / "corpus" / name, row_group_size=20)
    write_lines(folder / "corpus.jsonl", records, others=())


def page_commands(**places):
    """Return the page's commands, with other places than it shows."""
    commands = "\n".join(split(blocks()["sparkhdfs"]))
    for name, there in places.items():
        commands = commands.replace(SHOWN[name], there)
    return commands


def spark_works_on(cluster, folder, name="crawl"):
    """Run the page's commands on a new folder of HDFS, into a new table, and compare with what one machine makes."""
    there = f"hdfs://127.0.0.1:{cluster.ports['namenode']}/{name}"
    table = f"hbase://127.0.0.1:{cluster.ports['thrift2']}/{name}"
    environment, here, after = environment_of(folder / "settings"), folder / "crawl", folder / "after"
    write_corpus(here)
    commands = page_commands(crawl=there, table=table, conf=str(cluster.folder / "conf"))
    store = HBaseStore.create(parse_url(table), TableSchema(regions=3))
    with Index.create(store, Profile.resolve(analyzer="shingle")) as index:
        for words in ([*SHELL, "-put", here, there], ["bash", "-euc", commands], [*SHELL, "-get", there, after]):
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr

        made = cells(index)
        [stamp] = {cell.timestamp for cell in made[1]}
        assert made == cells_of_load(index, str(here / "corpus"), stamp, folder / "alone")
        assert not index.verify().wrong
    decided = "".join(part.read_text() for part in sorted((after / "decisions").glob("part-*")))
    assert decided.splitlines() == decisions_of_one_machine([str(here / "corpus.jsonl")])[0]
    assert not (after / "work").exists()
    assert not [path for path in (after / "staging").rglob("*") if path.is_file()]
