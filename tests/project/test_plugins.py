"""Packages that offer stores, inputs and analyzers: the one of the page works, and a faulty one is named."""

import importlib.metadata
import os
import sys
import tomllib

import pytest
from support.fresh_clone import blocks
from support.results import run

from simhash_hbase import LocalIndex, Profile, create_index, open_index, plugins
from simhash_hbase.corpus.forms import kept_form
from simhash_hbase.errors import IndexExists, IndexMissing, InvalidArgument, InvalidInput, InvalidProfile, Unsupported
from simhash_hbase.inputs import InputOptions, as_sources, read
from simhash_hbase.stores.addresses import looks_like_address

TEXT = "今天天气很好，大家去公园散步看花"
PARAGRAPHS = f"a\n{TEXT}\n\nb\n\nc\n{TEXT}。"
CONTRACT = {"__name__": __name__}
exec(blocks("python")["contract"], CONTRACT)
TestShelfStore = pytest.mark.usefixtures("mine")(CONTRACT["TestShelfStore"])


def forget():
    importlib.invalidate_caches()
    plugins.offered.cache_clear()
    plugins._offers.cache_clear()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a package of some entry points, by group and name."""
    monkeypatch.syspath_prepend(tmp_path)
    forget()

    def install(package, groups):
        metadata = tmp_path / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [
            f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in each.items()) for group, each in groups.items()
        ]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        forget()

    yield install
    forget()
    sys.modules.pop("mine", None)


@pytest.fixture
def mine(installed, tmp_path):
    """Install the package of the page; return the folder that it is in."""
    (tmp_path / "mine.py").write_text(blocks("python")["mine"])
    installed("mine", tomllib.loads(blocks("toml")["offers"])["project"]["entry-points"])
    return tmp_path


def test_a_store_an_input_and_an_analyzer_of_another_package_work_together(mine):
    path = mine / "some.paragraphs"
    path.write_text(PARAGRAPHS)
    documents = [(record.id, getattr(record, "text", None)) for record in read([str(path)])]
    assert documents == [("a", TEXT), (None, None), ("c", f"{TEXT}。")]
    with create_index("shelf:one", analyzer="pairs") as index:
        index.add("a", TEXT)
        assert [match.id for match in index.query(f"{TEXT}。").matches] == ["a"]
    assert "a" in open_index("shelf:one")
    with pytest.raises(IndexExists, match="there is an index at memory: already"):
        create_index("shelf:one")
    with pytest.raises(IndexMissing, match="shelf:two does not exist"):
        open_index("shelf:two")
    assert looks_like_address("shelf:two")
    with pytest.raises(InvalidArgument, match=r"starts with file:, .*, shelf:$"):
        open_index("desk:two")


def test_commands_take_the_names_of_another_package(mine):
    (mine / "some.paragraphs").write_text(PARAGRAPHS)
    words = ("dedup", "some.paragraphs", "--analyzer", "pairs", "--input-format", "paragraphs", "--workers", "1")
    done = run(*words, cwd=mine, env={**os.environ, "PYTHONPATH": str(mine)})
    assert [(one["id"], one["status"]) for one in done.records] == [("a", "original"), ("c", "duplicate")], done.err
    assert "the paragraph has no text" in done.err
    with pytest.raises(InvalidArgument, match="`output` does not write paragraphs, a format of another package"):
        kept_form(as_sources([str(mine / "some.paragraphs")]), InputOptions(), "kept.jsonl")


def test_an_index_whose_analyzer_is_not_installed_says_so_at_the_first_text(mine):
    create_index("shelf:three", analyzer="pairs")
    store = sys.modules["mine"].ShelfStore.shelves["shelf:three"]
    (mine / "mine-1.0.dist-info/entry_points.txt").write_text("")
    forget()
    index = LocalIndex(store)
    assert index.get("a") is None
    with pytest.raises(InvalidProfile, match="analyzer pairs: no installed package has it"):
        index.add("a", TEXT)
    for make, error, words in (
        (lambda: Profile.resolve(analyzer="pairs"), InvalidProfile, "analyzer is 'pairs': wanted one of jieba"),
        (lambda: InputOptions(format="paragraphs"), InvalidArgument, "input format 'paragraphs' is unknown"),
        (lambda: list(read([__file__])), InvalidInput, "does not tell the format"),
    ):
        with pytest.raises(error, match=words):
            make()


def test_packages_that_offer_one_name_are_both_named(installed):
    for package in ("one", "other"):
        installed(package, {"simhash_hbase.stores": {"shelf": f"{package}:Store"}})
    with pytest.raises(Unsupported, match=r"^the store 'shelf' is offered by the packages one and other: uninstall"):
        open_index("shelf:one")


@pytest.mark.parametrize(
    ("group", "use", "words"),
    [
        ("stores", lambda: open_index("odd:one"), "store 'odd' of the package odd cannot be loaded: ModuleNotFoundErr"),
        ("inputs", lambda: list(read(["x.odd"])), "input format 'odd' of the package odd cannot be loaded: Module"),
        (
            "analyzers",
            lambda: create_index("memory:", analyzer="odd"),
            "analyzer 'odd' of the package odd cannot be lo",
        ),
    ],
)
def test_a_package_that_cannot_be_imported_is_named(installed, group, use, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.odd").write_text("x")
    installed("odd", {f"simhash_hbase.{group}": {"odd": "no_such_module:thing"}})
    with pytest.raises(Unsupported, match=words):
        use()


def test_a_store_without_the_two_methods_is_refused(installed):
    installed("odd", {"simhash_hbase.stores": {"odd": "json:dumps"}})
    with pytest.raises(Unsupported, match="the store 'odd' that a package offers has no methods create and open"):
        open_index("odd:one")


def test_a_store_that_is_no_subclass_is_refused(installed, tmp_path):
    (tmp_path / "odd.py").write_text("class Shelf:\n    create = open = classmethod(lambda cls, *_, **__: cls())\n")
    installed("odd", {"simhash_hbase.stores": {"odd": "odd:Shelf"}})
    with pytest.raises(Unsupported, match=r"that a package offers is a Shelf, no subclass of simhash_hbase\.stores"):
        open_index("odd:one")


def test_packages_are_not_looked_through_for_names_of_this_package(tmp_path, monkeypatch):
    forget()
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: pytest.fail("they were looked through"))
    path = tmp_path / "some.txt"
    path.write_text(TEXT)
    with create_index(tmp_path / "some.index", analyzer="shingle") as index:
        index.add("a", TEXT)
    with open_index(f"file:{tmp_path / 'some.index'}") as index:
        assert [record.text for record in read([str(path)], InputOptions(format="text"))] == [TEXT]
        assert looks_like_address(index.address)
        assert not looks_like_address(str(path))
