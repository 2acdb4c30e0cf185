"""Modules whose packages are extras: their absence names the command that installs them."""

import pytest
from support.results import python


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [
        ("scrapy", "scrapy", "scrapy"),
        ("datatrove", "tables.datatrove", "datatrove"),
        ("pyarrow", "tables", "arrow"),
        ("pyspark", "spark", "spark"),
        ("mcp", "cli.agents", "mcp"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(package, module, extra):
    done = python(f"import sys; sys.modules[{package!r}] = None; import simhash_hbase.{module}")
    assert done.err.endswith(f"pip install 'simhash-hbase[{extra}]'\n")
