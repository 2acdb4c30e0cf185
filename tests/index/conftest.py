"""What makes indexes in every kind of store that has claims."""

import pytest
from support.places import CLAIMING_PLACES, HBASE_PLACES, IndexMaker


@pytest.fixture(params=[*CLAIMING_PLACES, *(pytest.param(n, marks=pytest.mark.hbase) for n in HBASE_PLACES)])
def make_claiming_index(request, tmp_path, clock):
    """Return what makes indexes, once for each kind of store."""
    maker = IndexMaker({**CLAIMING_PLACES, **HBASE_PLACES}[request.param](tmp_path, clock), clock)
    yield maker
    maker.close()
