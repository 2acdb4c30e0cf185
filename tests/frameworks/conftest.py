"""An index, and the addresses by which programs use it."""

import pytest
from support.hbase_server import hbase_options, tables
from support.serving import new_index, serving

from simhash_hbase import create_index
from simhash_hbase.stores.hbase.options import format_url


@pytest.fixture
def passages(request):
    """Return the length of the passages that the index keeps; none unless a test asks for them."""
    return getattr(request, "param", None)


@pytest.fixture
def url(request, passages, tmp_path):
    """Return the address of an empty index, in a folder unless a test asks for HBase."""
    if getattr(request, "param", "file") == "file":
        return new_index(tmp_path, passages=passages)
    url = format_url(hbase_options(2, tables().take()))
    create_index(url, analyzer="shingle", if_not_exists=True).close()
    return url


@pytest.fixture(params=["itself", "service"])
def address(request, url, tmp_path, monkeypatch):
    """Return the address of the index, or that of a service in front of it, whose key is in the environment."""
    if request.param == "itself":
        yield url
        return
    with serving(url, tmp_path) as server:
        monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["all"])
        yield server.address
