"""Readers close their files at once: a folder may have more refused files than a process may have open."""

import gc
import gzip
import os
from contextlib import suppress

import pytest

from simhash_hbase.inputs import InputOptions, Sources, scan

RECORD = b'{"id": "a", "text": "words of a text"}\n'
CONTENTS = {
    "arrays.jsonl": b'["a", "b"]\n' * 9,
    "array.jsonl": b"[" + RECORD,
    "binary.jsonl": b"\0" * 600 + RECORD,
    "long.jsonl": b'{"text": "' + b"x" * 100_000 + b'"}\n' + RECORD,
    "right.jsonl": RECORD * 9,
    "wide.jsonl": RECORD.decode().encode("utf-16"),
    "packed.jsonl": gzip.compress(RECORD),
    "cut.jsonl.gz": gzip.compress(RECORD * 9_000)[:-20],
    "no-columns.csv": b"one,two\n1,2\n",
    "rows.csv": b'id,text\na,"words\nb,more words\n',
    "page.html": b"<html><body><p>" + b"words of a page " * 9 + b"</p></body></html>",
    "none.warc": b"no records here\r\n" * 99,
    "cut.warc.gz": gzip.compress(b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 9000\r\n\r\nHTTP/1.1")[:-9],
    "notes.txt": b"one line\nanother line\n",
}


@pytest.fixture
def uncollected():
    """Have only reference counts free objects, as for a long time in a run that reads."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_below(folder):
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [path for path in found if path.startswith(str(folder))]


@pytest.mark.parametrize("read_all", [True, False], ids=["all", "the first record"])
@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_is_closed_when_its_reader_has_ended(tmp_path, uncollected, name, read_all):
    (tmp_path / name).write_bytes(CONTENTS[name])
    options = InputOptions(max_record_bytes=50_000, keep_raw=True)

    for _ in range(3):
        records = scan(Sources([str(tmp_path / name)]), options)
        if read_all:
            assert list(records)
        else:
            next(records)
        del records

    assert open_below(tmp_path) == []
