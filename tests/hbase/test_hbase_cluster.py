"""The cluster of plain processes: what is started, changed one by one, and stopped without a rest."""

import json
import os
from pathlib import Path

import pytest
from faults.cluster import Cluster
from faults.cluster_server import CLUSTER, ClusterServer, check_words, select
from faults.program import SEED, faults
from support.gates import MUST_RUN
from support.spark import spark_works_on

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.index import Index
from simhash_hbase.profile import Profile
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.hbase import HBaseStore, parse_url


def test_a_process_is_selected_by_name_before_kind():
    assert [role.name for role in select(["master"])] == ["master"]
    assert [role.name for role in select(["regionserver", "rs2"])] == ["rs1", "rs2", "rs3"]


def test_a_process_that_is_not_there_is_refused_with_the_names():
    with pytest.raises(InvalidArgument, match=r"thrift2, thrift2-b$"):
        select(["rs9"])


@pytest.mark.parametrize(
    ("action", "names"), [("up", ["x"]), ("kill", []), ("move", ["t"]), ("split", ["t"]), ("merge", ["t", "1", "2"])]
)
def test_too_few_or_too_many_words_are_refused(action, names):
    with pytest.raises(InvalidArgument, match=rf"^{action} takes "):
        check_words(action, names)


def test_a_process_that_does_not_run_cannot_be_killed(tmp_path):
    with pytest.raises(InvalidArgument, match=r"^rs1 does not run in "):
        ClusterServer(tmp_path).change("kill", ["rs1"])


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


def states(cluster):
    lines = [line.split() for line in hbase(cluster, "status").splitlines()]
    return {words[0]: words[4] for words in lines if words[0] in CLUSTER.roles}


def runs(pid):
    """Tell whether a process has not ended; one that nobody waited for is still listed."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def regions_are_changed(cluster):
    url = parse_url(f"hbase://{hbase(cluster, 'status').splitlines()[-1]}/changed")
    Index.create(HBaseStore.create(url, TableSchema(regions=2)), Profile.resolve(analyzer="shingle")).close()
    hbase(cluster, "split", "changed", "20")
    hbase(cluster, "move", "changed", "0", "rs2")
    listed = [line.split() for line in hbase(cluster, "regions", "changed").splitlines()]
    assert [line[:2] for line in listed] == [["0", "-"], ["1", "20"], ["2", "80000000"]]
    assert listed[0][2] == f"localhost:{cluster.ports['rs2']}"
    hbase(cluster, "merge", "changed", "1")
    assert len(hbase(cluster, "regions", "changed").splitlines()) == 2


def nothing_goes_wrong(cluster):
    """Run a short, seeded part of the laboratory; it has a program of its own, as people use it."""
    short = ["gateway killed", "region split", "region server killed"]
    done = faults(*short, "--times", "1", "--dir", str(cluster.folder), "--seed", str(SEED))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[-len(short) :]
    assert [line.split(" | ")[:2] for line in lines] == [[f"| {name}", "1"] for name in short]


@pytest.mark.hbase
@pytest.mark.slow
def test_a_cluster_is_changed_hurt_and_stopped_without_a_rest(cluster, tmp_path):
    assert states(cluster) == dict.fromkeys(CLUSTER.roles, "alive")
    regions_are_changed(cluster)
    hbase(cluster, "pause", "backup")
    assert states(cluster) == {**dict.fromkeys(CLUSTER.roles, "alive"), "backup": "paused"}
    hbase(cluster, "resume", "backup")
    # Here, so that no second cluster has to be started.
    spark_works_on(cluster, tmp_path / "spark")

    nothing_goes_wrong(cluster)

    assert states(cluster) == dict.fromkeys(CLUSTER.roles, "alive")
    pids = json.loads(hbase(cluster, "status", "--json"))["pids"].values()
    hbase(cluster, "pause", "regionserver")
    hbase(cluster, "down")
    assert not any(runs(pid) for pid in pids)
