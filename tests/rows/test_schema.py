"""The table: as the core says it, as the files in ``schema/`` say it, and as a real HBase keeps it."""

import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from support.hbase_server import address, hbase_options, tables

from simhash_hbase.errors import IndexExists, InvalidArgument, NotAnIndex
from simhash_hbase.rows.table import TableSchema, shell_script
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.store import create_table, find_table
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2

FOLDER = Path(__file__).parents[2] / "schema"
FOREVER = "2147483647"


@pytest.fixture
def fresh():
    return tables().name()


def test_the_shell_script_says_what_the_core_says():
    text = (FOLDER / "create_table.rb").read_text("utf-8")
    commands = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))

    assert commands == shell_script(TableSchema(), "simhash") + "exit\n"


def test_the_calls_of_thrift_2_say_what_the_core_says():
    script = runpy.run_path(str(FOLDER / "create_table.py"))
    [call] = next(Thrift2("simhash").create(TableSchema()))

    assert script["table_descriptor"]("default", "simhash") == call.arguments["desc"]
    assert script["SPLIT_KEYS"] == call.arguments["splitKeys"]


def test_only_blocks_and_documents_expire_and_later_than_the_index_says():
    day_s = 86_400
    families = TableSchema(ttl_ms=100 * day_s * 1000).families

    assert [family.settings["TTL"] for family in families] == [str(110 * day_s), str(110 * day_s), FOREVER]
    assert [family.settings["TTL"] for family in TableSchema().families] == [FOREVER] * 3


@pytest.mark.parametrize("regions", [1, 2, 3, 7, 256, 10_000])
def test_split_keys_are_uniform_sorted_and_distinct(regions):
    numbers = [int.from_bytes(key, "big") for key in TableSchema(regions=regions).split_keys]

    assert len(numbers) == regions - 1
    assert numbers == sorted(set(numbers))
    edges = [0, *numbers, 1 << 32]
    sizes = {b - a for a, b in pairwise(edges)}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"regions": 0}, "regions is 0"),
        ({"compression": "LZO"}, "compression is 'LZO'"),
        ({"ttl_ms": 0}, "ttl_ms is 0"),
    ],
)
def test_options_out_of_range_are_refused(options, words):
    with pytest.raises(InvalidArgument, match=words):
        TableSchema(**options)


@pytest.mark.hbase
@pytest.mark.parametrize("schema", [TableSchema(), TableSchema(regions=7, ttl_ms=10**9, compression="GZ")])
def test_thrift_2_makes_the_table_as_described(fresh, schema):
    store = HBaseStore.create(hbase_options(2, fresh), schema)

    assert store.shortfalls == ()
    store.close()


@pytest.mark.hbase
def test_thrift_1_makes_what_it_can_and_says_what_it_could_not(fresh):
    store = HBaseStore.create(hbase_options(1, fresh))

    told = "\n".join(store.shortfalls)
    for word in ("BLOOMFILTER NONE", "DATA_BLOCK_ENCODING not known", "BLOCKSIZE not known", "split_restriction"):
        assert word in told
    assert "1 regions instead of 4" in told
    assert "VERSIONS" not in told
    assert "TTL" not in told
    store.close()


@pytest.mark.hbase
def test_thrift_1_does_not_doubt_what_it_cannot_see_of_an_operators_table(fresh):
    HBaseStore.create(hbase_options(2, fresh), TableSchema(regions=2)).close()

    store = HBaseStore.create(hbase_options(1, fresh), TableSchema(regions=3))

    assert store.shortfalls == ("the table has 2 regions instead of 3, or at other keys",)
    store.close()


@pytest.mark.hbase
def test_the_script_in_the_folder_makes_a_table_that_create_takes_over(fresh):
    subprocess.run([sys.executable, FOLDER / "create_table.py", address(2), fresh], check=True)

    store = HBaseStore.create(hbase_options(2, fresh))

    assert store.shortfalls == ()
    store.close()


@pytest.mark.hbase
def test_what_differs_in_an_operators_table_is_said(fresh):
    HBaseStore.create(hbase_options(2, fresh), TableSchema(regions=2)).close()

    store = HBaseStore.create(hbase_options(2, fresh), TableSchema(regions=2, ttl_ms=10**9))

    assert store.shortfalls == tuple(f"family {name} has TTL {FOREVER} instead of 1100000" for name in "bd")
    store.close()


@pytest.mark.hbase
@pytest.mark.parametrize("version", [1, 2])
def test_a_table_with_an_index_is_not_made_again(fresh, version):
    store = HBaseStore.create(hbase_options(2, fresh))
    store.put("m", [Cell(b"profile", b"v", b"x")])
    store.close()

    with pytest.raises(IndexExists, match=rf"index in table {fresh} already"):
        HBaseStore.create(hbase_options(version, fresh))


@pytest.mark.hbase
@pytest.mark.parametrize("version", [1, 2])
def test_a_table_made_for_something_else_is_left_alone(fresh, version):
    gateways = Gateways(hbase_options(2, fresh))

    class OneFamily(TableSchema):
        @property
        def families(self):
            return super().families[1:2]

    gateways.exchange.one(lambda: Thrift2(fresh).create(OneFamily()))
    other = Gateways(hbase_options(version, fresh))

    with pytest.raises(NotAnIndex, match="lacks the families b, m"):
        find_table(other)
    with pytest.raises(NotAnIndex, match="lacks the families b, m"):
        create_table(other, TableSchema())
    other.close()
    gateways.close()
