"""The benchmark at tiny sizes: contestants agree and tables print; nothing about speed."""

from importlib.util import find_spec

import pytest
from bench.__main__ import DEFAULT_PARTS, PARTS
from bench.sizes import TINY
from support.own_hbase import server_status

MISSING = [name for name in ("datasketch", "faiss", "simhash") if find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} are missing: ./scripts/install dev,bench"),
    # Peers leave files open and use old ways of their own dependencies.
    pytest.mark.filterwarnings("ignore"),
]

ON_HBASE = PARTS.keys() - {*DEFAULT_PARTS, "growth", "passages"}
# This part takes two minutes; its tables are those of ``growth``, and the loading by files has tests of its own.
LONG = "growth-hbase"


@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=pytest.mark.hbase) if part in ON_HBASE else part for part in PARTS if part != LONG],
)
def test_a_part_prints_tables_whose_rows_are_as_wide_as_their_heads(part, monkeypatch):
    if part in ON_HBASE:
        # The server that runs, instead of one that is started.
        monkeypatch.setenv("SIMHASH_HBASE_HOME", server_status()["folder"])

    tables = PARTS[part](TINY)

    assert tables
    for table in tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert table.markdown().startswith("#### ")
