"""A format whose library is not installed is refused with the command that installs it, before anything is read."""

import pytest
from support.results import python

pytestmark = pytest.mark.slow


BLOCKED = (
    "import sys; sys.modules[{module!r}] = None;"
    "from simhash_hbase.cli.app import main; main(['fingerprint', '--analyzer', 'shingle', {path!r}])"
)


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("trafilatura", "a.html", "html"),
        ("lxml", "a.html", "html"),
        ("w3lib", "a.html", "html"),
        ("pyarrow", "a.parquet", "parquet"),
        ("warcio", "a.warc.gz", "warc"),
        ("brotli", "a.wet", "warc"),
    ],
)
@pytest.mark.parametrize("in_folder", [False, True])
def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path, module, name, extra, in_folder):
    (tmp_path / "0.txt").write_text("read before it, if anything were")
    (tmp_path / name).write_text("<p>a</p>")
    path = str(tmp_path if in_folder else tmp_path / name)

    failed = python(BLOCKED.format(module=module, path=path))

    assert (failed.code, failed.out) == (1, b"")
    assert failed.sentence.endswith(f": pip install 'simhash-hbase[{extra}]'")


ALL_BLOCKED = (
    "import sys; sys.modules.update(dict.fromkeys(['trafilatura','lxml','w3lib','pyarrow','warcio','brotli']));"
)


def test_a_crawl_names_its_own_extra_where_that_of_pages_is_missing_too(tmp_path):
    (tmp_path / "a.warc").write_text("")

    failed = python(ALL_BLOCKED + BLOCKED.format(module="redis", path=str(tmp_path / "a.warc")))

    assert failed.sentence.endswith(": pip install 'simhash-hbase[warc]'")


def test_other_formats_need_none_of_them(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("some text of a few words")

    done = python(ALL_BLOCKED + BLOCKED.format(module="redis", path=str(path)))

    assert done.code == 0
    assert len(done.records) == 1
