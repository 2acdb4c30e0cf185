"""Addresses: strings and paths that name an index, and what cannot be one."""

import os
from pathlib import Path

import pytest

from simhash_hbase import create_index, open_index
from simhash_hbase.client import RemoteIndex
from simhash_hbase.errors import InvalidArgument, NotAnIndex, Permanent, StoreRefused
from simhash_hbase.stores.addresses import address_of

LONG = "n" * 300
NOWHERE = {
    "a file": NotAnIndex,
    "a file/x": StoreRefused,
    "a file/x/y": StoreRefused,
    LONG: StoreRefused,
    f"{LONG}/x": StoreRefused,
    "/".join(["d" * 200] * 30): StoreRefused,
    "a circle/x": StoreRefused,
    "null\0": InvalidArgument,
    "half \ud800": InvalidArgument,
}


class Place:
    """An object that is no `Path` and names one."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


@pytest.mark.parametrize("use", [create_index, open_index])
@pytest.mark.parametrize("name", NOWHERE)
def test_a_folder_that_cannot_be_is_refused_for_good_in_one_sentence(tmp_path, use, name):
    (tmp_path / "a file").touch()
    (tmp_path / "a circle").symlink_to("a circle")

    with pytest.raises(Permanent) as refused:
        use(f"file:{tmp_path}/{name}")
    assert type(refused.value) is NOWHERE[name]
    assert "Errno" not in str(refused.value)


def test_a_folder_below_what_the_system_keeps_is_refused_for_good():
    with pytest.raises(StoreRefused, match="a folder above it is"):
        create_index("file:/proc/nowhere/x")
    with pytest.raises(StoreRefused, match=r"denied|file system is for reading"):
        create_index("file:/sys/x")


@pytest.mark.parametrize("form", [Path, Place, os.fsencode, lambda path: Place(os.fsencode(path)), "file:{}".format])
def test_a_path_is_the_address_of_the_folder_that_it_names(tmp_path, form):
    folder = str(tmp_path / "some.index")
    given = form(folder)
    if isinstance(given, bytes):
        given = Place(given)

    with create_index(given, analyzer="shingle") as index:
        index.add("a", "some words")
        index.backup(form(f"{folder}.copy") if form is Path else f"file:{folder}.copy")
    for path in (given, Path(f"{folder}.copy")):
        with open_index(path) as index:
            assert index.get("a").id == "a"


def test_a_path_is_an_address_with_or_without_its_scheme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert address_of(Path("file:some.index")) == "file:some.index"
    assert address_of(Path("some.index")) == "file:some.index"
    assert address_of(Path()) == "file:."
    assert address_of("redis://host") == "redis://host"


@pytest.mark.parametrize("given", [None, 5, ["file:x"], object(), Path("hbase://host:1/t"), Path("http://host:1")])
@pytest.mark.parametrize("use", [create_index, open_index, RemoteIndex])
def test_what_is_no_address_is_refused_in_one_sentence(use, given):
    with pytest.raises(InvalidArgument, match="address"):
        use(given)


@pytest.mark.parametrize("url", ["hbase://\ud800:9/t", "redis://\0", "http://\udc80:3", "https://a\0b"])
def test_a_server_s_address_of_no_unicode_is_refused(url):
    with pytest.raises(InvalidArgument, match="no index address"):
        open_index(url)
