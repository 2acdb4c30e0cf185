"""One session of Spark for the tests of several files."""

import pytest
from support.spark import QUICK, quiet_session

from simhash_hbase.spark import SparkOptions


@pytest.fixture(scope="package")
def spark():
    # Splits of some kilobytes: a small corpus has many.
    settings = {**QUICK, "spark.sql.files.maxPartitionBytes": "40000", "spark.sql.files.openCostInBytes": "1000"}
    with quiet_session(SparkOptions(master="local[2]", partitions=2, settings=settings)) as begun:
        yield begun
