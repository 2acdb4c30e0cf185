"""Versions of libraries, read without the module that reads them."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from simhash_hbase.words.installed import version_of

LIBRARIES = ["jieba", "lxml", "trafilatura"]
METADATA = "Metadata-Version: 2.4\r\nName: some\r\nVersion: 1.0+local\r\nSummary: other\r\n\r\nVersion: 9\r\n"


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_version_is_the_one_that_is_installed(name):
    pytest.importorskip(name)

    assert version_of(name) == version(name)


def test_what_is_not_installed_has_no_version():
    assert version_of("nothing_of_this_name") is None


@pytest.fixture
def some(tmp_path, monkeypatch):
    """A folder of libraries with one package."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def noted(folder, content):
    folder.mkdir()
    (folder / "METADATA").write_bytes(content.encode())


def test_a_version_is_read_from_the_head_of_the_notes_beside_the_package(some):
    noted(some / "some-1.dist-info", METADATA)
    noted(some / "some_other-7.dist-info", METADATA.replace("1.0", "7"))

    assert version_of("some") == "1.0+local" == version("some")


@pytest.mark.parametrize("unreadable", [False, True])
def test_a_package_without_notes_beside_it_has_a_version_if_they_are_elsewhere(some, monkeypatch, tmp_path, unreadable):
    if unreadable:
        (some / "some-2.dist-info").mkdir()
    assert version_of("some") is None
    noted(tmp_path / "elsewhere", "")
    noted(tmp_path / "elsewhere" / "some-1.0+local.dist-info", METADATA)
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")

    assert version_of("some") == "1.0+local"


def test_the_module_that_reads_all_notes_is_not_imported():
    program = "import sys\nfrom simhash_hbase.words.installed import version_of\n"
    program += f"print([version_of(name) is not None for name in {LIBRARIES}], 'importlib.metadata' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == f"{[True] * len(LIBRARIES)} False\n"
