"""What makes indexes in every kind of store that has claims."""

import pytest
from support.places import CLAIMING_PLACES, HBASE_PLACES, IndexMaker

PLACES = {**CLAIMING_PLACES, "thrift2": HBASE_PLACES["thrift2"]}
"""Of HBase one version of Thrift: that both keep the contract is tested with the stores."""


@pytest.fixture(params=[*CLAIMING_PLACES, pytest.param("thrift2", marks=pytest.mark.hbase)])
def make_claiming_index(request, tmp_path, clock):
    """Return what makes indexes, once for each kind of store."""
    maker = IndexMaker(PLACES[request.param](tmp_path, clock), clock)
    yield maker
    maker.close()
