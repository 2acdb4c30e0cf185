"""A backup notes its time in the index, so that whoever opens the index sees how old the last one is."""

from itertools import count
from unittest.mock import Mock

import pytest

from simhash_hbase import InvalidArgument, LocalIndex, StoreRefused, create_index, open_index
from simhash_hbase.index import indexrows
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.stores.addresses import open_store

BEGAN = 1_700_000_000_000


@pytest.fixture
def url(tmp_path):
    address = f"file:{tmp_path / 'some.index'}"
    create_index(address, analyzer="shingle").close()
    return address


def last_backup(url):
    with open_index(url) as index:
        return index.stats().last_backup


def test_a_backup_is_as_old_as_what_it_holds(url, tmp_path):
    with LocalIndex(open_store(url), clock=count(BEGAN, 1_000).__next__) as index:
        assert index.backup(str(tmp_path / "first"))
        assert index.backup(str(tmp_path / "second"))
    assert last_backup(url) == rfc3339(BEGAN + 1_000)
    # A copy is from before its own note.
    assert [last_backup(f"file:{tmp_path / name}") for name in ("first", "second")] == [None, rfc3339(BEGAN)]


def test_a_crash_before_the_note_leaves_a_whole_backup_without_it(url, tmp_path, monkeypatch):
    with open_index(url) as index:
        index.add("a", "some text")
        index.note_backup("2026-11-21T09:30:00Z")
        monkeypatch.setattr(indexrows, "write_last_backup", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index.backup(str(tmp_path / "copy"))

    assert last_backup(url) == "2026-11-21T09:30:00.000Z"
    with open_index(f"file:{tmp_path / 'copy'}") as copy:
        assert "a" in copy
        assert not copy.verify().wrong


@pytest.mark.parametrize("readonly", [True, False])
def test_an_index_that_may_not_be_written_is_copied_without_a_note(url, tmp_path, monkeypatch, readonly):
    if not readonly:
        refuse = Mock(side_effect=StoreRefused("no write permission on its files"))
        monkeypatch.setattr(indexrows, "write_last_backup", refuse)
    with open_index(url, readonly=readonly) as index:
        assert not index.backup(str(tmp_path / "copy"))
    assert last_backup(url) is last_backup(f"file:{tmp_path / 'copy'}") is None


def test_a_backup_made_by_other_means_is_noted_in_every_store(make_index):
    index = make_index()
    index.add("a", "some text")

    noted = index.note_backup("30m")

    assert noted == index.stats().last_backup == rfc3339(make_index.clock.ms - 30 * 60_000)
    assert index.note_backup("2h") == index.stats().last_backup
    with pytest.raises(InvalidArgument, match="in the future"):
        index.note_backup(rfc3339(make_index.clock.ms + 1_000))
    assert not index.verify().wrong


@pytest.mark.parametrize("name", ["some.index/copy", "some.index/deeper/copy", "link/copy", "some.index", "link"])
def test_a_backup_into_a_folder_of_an_index_is_refused(url, tmp_path, name):
    (tmp_path / "link").symlink_to("some.index")
    create_index(tmp_path / "another.index", analyzer="shingle").close()

    with open_index(url) as index:
        for place in (name, name.replace("some", "another")):
            with pytest.raises(InvalidArgument, match=r"inside the index .* outside of it|already exists"):
                index.backup(tmp_path / place)
    assert sorted(path.name for path in (tmp_path / "some.index").iterdir()) == ["data.mdb", "lock.mdb"]


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_backup_to_what_is_no_path_is_refused(url, tmp_path, name):
    with open_index(url) as index, pytest.raises(InvalidArgument, match="no path of a folder"):
        index.backup(f"{tmp_path}/{name}")
