"""A format whose library is not installed is refused with the command that installs it, before anything is read."""

import pytest
from support.results import python

pytestmark = pytest.mark.slow
LIBRARIES = ["trafilatura", "lxml", "w3lib", "pyarrow", "warcio", "brotli"]


def fingerprint_without(libraries, path):
    return python(
        f"import sys; sys.modules.update(dict.fromkeys({libraries!r}));"
        f"from simhash_hbase.cli.app import main; main(['fingerprint', '--analyzer', 'shingle', {str(path)!r}])"
    )


@pytest.mark.parametrize(
    ("libraries", "name", "extra"),
    [
        (["trafilatura"], "a.html", "html"),
        (["lxml"], "a.html", "html"),
        (["w3lib"], "a.html", "html"),
        (["pyarrow"], "a.parquet", "parquet"),
        (["warcio"], "a.warc.gz", "warc"),
        (["brotli"], "a.wet", "warc"),
        # A crawl names its own extra where that of pages is missing, too.
        (LIBRARIES, "a.warc", "warc"),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path, libraries, name, extra):
    (tmp_path / "0.txt").write_text("read before it, if anything were")
    (tmp_path / name).write_text("<p>a</p>")
    failed = fingerprint_without(libraries, tmp_path)

    assert failed.failure.endswith(f": pip install 'simhash-hbase[{extra}]'")


def test_other_formats_need_none_of_them(tmp_path):
    (tmp_path / "a.txt").write_text("some text of a few words")
    done = fingerprint_without(LIBRARIES, tmp_path / "a.txt")
    assert (done.code, len(done.records)) == (0, 1)
