"""The benchmark at tiny sizes: contestants agree and tables print; nothing about speed."""

import os
from importlib.util import find_spec
from time import process_time

import pytest
from bench.__main__ import DEFAULT_PARTS, PARTS
from bench.hbase import check_clients
from bench.measuring import processor_seconds
from bench.queries import Contestant, Planted, check
from bench.sizes import TINY
from support.own_hbase import server_status

from simhash_hbase.errors import SimhashError

MISSING = [name for name in ("datasketch", "faiss", "simhash") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} are missing: ./scripts/install dev,bench")

ALONE = (*DEFAULT_PARTS, "growth")


@pytest.fixture
def _hbase_of_the_tests(request, monkeypatch):
    """Let parts that need HBase use the server that runs, instead of starting one."""
    if "hbase" not in request.keywords:
        return
    monkeypatch.setenv("SIMHASH_HBASE_HOME", server_status()["folder"])


@pytest.mark.usefixtures("_hbase_of_the_tests")
@pytest.mark.parametrize(
    "part", [*ALONE, *(pytest.param(part, marks=pytest.mark.hbase) for part in PARTS if part not in ALONE)]
)
def test_a_part_prints_tables_whose_rows_are_as_wide_as_their_heads(part):
    tables = PARTS[part](TINY)

    assert tables
    for table in tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert table.markdown().startswith("#### ")


def test_the_fingerprints_of_both_ways_are_equal():
    _, ratios = PARTS["fingerprints"](TINY)

    assert {row[1] for row in ratios.rows} == {"100.0 %"}


def test_an_index_that_misses_neighbours_is_told_of():
    forgetful = Contestant(name="forgetful", fingerprints=TINY.fingerprints, batch=set, pairs=lambda _: set(), one=set)

    with pytest.raises(SimhashError, match="forgetful does not answer"):
        check([forgetful], Planted(TINY), TINY)


def test_a_client_of_hbase_that_misses_neighbours_is_told_of():
    class Absent:
        name = "absent"

        def one_by_one(self, queries):
            return [0.0] * len(queries), set()

    with pytest.raises(SimhashError, match="absent does not answer"):
        check_clients([Absent()], Planted(TINY), TINY)


def test_half_of_the_planted_queries_have_a_neighbour():
    planted = Planted(TINY)

    found = planted.answer(planted.queries, TINY.fingerprints)

    assert {at for at, _ in found} == set(range(0, TINY.queries, 2))


def test_the_processor_time_of_a_process_is_read_from_its_own_clock():
    before = process_time()
    seen = processor_seconds(os.getpid())

    assert before < seen < process_time()
