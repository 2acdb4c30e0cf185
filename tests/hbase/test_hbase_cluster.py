"""The cluster of plain processes: what is started, changed one by one, and stopped without a rest."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults import SEED, faults
from faults.cluster import CLUSTER, Cluster
from support.fresh_clone import blocks, split, with_names
from support.gates import MUST_RUN
from support.rows import contents
from support.serving import wait_for
from support.spark import CLASS, SPLITS, cells_of_load, corpus, decisions_of_one_machine, java_home, write_lines

from simhash_hbase.index.local import LocalIndex
from simhash_hbase.profile import Profile
from simhash_hbase.stores.hbase import HBaseStore, parse_url
from simhash_hbase.stores.hbase.table import TableSchema


@pytest.fixture
def cluster(tmp_path):
    if not os.environ.get(MUST_RUN) and not os.environ.get("SIMHASH_HBASE_TEST_CLUSTER"):
        pytest.skip("SIMHASH_HBASE_TEST_CLUSTER=1 starts a cluster of twelve processes")
    with Cluster.started(tmp_path / "server") as started:
        yield started


def hbase(cluster, *words):
    done = faults("cluster", *words, "--dir", cluster.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def status(cluster):
    """Ask until the gateways answer: on a busy machine one does not always do so in three seconds."""
    return wait_for(lambda: (asked := faults("cluster", "status", "--dir", cluster.folder)).returncode == 0 and asked)


def states(cluster):
    lines = [line.split() for line in status(cluster).stdout.splitlines()]
    return {words[0]: words[4] for words in lines if words[0] in CLUSTER.roles}


def runs(pid):
    """Tell whether a process has not ended; one that nobody waited for is still listed."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def environment_of(folder):
    """Write what Spark and Hadoop read when they start; return the variables that name it."""
    folder.mkdir(parents=True)
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in SPLITS.items()))
    # Hadoop's shell does not start without one. It names no file system: the commands do.
    (folder / "core-site.xml").write_text("<configuration/>")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "HADOOP_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    folders = dict.fromkeys(("SPARK_CONF_DIR", "HADOOP_CONF_DIR"), str(folder))
    return {**kept, **folders, "PATH": path, "JAVA_HOME": java_home()}


def write_corpus(folder):
    """Write a corpus as JSON lines, and as two files of Parquet of which the first one is in an inner folder."""
    usable = [record for record in corpus(families=30) if "id" in record and record.get("text", "").strip()]
    records = list({record["id"]: record for record in usable}.values())
    half = len(records) // 2
    (folder / "corpus" / "a").mkdir(parents=True)
    for name, some in (("a/z.parquet", records[:half]), ("b.parquet", records[half:])):
        pq.write_table(pa.Table.from_pylist(some), folder / "corpus" / name, row_group_size=20)
    write_lines(folder / "corpus.jsonl", records, others=())


def spark_works(cluster, folder):
    """Run the page's commands on a new folder of HDFS, into a new table, and compare with what one machine makes."""
    there = f"hdfs://127.0.0.1:{cluster.ports['namenode']}/crawl"
    table = f"hbase://127.0.0.1:{cluster.ports['thrift2']}/crawl"
    shown = {
        "hdfs://127.0.0.1:8020/crawl": there,
        "hbase://127.0.0.1:9091/news": table,
        "/etc/hbase/conf": str(cluster.folder / "conf"),
    }
    commands = with_names("\n".join(split(blocks()["sparkhdfs"])), shown)
    environment, here, after = environment_of(folder / "settings"), folder / "crawl", folder / "after"
    write_corpus(here)
    shell = [CLASS, "org.apache.hadoop.fs.FsShell"]
    store = HBaseStore.create(parse_url(table), TableSchema(regions=2))
    with LocalIndex.create(store, Profile.resolve(analyzer="shingle")) as index:
        for words in ([*shell, "-put", here, there], ["bash", "-euc", commands], [*shell, "-get", there, after]):
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr

        made = contents(index.store)
        [stamp] = {cell.timestamp for cell in made[1]}
        assert made == cells_of_load(index, str(here / "corpus"), stamp, folder / "alone")
        assert not index.verify().wrong
    decided = "".join(part.read_text() for part in sorted((after / "decisions").glob("part-*")))
    assert decided.splitlines() == decisions_of_one_machine([str(here / "corpus.jsonl")])[0]
    assert not (after / "work").exists()
    assert not [path for path in (after / "staging").rglob("*") if path.is_file()]


@pytest.mark.hbase
@pytest.mark.slow
def test_a_cluster_is_changed_hurt_and_stopped_without_a_rest(cluster, tmp_path):
    assert states(cluster) == dict.fromkeys(CLUSTER.roles, "alive")
    url = parse_url(f"hbase://{status(cluster).stdout.splitlines()[-1]}/changed")
    LocalIndex.create(HBaseStore.create(url, TableSchema(regions=2)), Profile.resolve(analyzer="shingle")).close()
    hbase(cluster, "split", "changed", "20")
    hbase(cluster, "move", "changed", "0", "rs2")
    listed = [line.split() for line in hbase(cluster, "regions", "changed").splitlines()]
    assert [line[:2] for line in listed] == [["0", "-"], ["1", "20"], ["2", "80000000"]]
    assert listed[0][2] == f"localhost:{cluster.ports['rs2']}"
    hbase(cluster, "merge", "changed", "1")
    assert len(hbase(cluster, "regions", "changed").splitlines()) == 2
    hbase(cluster, "pause", "backup")
    assert states(cluster) == {**dict.fromkeys(CLUSTER.roles, "alive"), "backup": "paused"}
    hbase(cluster, "resume", "backup")
    # Here, so that no second cluster has to be started.
    spark_works(cluster, tmp_path / "spark")

    # A short, seeded part of the laboratory, by the program that people use.
    for scenario, *way in [
        ("region server and gateway killed; region moved, split, merged",),
        ("hbase:meta moved", "--rpc"),
    ]:
        done = faults(scenario, *way, "--times", "1", "--dir", str(cluster.folder), "--seed", str(SEED))
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1].split(" | ")[:2] == [f"| {scenario}", "1"]
    assert states(cluster) == dict.fromkeys(CLUSTER.roles, "alive")
    pids = [process.pid for process in cluster.server.started().values()]
    hbase(cluster, "pause", "regionserver")
    hbase(cluster, "down")
    assert not any(runs(pid) for pid in pids)
