"""Folders with damaged pages: whatever the damage, verify ends with a sentence."""

import random
import subprocess
import sys
from contextlib import closing, suppress

import lmdb
import pytest
from support.bruteforce import entries

from simhash_hbase import CorruptIndex, create_index, open_index
from simhash_hbase.errors import NotAnIndex, SimhashError
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore

pytestmark = pytest.mark.slow


QUICK = EmbeddedOptions(durable=False)
PAGE = 4096
ENTRIES = 120  # Where a meta page counts the names of the main database.
# Runs verify on each copy in a child of its own, since a signal may end it.
VERIFY = """
import os, sys
from simhash_hbase.__main__ import main
for folder in sys.argv[1:]:
    child = os.fork()
    if not child:
        sys.argv = ["simhash-hbase", "verify", "--quiet", "file:" + folder]
        try:
            main()
        except SystemExit as end:
            os._exit(end.code or 0)
        except BaseException as error:
            sys.stderr.write(f"Traceback of {type(error).__name__}: {error}")
        os._exit(99)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "index"
    numbers = random.Random(1)
    with create_index(f"file:{folder}", analyzer="shingle") as index:
        index.add_entries(entries([(f"d{i}", numbers.getrandbits(64)) for i in range(300)]))
        index.add_entries(entries([(f"c{i}", 42) for i in range(100)]))
    return (folder / "data.mdb").read_bytes()


def swapped(data, numbers):
    a, b = (numbers.randrange(2, len(data) // PAGE) * PAGE for _ in "ab")
    data[a : a + PAGE], data[b : b + PAGE] = data[b : b + PAGE], data[a : a + PAGE]


def zeroed(data, numbers):
    at = numbers.randrange(2, len(data) // PAGE) * PAGE
    data[at : at + PAGE] = bytes(PAGE)


def beheaded(data, numbers):
    for _ in range(5):
        at = numbers.randrange(2, len(data) // PAGE) * PAGE
        data[at + numbers.randrange(64)] = numbers.randrange(256)


def sprinkled(data, numbers):
    for _ in range(50):
        data[numbers.randrange(len(data))] = numbers.randrange(256)


def without_types(data, numbers):
    """Give each leaf of more than ten entries a type that there is not; the leaf of the databases has fewer."""
    for at in range(2 * PAGE, len(data), PAGE):
        if data[at + 10] == 2 and data[at + 12] + data[at + 13] * 256 > 36:
            data[at + 10] = 0x40


def folders(sound, tmp_path, damage, count):
    for seed in range(count):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        data = bytearray(sound)
        damage(data, random.Random(seed))
        (folder / "data.mdb").write_bytes(data)
        yield str(folder)


@pytest.mark.parametrize("damage", [swapped, zeroed, beheaded, sprinkled])
def test_verify_ends_with_a_sentence_whatever_the_damage(sound, tmp_path, damage):
    copies = list(folders(sound, tmp_path, damage, 5))
    done = subprocess.run([sys.executable, "-c", VERIFY, *copies], capture_output=True, text=True, check=True)
    codes = [int(code) for code in done.stdout.split() if code.lstrip("-").isdigit()]

    assert "Traceback" not in done.stderr
    assert len(codes) == len(copies)
    assert set(codes) <= {0, 1}
    assert 1 in codes


def test_a_page_that_ends_the_process_which_reads_it_is_reported(sound, tmp_path):
    reported = []
    for folder in folders(sound, tmp_path, zeroed, 16):
        with closing(EmbeddedStore.open(folder, QUICK)) as store:
            try:
                store.check_readable()
            except CorruptIndex as error:
                reported.append(str(error))

    assert reported
    assert all("damaged" in text for text in reported)
    assert any("SIG" in text for text in reported)


def test_pages_behind_a_damaged_one_are_not_left_to_the_caller(sound, tmp_path):
    # The driver refuses a page of another type; it is the first one that is read.
    [folder] = folders(sound, tmp_path, without_types, 1)

    with closing(EmbeddedStore.open(folder, QUICK)) as store, pytest.raises(CorruptIndex, match="a page is damaged"):
        store.check_readable()


def test_a_damaged_page_in_the_list_of_free_ones_is_found(tmp_path):
    with create_index(f"file:{tmp_path / 'index'}", analyzer="shingle") as index:
        for at in range(60):
            index.add_entries(entries({f"d{at}": at << 40}))
    data, reported = (tmp_path / "index" / "data.mdb").read_bytes(), []
    for at in range(2 * PAGE, len(data), PAGE):
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "data.mdb").write_bytes(data[:at] + bytes(PAGE) + data[at + PAGE :])
        with suppress(CorruptIndex), closing(EmbeddedStore.open(str(folder), QUICK)) as store:
            try:
                store.check_readable()
            except CorruptIndex as error:
                reported.append(str(error))

    assert any("list of free pages" in text for text in reported)


@pytest.mark.parametrize("kept", [0, PAGE, 2 * PAGE, 9 * PAGE + 100, -PAGE])
def test_a_truncated_folder_is_not_opened(sound, tmp_path, kept):
    (tmp_path / "data.mdb").write_bytes(sound[:kept])

    with pytest.raises(SimhashError):
        EmbeddedStore.open(str(tmp_path), QUICK)

    assert (tmp_path / "data.mdb").read_bytes() == sound[:kept]


def emptied_page_of_the_mark(data):
    page = data.index(b"simhash-hbase") // PAGE * PAGE
    # Bytes 12 and 13 of a page say where its list of nodes ends: it has none.
    return data[: page + 12] + data[page + 14 : page + 16] + data[page + 14 :]


@pytest.mark.parametrize("use", [EmbeddedStore.open, EmbeddedStore.create])
def test_an_index_whose_mark_is_damaged_is_not_called_another_programs(sound, tmp_path, use):
    for damaged in (sound.replace(b"simhash-hbase", b"simhash\0hbase"), emptied_page_of_the_mark(sound)):
        (tmp_path / "data.mdb").write_bytes(damaged)
        with pytest.raises(CorruptIndex, match="a page is damaged"):
            use(str(tmp_path), QUICK)


@pytest.mark.parametrize(("counted", "refused"), [(2, CorruptIndex), (3, NotAnIndex), (4, CorruptIndex)])
@pytest.mark.parametrize("use", [EmbeddedStore.open, EmbeddedStore.create])
def test_a_folder_that_does_not_hold_as_many_names_as_it_counts_is_damaged(tmp_path, counted, refused, use):
    with lmdb.open(str(tmp_path)) as environment, environment.begin(write=True) as transaction:
        for name in (b"x", b"y", b"z"):
            transaction.put(name, b"")
    data = bytearray((tmp_path / "data.mdb").read_bytes())
    for meta in (0, PAGE):
        data[meta + ENTRIES : meta + ENTRIES + 8] = counted.to_bytes(8, sys.byteorder)
    (tmp_path / "data.mdb").write_bytes(data)

    with pytest.raises(refused):
        use(str(tmp_path), QUICK)


@pytest.mark.parametrize("stored", [b"", b"abc", b"12345678"])
def test_a_cell_that_is_cut_off_is_damage(tmp_path, stored):
    folder = tmp_path / "index"
    with create_index(f"file:{folder}", analyzer="shingle") as index:
        index.add_entries(entries({"a": 1}))
    with lmdb.open(str(folder), max_dbs=8) as environment, environment.begin(write=True) as transaction:
        transaction.put(member_row(1) + id_digest("a"), stored, db=environment.open_db(b"d", transaction))

    with open_index(f"file:{folder}") as index:
        for read in (
            lambda: index.query_entries(entries({"b": 1})),
            lambda: index.claim_entries(entries({"b": 1})),
            lambda: index.store.read_row("d", member_row(1), after=b"", limit=9),
            lambda: index.store.get_rows("d", [member_row(1)], limit=9),
        ):
            with pytest.raises(CorruptIndex, match="a cell is damaged"):
                read()
