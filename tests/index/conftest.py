"""Fixtures that make indexes in every kind of store."""

from collections import defaultdict
from pathlib import Path

import pytest
from support.places import CLAIMING_PLACES, HBASE_PLACES, IndexMaker

FOLDER = Path(__file__).parent
ON_HBASE = ("thrift2", "rpc")
PLACES = {**CLAIMING_PLACES, **{name: HBASE_PLACES[name] for name in ON_HBASE}}
"""Places of the tests; HBase with one version of Thrift: the tests of stores compare both."""
# Every act in every place; whoever decides beside others does so by each way to HBase.
EVERY_WAY = ("test_faces.py", "test_index_claim.py")


def pytest_collection_modifyitems(config, items):
    """Divide what a test runs with among the ways to HBase: the tests of stores compare the ways with each other."""
    on_hbase = defaultdict(lambda: defaultdict(list))
    for item in items:
        call = getattr(item, "callspec", None)
        way = call and next((name for name in HBASE_PLACES if name in call.id.split("-")), None)
        if way and item.path.parent == FOLDER:
            on_hbase[item.path.name, item.originalname][call.id.replace(way, "")].append(item)
    out = set()
    for turn, ((file, _), combinations) in enumerate(on_hbase.items()):
        if len(combinations) > 1 or file not in EVERY_WAY:
            for number, ways in enumerate(combinations.values(), turn):
                out.update({*ways} - {ways[number % len(ways)]})
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=list(out))


@pytest.fixture(params=[*CLAIMING_PLACES, *(pytest.param(name, marks=pytest.mark.hbase) for name in ON_HBASE)])
def make_claiming_index(request, tmp_path, clock):
    """Return what makes indexes, once for each kind of store."""
    maker = IndexMaker(PLACES[request.param](tmp_path, clock), clock)
    yield maker
    maker.close()
