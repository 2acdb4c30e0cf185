"""Fixtures that make indexes in every kind of store."""

import pytest
from support.places import CLAIMING_PLACES, HBASE_PLACES, IndexMaker

ON_HBASE = ("thrift2", "rpc")
PLACES = {**CLAIMING_PLACES, **{name: HBASE_PLACES[name] for name in ON_HBASE}}
"""Places of the tests; HBase with one version of Thrift: the tests of stores compare both."""


@pytest.fixture(params=[*CLAIMING_PLACES, *(pytest.param(name, marks=pytest.mark.hbase) for name in ON_HBASE)])
def make_claiming_index(request, tmp_path, clock):
    """Return what makes indexes, once for each kind of store."""
    maker = IndexMaker(PLACES[request.param](tmp_path, clock), clock)
    yield maker
    maker.close()
