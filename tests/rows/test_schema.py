"""The table: as the core says it, as the files in ``schema/`` say it, and as a real HBase keeps it."""

import runpy
import subprocess
import sys
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path

import pytest
from support.hbase_server import address, hbase_options, tables

from simhash_hbase.errors import IndexExists, InvalidArgument, NotAnIndex
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.store import create_table, find_table
from simhash_hbase.stores.hbase.table import TableSchema, shell_script
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2

FOLDER = Path(__file__).parents[2] / "schema"
FOREVER = "2147483647"


@pytest.fixture
def fresh():
    return tables().name()


@pytest.fixture
def create(fresh):
    """Return what creates a store in a new table by one of the Thrift interfaces, and closes it in the end."""
    with ExitStack() as stores:
        yield lambda version, *schema: stores.enter_context(
            closing(HBaseStore.create(hbase_options(version, fresh), *schema))
        )


def test_the_shell_script_says_what_the_core_says():
    text = (FOLDER / "create_table.rb").read_text("utf-8")
    commands = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    assert commands == shell_script(TableSchema(), "simhash") + "exit\n"


def test_the_calls_of_thrift_2_say_what_the_core_says():
    script = runpy.run_path(str(FOLDER / "create_table.py"))
    [call] = next(Thrift2("simhash").create(TableSchema()))
    assert script["table_descriptor"]("default", "simhash") == call.arguments["desc"]
    assert script["SPLIT_KEYS"] == call.arguments["splitKeys"]


def test_hbase_expires_blocks_and_documents_later_than_the_index_says():
    day_s = 86_400
    families = TableSchema(ttl_ms=100 * day_s * 1000).families
    assert [family.settings["TTL"] for family in families] == [str(110 * day_s), str(110 * day_s), FOREVER]
    assert [family.settings["TTL"] for family in TableSchema().families] == [FOREVER] * 3


@pytest.mark.parametrize("regions", [1, 2, 3, 7, 256, 10_000])
def test_split_keys_are_uniform_sorted_and_distinct(regions):
    numbers = [int.from_bytes(key, "big") for key in TableSchema(regions=regions).split_keys]
    sizes = {b - a for a, b in pairwise([0, *numbers, 1 << 32])}
    assert (len(numbers), numbers) == (regions - 1, sorted(set(numbers)))
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("option", "value"), [("regions", 0), ("compression", "LZO"), ("ttl_ms", 0)])
def test_options_out_of_range_are_refused(option, value):
    with pytest.raises(InvalidArgument, match=f"{option} is {value!r}"):
        TableSchema(**{option: value})


@pytest.mark.hbase
@pytest.mark.parametrize("schema", [TableSchema(), TableSchema(regions=7, ttl_ms=10**9, compression="GZ")])
def test_thrift_2_makes_the_table_as_described(create, schema):
    assert create(2, schema).shortfalls == ()


@pytest.mark.hbase
def test_thrift_1_says_what_it_could_not_make(create):
    told = "\n".join(create(1).shortfalls)
    for word in ("BLOOMFILTER NONE", "DATA_BLOCK_ENCODING not known", "BLOCKSIZE not known", "split_restriction"):
        assert word in told
    assert "1 regions instead of 4" in told
    assert "VERSIONS" not in told
    assert "TTL" not in told


@pytest.mark.hbase
@pytest.mark.parametrize(
    ("version", "schema", "shortfalls"),
    [
        # Version 1 of Thrift cannot see more.
        (1, TableSchema(regions=3), ["the table has 2 regions instead of 3, or at other keys"]),
        (2, TableSchema(regions=2, ttl_ms=10**9), [f"family {n} has TTL {FOREVER} instead of 1100000" for n in "bd"]),
    ],
)
def test_what_differs_in_an_operators_table_is_said(create, version, schema, shortfalls):
    create(2, TableSchema(regions=2))
    assert create(version, schema).shortfalls == tuple(shortfalls)


@pytest.mark.hbase
def test_the_script_in_the_folder_makes_a_table_that_create_takes_over(fresh, create):
    subprocess.run([sys.executable, FOLDER / "create_table.py", address(2), fresh], check=True)
    assert create(2).shortfalls == ()


@pytest.mark.hbase
def test_a_table_with_an_index_is_not_made_again(fresh, create, version):
    create(2).put("m", [Cell(b"profile", b"v", b"x")])
    with pytest.raises(IndexExists, match=rf"index in table {fresh} already"):
        create(version)


@pytest.mark.hbase
def test_a_table_made_for_something_else_is_left_alone(fresh, version):
    class OneFamily(TableSchema):
        @property
        def families(self):
            return super().families[1:2]

    with (
        closing(Gateways(hbase_options(2, fresh))) as gateways,
        closing(Gateways(hbase_options(version, fresh))) as other,
    ):
        gateways.exchange.one(lambda: Thrift2(fresh).create(OneFamily()))

        with pytest.raises(NotAnIndex, match="lacks the families b, m"):
            find_table(other)
        with pytest.raises(NotAnIndex, match="lacks the families b, m"):
            create_table(other, TableSchema())
