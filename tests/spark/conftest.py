"""One session of Spark for the tests of several files."""

import pytest
from support.spark import SPLITS, quiet_session

from simhash_hbase.spark import SparkOptions


@pytest.fixture(scope="package")
def spark():
    with quiet_session(SparkOptions(master="local[2]", partitions=2, settings=SPLITS)) as begun:
        yield begun
