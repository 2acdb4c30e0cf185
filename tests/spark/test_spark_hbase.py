"""Spark and a real HBase: the cells that `load` makes, by files that the workers write."""

import subprocess
from getpass import getuser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.errors import PySparkException
from support.hbase_server import hbase_options, tables
from support.own_hbase import server_status
from support.rows import contents
from support.spark import SOCKETS, cells_of_load, corpus, java_home, write_lines

from simhash_hbase.bulk.places import Tools, find_tools, staging_folder
from simhash_hbase.corpus.refusals import Refusals
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.inputs import InputOptions
from simhash_hbase.profile import Profile
from simhash_hbase.spark import load
from simhash_hbase.spark.load import BulkSettings, Loader, WorkPlace
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.launcher import cache_folder
from simhash_hbase.stores.hbase.table import TableSchema

pytestmark = [pytest.mark.hbase, pytest.mark.slow, SOCKETS]
OPTIONS = InputOptions(metadata_fields=("id",))
WHO = "org.apache.hadoop.security.UserGroupInformation"


@pytest.fixture(params=[(None, {}), ("news", {"passages": 50})], ids=["whole", "collection with passages"])
def index(request):
    """Return an empty index, or a collection of one that keeps passages."""
    collection, options = request.param
    table = hbase_options(2, tables().name())
    profile = Profile.resolve(analyzer="shingle", **options)
    with LocalIndex.create(HBaseStore.create(table, TableSchema(regions=2)), profile) as made:
        yield made.in_collection(collection)


def test_the_table_equals_that_of_load_cell_for_cell_also_after_an_interruption(spark, index, tmp_path):
    source = write_lines(tmp_path / "corpus.jsonl", corpus())
    status = server_status()
    conf, name = Path(status["conf"]), index.store.url.rpartition("/")[2]
    tools = find_tools(jars=Path(status["jars"]), cache=cache_folder() / "classes")
    # The files of this machine have its own user, whatever name is claimed, and HBase looks.
    loader = Loader.of(tools, conf, name, staging_folder(conf, None, name), getuser())
    refused = []
    work = WorkPlace(spark, str(tmp_path / "work"))
    lost = Loader.of(tools, conf, "no_such_table", loader.staging, loader.user)
    broken = BulkSettings(work, lost, batch="crawl 7")
    with pytest.raises(PySparkException, match="TableNotFound"):
        load(spark, index, [source], OPTIONS, settings=broken, refusals=Refusals(lambda _: None, None, 0))
    stamp = work.read().stamp

    refusals = Refusals(lambda _: None, refused.append, 0)
    done = load(
        spark, index, [source], OPTIONS, settings=BulkSettings(work, loader, batch="crawl 7"), refusals=refusals
    )

    made = contents(index.store)
    # Not as one assertion: to show how ten thousand cells differ takes hours.
    is_equal = made == cells_of_load(index, source, stamp, tmp_path / "alone", OPTIONS, batch="crawl 7")
    assert is_equal
    assert done.resumed
    assert done.cells == len(made[0]) + len(made[1])
    assert len(refused) == 4
    assert not (tmp_path / "work").exists()
    assert not index.verify().wrong
    assert not list(Path(urlsplit(loader.staging).path).glob("*"))


def test_workers_write_files_as_who_submitted(tmp_path):
    status = server_status()
    (tmp_path / "task").mkdir()
    tools = Tools(java=Path(java_home()) / "bin" / "java", jars=Path(status["jars"]), classes=tmp_path)
    loader = Loader.of(tools, Path(status["conf"]), "table", "staging", "somebody")

    *java, _ = loader.program(tmp_path / "task")
    done = subprocess.run([*java, WHO], capture_output=True, text=True, check=True)

    assert "UGI: somebody " in done.stdout
