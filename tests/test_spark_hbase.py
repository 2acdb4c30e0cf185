"""Spark and a real HBase: the cells that `load` makes, by files that the workers write."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from simhash_hbase.bulk import Spool, StoreWriter, begin
from simhash_hbase.bulk import load as load_alone
from simhash_hbase.bulk.places import staging_folder
from simhash_hbase.bulk.tools import find_tools
from simhash_hbase.corpus.refusals import Refusals
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import InputOptions, scan
from simhash_hbase.profile import Profile
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.spark import SparkOptions, load
from simhash_hbase.spark.hfiles import Loader
from simhash_hbase.spark.load import Way
from simhash_hbase.spark.progress import WorkPlace
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.memory import MemoryStore
from tests.hbase_files import server_status
from tests.spark_sessions import QUICK, SOCKETS, corpus, quiet_session, write_lines
from tests.stores.hbase_server import hbase_options, tables

pytestmark = [pytest.mark.hbase, pytest.mark.slow, SOCKETS]
OPTIONS = InputOptions(metadata_fields=("id",))


@pytest.fixture
def index():
    table = hbase_options(2, tables().name())
    profile = Profile.resolve(analyzer="shingle")
    with Index.create(HBaseStore.create(table, TableSchema(regions=3)), profile) as made:
        yield made


def cells(index):
    rows = [(p, s) for page in index.store.scan_range(0, 1 << 40, page=9_999) for p, s in zip(*page, strict=True)]
    return rows, [cell for page in index.store.scan_cells("d", b"", None, page=9_999) for cell in page]


def cells_of_load(profile, source, stamp, folder):
    """Load as one machine does, into memory, with the same timestamp."""
    model = Index.create(MemoryStore(), profile)
    spool = Spool(folder, model.store.url, profile)
    begin(model, spool)
    list(spool.fill(scan([source], OPTIONS), model.analysis))
    spool.manifest.stamp = stamp
    load_alone(model, spool, StoreWriter(model.store))
    return cells(model)


def test_the_table_equals_that_of_load_cell_for_cell_also_after_an_interruption(index, tmp_path):
    source = write_lines(tmp_path / "corpus.jsonl", corpus())
    status = server_status()
    conf, name = Path(status["conf"]), index.store.url.rpartition("/")[2]
    tools = find_tools(jars=Path(status["jars"]), cache=tmp_path / "cache")
    loader = Loader.of(tools, conf, name, staging_folder(conf, None, name))
    refused = []
    with quiet_session(SparkOptions(master="local[2]", partitions=2, settings=QUICK)) as spark:
        work = WorkPlace(spark, str(tmp_path / "work"))
        broken = Way(work, Loader.of(tools, conf, "no_such_table", loader.staging))
        with pytest.raises(PySparkException, match="TableNotFound"):
            load(spark, index, [source], OPTIONS, way=broken, refusals=Refusals(lambda _: None, None, 0))
        stamp = work.read().stamp

        refusals = Refusals(lambda _: None, refused.append, 0)
        done = load(spark, index, [source], OPTIONS, way=Way(work, loader), refusals=refusals)

    made = cells(index)
    assert made == cells_of_load(index.profile, source, stamp, tmp_path / "alone")
    assert done.resumed
    assert done.cells == len(made[0]) + len(made[1])
    assert len(refused) == 4
    assert not (tmp_path / "work").exists()
    assert not index.verify().wrong
    assert not list(Path(status["folder"]).glob(f"data/**/*-staging/{name}/*"))
