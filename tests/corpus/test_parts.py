"""An input in parts, which several processes read: chunks, refusals and progress are those of one process."""

import gzip
import io
import json
import os
import pickle
import tracemalloc
from concurrent.futures import Future
from contextlib import closing, nullcontext
from functools import partial
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.crawls import crawl_of
from support.sites import Site

from simhash_hbase import Profile, corpus, create_index
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features import chunks
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import analyse
from simhash_hbase.features.parts import PartedInput, analyse_parts
from simhash_hbase.index.answers import Answer
from simhash_hbase.index.arguments import Search
from simhash_hbase.inputs import InputOptions, Preference, Progress, Sources, scan
from simhash_hbase.inputs.parts import divide, read_ranges
from simhash_hbase.inputs.reading import scan_part
from simhash_hbase.inputs.sources import FileChanged

ANALYSIS = Analysis(Profile.resolve(analyzer="shingle"))


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_DOCUMENTS", 16)
    monkeypatch.setattr(chunks, "CHUNK_CHARACTERS", 700)


class Here:
    """A pool without processes: arguments and results are pickled as between two."""

    def begin(self, analysis):
        pass

    def submit(self, function, *arguments):
        future = Future()
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        future.set_result(pickle.loads(pickle.dumps(function(ANALYSIS, *arguments))))
        return future

    def close(self):
        pass


def line(number, **fields):
    record = {"id": f"d{number}", "text": f"The text of number {number} is short.", "n": number % 7, **fields}
    return json.dumps({name: value for name, value in record.items() if value is not None}).encode()


def lines(count, **fields):
    return b"".join(line(number, **fields) + b"\n" for number in range(count))


BAD = [
    b"no JSON",
    b'{"id": "bad", "text": "\xff"}',
    b"",
    b"  ",
    b'{"text": "A document without an id."}',
    b'{"id": "x", "other": 1}',
    b'{"id": "x", "text": "?!"}',
    b'{"id": "x", "text": ""}',
    b'{"id": "long", "text": "%s"}' % (b"long " * 500),
    b'{"id": "n", "text": "An infinite number.", "n": Infinity}',
    b"[1, 2]",
    b"\xef\xbb\xbf" + line(1),
    b"\xef\xbb\xbf",
    line(2) + b"\r",
]


def parquet_of(rows, group):
    """Return a Parquet file of some rows, in row groups of so many."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=group)
    return file.getvalue()


def damaged(content, group):
    """Return a Parquet file of which the text of a row group cannot be read."""
    text = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(group).column(1)
    at = text.dictionary_page_offset or text.data_page_offset
    return content[:at] + b"\xff" * 20 + content[at + 20 :]


ROWS = [json.loads(line(number)) for number in range(60)]
ROWS_WITH_FAULTS = [
    {**row, "id": row["id"] if at % 9 else None, "text": ["", None, "?!", "A text."][at % 4]}
    for at, row in enumerate(ROWS)
]
MIXED = b"\n".join(row for number, bad in enumerate(BAD * 3) for row in (line(number), bad))
FILES = {
    "plain.jsonl": lines(60),
    "open.jsonl": lines(40) + line(41),
    "mixed.jsonl": MIXED,
    "mixed-crlf.jsonl": MIXED.replace(b"\n", b"\r\n"),
    "marked.jsonl": b"\xef\xbb\xbf" + lines(9),
    "faults.jsonl": b"\n \r\n\n" + b"\n".join(BAD) + b"\n" + lines(20),
    "without-ids.jsonl": lines(30, id=None),
    "other-field.jsonl": lines(30, text=None, body="A text in a field of another name."),
    "empty.jsonl": b"",
    "blank.jsonl": b"\n\n \r\n\n",
    "array.jsonl": b"[" + b",\n".join(line(number) for number in range(9)) + b"]\n",
    "arrays.jsonl": b"\n\n" + b'["a", "b"]\n' * 9,
    "array-before.jsonl": b'\n["a", "b"]\n\n' + lines(9),
    "one-value.jsonl": b'{\n"text": "one"\n}\n' * 3,
    "wide.jsonl": lines(9).decode().encode("utf-16"),
    "binary.jsonl": b"\0" * 600 + lines(9),
    "packed.jsonl": gzip.compress(lines(30)),
    "packed.jsonl.gz": gzip.compress(lines(30), mtime=0),
    "lines.txt": b"A line.\nAnother line, which is longer.\n\n?!\r\nThe third line.\xff\n" * 9 + b"The last line.",
    "table.csv": b"id,text,n\n" + b'%d,"A row of\nseveral lines.",1\n' % 7 + b"1,2\n8,A row.,1\n",
    "unknown": b"A file whose name tells no format, and whose text is one document.",
    "rows.parquet": parquet_of(ROWS, 7),
    "faults.parquet": parquet_of([*ROWS_WITH_FAULTS, *ROWS], 11),
    "damaged.parquet": damaged(parquet_of(ROWS, 7), 3),
    "cut.parquet": parquet_of(ROWS, 7)[:-9],
    "one-group.parquet": parquet_of(ROWS, 100),
    "other-column.parquet": parquet_of([{"id": "a", "body": "A text."}] * 9, 2),
    "page.html": Site(1, "en").page("A page with a paragraph that says a little.", "A page").encode(),
    "page-bad.html": b"no page",
    "crawl.warc.gz": crawl_of(4).bytes(),
}


def described(chunk):
    """Return what a chunk has, but its texts."""
    entries = chunk.entries
    columns = [entries.ids, entries.digests, entries.metadata]
    arrays = [entries.simhashes, entries.sketches, entries.shingles, entries.features, entries.lengths]
    arrays.append(entries.segments)
    documents = [(each.id, each.metadata, each.place, each.raw, each.preference, each.title) for each in chunk.kept]
    return chunk.records, documents, chunk.rejects, columns, [array.tobytes() for array in arrays]


def noted(progress):
    return progress.bytes_read, progress.skipped, progress.unnamed, progress.unnamed_has_fields


def read(paths, part_bytes, *, skipped=0, soon=False, **options):
    """Return the chunks and the progress of one process, or of parts."""
    settings, progress, sources = InputOptions(keep_raw=True, **options), Progress(), Sources(paths)
    if part_bytes is None:
        records = islice(scan(sources, settings, progress), skipped, None)
        return [described(chunk) for chunk in analyse(records, ANALYSIS, soon=soon)], noted(progress)
    parted = PartedInput(sources, settings, progress, part_bytes, skipped)
    chunks_ = [described(chunk) for chunk in analyse_parts(parted, ANALYSIS, Here(), workers=2, soon=soon)]
    return chunks_, noted(progress)


def written(folder, files=FILES):
    paths = [folder / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    return [str(path) for path in paths]


@pytest.mark.parametrize("part_bytes", [1, 50, 200, 3_000])
@pytest.mark.parametrize("name", FILES)
def test_parts_of_any_size_make_the_chunks_of_one_process(tmp_path, name, part_bytes):
    paths = written(tmp_path, {name: FILES[name]})
    settings = {"max_record_bytes": 1_500, "metadata_fields": ("n", "title"), "lasting": True}
    if name == "unknown":
        paths = [str(tmp_path)]

    expected = read(paths, None, **settings)
    assert bool(read(paths, part_bytes, **settings) == expected)


@pytest.mark.parametrize("part_bytes", [30, 2_000, 100_000])
@pytest.mark.parametrize("skipped", [0, 1, 30, 200])
def test_files_of_all_kinds_are_read_alike_in_parts(tmp_path, part_bytes, skipped):
    written(tmp_path)
    expected = read([str(tmp_path)], None, skipped=skipped, soon=not skipped)

    assert bool(read([str(tmp_path)], part_bytes, skipped=skipped, soon=not skipped) == expected)


@pytest.mark.parametrize("result_bytes", [1, 6_000])
def test_parts_whose_results_are_too_large_are_read_as_a_stream_alike(tmp_path, monkeypatch, result_bytes):
    monkeypatch.setattr("simhash_hbase.features.parts.RESULT_BYTES", result_bytes)
    written(tmp_path)

    assert bool(read([str(tmp_path)], 30_000) == read([str(tmp_path)], None))


def peak_of(path):
    """Return the most memory that reading a file in parts takes."""
    parted = PartedInput(Sources([path]), InputOptions(keep_raw=True), Progress(), 4 << 20)
    tracemalloc.start()
    try:
        chunks_ = analyse_parts(parted, ANALYSIS, Here(), workers=2, soon=False)
        assert sum(len(chunk.rejects) for chunk in chunks_) == 100
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_small_file_that_unpacks_to_a_hundred_megabytes_is_not_held_in_memory(tmp_path, monkeypatch):
    member = gzip.compress(b'{"text": "", "rest": "%s"}\n' % (b"0" * 1_000_000), mtime=0)
    [path] = written(tmp_path, {"large.jsonl.gz": member * 100})

    monkeypatch.setattr("simhash_hbase.features.parts.RESULT_BYTES", 8_000_000)
    assert peak_of(path) < 30_000_000


@pytest.mark.parametrize(
    "settings",
    [
        {"encoding": "auto"},
        {"encoding": "gb18030"},
        {"preference": Preference.parse("best:n")},
        {"id_prefix": "file"},
        {"id_field": "n"},
        {"features_field": "body", "id_field": "text"},
        {"simhash_field": "n"},
        {"block_bytes": 7},
    ],
    ids=str,
)
def test_every_option_of_reading_holds_in_parts(tmp_path, settings):
    paths = written(tmp_path, {"mixed.jsonl": MIXED, "plain.jsonl": lines(30)})

    assert bool(read(paths, 100, **settings) == read(paths, None, **settings))


def test_parts_of_the_wanted_size_end_at_line_ends(tmp_path):
    [path] = written(tmp_path, {"plain.jsonl": lines(60)})
    parts = list(divide(Sources([path]), InputOptions(), part_bytes=300, shares=(4, 2)))

    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert all(lines(60)[: part.stop].endswith(b"\n") for part in parts)
    assert max(part.size for part in parts) <= 300
    assert [part.size > 75 for part in parts[:2]] == [False, True]
    assert [part.line for part in parts] == [lines(60)[: part.start].count(b"\n") + 1 for part in parts]


def test_a_row_group_too_large_to_be_held_leaves_a_parquet_file_whole(tmp_path, monkeypatch):
    [path] = written(tmp_path, {"rows.parquet": FILES["rows.parquet"]})
    one, two = (list(divide(Sources([path]), InputOptions(), part_bytes=size)) for size in (1, 2_000))

    assert [part.groups for part in one] == [range(number, number + 1) for number in range(9)]
    assert [part.line for part in one] == [1, 8, 15, 22, 29, 36, 43, 50, 57]
    assert 1 < len(two) < 9
    assert [number for part in two for number in part.groups] == list(range(9))

    monkeypatch.setattr("simhash_hbase.inputs.parquet.RESULT_BYTES", 7 * 512 - 1)
    assert [part.groups for part in divide(Sources([path]), InputOptions(), part_bytes=1)] == [None]


def test_only_small_files_share_a_part(tmp_path):
    written(tmp_path, {f"{number}.html": b"page" for number in range(10)})
    parts = list(divide(Sources([str(tmp_path), "-"]), InputOptions(), part_bytes=16))

    assert [len(part.sources) for part in parts] == [4, 4, 2, 1]
    assert parts[-1].size is None


def test_files_larger_than_the_first_small_parts_do_not_keep_later_ones_small(tmp_path):
    written(tmp_path, {f"{number}.html": b"page" for number in range(10)})
    parts = list(divide(Sources([str(tmp_path)]), InputOptions(), part_bytes=16, shares=(16, 16)))

    assert [len(part.sources) for part in parts] == [1, 1, 4, 4]


def test_a_compressed_file_counts_as_several_times_as_long(tmp_path):
    paths = written(tmp_path, {f"{number}.jsonl.gz": b"x" * 10 for number in range(4)})

    assert [len(part.sources) for part in divide(Sources(paths), InputOptions(), part_bytes=170)] == [2, 2]


def replaced(path):
    """Put another file of the same length in the place of one."""
    content = path.read_bytes()
    other = path.with_name("other")
    other.write_bytes(content.replace(b"short", b"other"))
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


def rewritten(path):
    """Write other bytes of the same length into a file."""
    before, content = path.stat(), path.read_bytes()
    path.write_bytes(content.replace(b"short", b"other"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


CHANGES = {
    "replaced": replaced,
    "rewritten": rewritten,
    "longer": lambda path: path.write_bytes(path.read_bytes() + lines(1)),
    "shorter": lambda path: path.write_bytes(lines(20)),
    "removed": lambda path: path.unlink(),
}
CHANGED = "plain.jsonl was changed, replaced or removed while it was read"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_part_of_a_file_that_was_changed_after_the_division_is_not_read(tmp_path, change):
    [path] = written(tmp_path, {"plain.jsonl": lines(60)})
    parts = list(divide(Sources([path]), InputOptions(), part_bytes=1_000))
    change(tmp_path / "plain.jsonl")

    with pytest.raises(InvalidInput, match=CHANGED):
        list(scan_part(parts[1], InputOptions(), Progress()))


@pytest.mark.parametrize("change", ["removed", "replaced", "written to"])
def test_row_groups_of_a_file_that_was_changed_are_not_read(tmp_path, change):
    [path] = written(tmp_path, {"plain.jsonl": FILES["rows.parquet"]})
    options = InputOptions(format="parquet")
    parts = list(divide(Sources([path]), options, part_bytes=1))
    records = scan_part(parts[1], options, Progress())
    if change == "written to":
        next(records)
        (tmp_path / "plain.jsonl").write_bytes(FILES["one-group.parquet"])
    else:
        CHANGES[change](tmp_path / "plain.jsonl")

    with pytest.raises(InvalidInput, match=CHANGED):
        list(records)


@pytest.mark.parametrize("name", ["rewritten", "longer", "shorter"])
def test_a_part_of_a_file_that_is_written_to_while_it_is_read_is_not_read_to_its_end(tmp_path, name):
    [path] = written(tmp_path, {"plain.jsonl": lines(60)})
    parts = list(divide(Sources([path]), InputOptions(), part_bytes=1_000))

    records = scan_part(parts[1], InputOptions(block_bytes=200), Progress())
    next(records)
    CHANGES[name](tmp_path / "plain.jsonl")
    with pytest.raises(InvalidInput, match=CHANGED):
        list(records)


@pytest.mark.parametrize("name", ["longer", "shorter"])
def test_a_file_that_is_changed_during_the_division_has_no_last_part(tmp_path, name):
    [path] = written(tmp_path, {"plain.jsonl": lines(60)})
    parts = divide(Sources([path]), InputOptions(), part_bytes=1_000)
    next(parts)
    CHANGES[name](tmp_path / "plain.jsonl")

    with pytest.raises(InvalidInput, match=CHANGED):
        list(parts)


WRITTEN = ("output", "clusters", "results", "rejects")


class Stopped(Exception):
    """Ends a run."""


def stop():
    raise Stopped


def deduplicated(folder, paths, workers, *, index="memory:", stop_at=None, act=stop, **options):
    """Return the bytes of all that a run writes, its notes, and its summary."""
    folder.mkdir(exist_ok=True)
    notes = []
    reading = corpus.Reading(workers=workers, part_bytes=700, rejects=str(folder / "rejects"))
    places = {name: str(folder / name) for name in ("output", "clusters", "results")}
    chosen = corpus.DedupOptions(**places, **options)

    class Meter:
        def show(self, count, done=None):
            if stop_at is not None and count > stop_at:
                act()

    def meter(name, total=None, **_):
        return nullcontext(Meter())

    listener = corpus.RunListener(note=notes.append, meter=meter)
    with closing(create_index(index, analyzer="shingle", if_not_exists=True)) as opened:
        summary = corpus.deduplicate(opened, paths, chosen, reading=reading, listener=listener)
    return [(folder / name).read_bytes() for name in WRITTEN], notes, summary


def corpus_files(folder):
    files = {"mixed.jsonl": MIXED, "crlf.jsonl": lines(30).replace(b"\n", b"\r\n"), "open.jsonl": lines(40)[:-1]}
    return written(folder, files)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "options"),
    [(2, {}), (5, {}), (2, {"keep": "longest"}), (2, {"keep": "best:n"}), (2, {"contained": 0.5})],
    ids=str,
)
def test_dedup_writes_the_same_bytes_with_any_number_of_workers(tmp_path, workers, options):
    paths = corpus_files(tmp_path)
    one = deduplicated(tmp_path / "one", paths, 1, **options)

    assert bool(deduplicated(tmp_path / "several", paths, workers, **options) == one)


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes_with_other_workers(tmp_path):
    paths = corpus_files(tmp_path)
    expected, _, summary = deduplicated(tmp_path / "one", paths, 1)
    folder, index = tmp_path / "stopped", f"file:{tmp_path / 'index'}"

    for workers, stop_at in ((2, 10), (1, 20), (2, 30)):
        with pytest.raises(Stopped):
            deduplicated(folder, paths, workers, index=index, stop_at=stop_at, resume=stop_at > 10)
    files, _, resumed = deduplicated(folder, paths, 2, index=index, resume=True)
    assert bool(files == expected)
    assert resumed.decided_before > 20
    assert resumed.documents == summary.documents


@pytest.mark.slow
def test_a_run_whose_input_was_replaced_keeps_no_line_of_the_other_file(tmp_path):
    [path] = written(tmp_path, {"plain.jsonl": lines(400)})
    expected, _, _ = deduplicated(tmp_path / "one", [path], 1)
    folder, index = tmp_path / "two", f"file:{tmp_path / 'index'}"
    before = tmp_path / "before"

    def replace_once():
        if not before.exists():
            (tmp_path / "plain.jsonl").rename(before)
            (tmp_path / "plain.jsonl").write_bytes(lines(400).replace(b"short", b"other"))

    with pytest.raises(InvalidInput, match=CHANGED):
        deduplicated(folder, [path], 2, index=index, stop_at=10, act=replace_once)
    kept = (folder / "output").read_bytes()
    assert 0 < len(kept) < len(expected[0])
    assert expected[0].startswith(kept)

    before.replace(tmp_path / "plain.jsonl")
    files, _, _ = deduplicated(folder, [path], 2, index=index, resume=True)
    assert bool(files == expected)


@pytest.mark.slow
def test_claims_and_answers_are_the_same_with_parts(tmp_path):
    paths = corpus_files(tmp_path)

    def acted(workers):
        reading = corpus.Reading(workers=workers, part_bytes=700)
        with closing(create_index("memory:", analyzer="shingle")) as index:
            acts = (index.claimed, True), (partial(index.answered, search=Search(index.rule()).begun(0)), False)
            for act, writes in acts:
                with corpus.Documents("act", paths, reading, corpus.RunListener()) as documents:
                    for results in documents.acted(index, act, writes=writes):
                        yield from [(document.id, document.place, near(result)) for document, result in results]

    def near(result):
        return [match.id for match in result.matches] if isinstance(result, Answer) else (result.of, result.distance)

    expected = list(acted(1))
    assert len(expected) > 100
    assert bool(list(acted(2)) == expected)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_lines_of_a_file_that_was_changed_before_they_are_kept_end_the_run(tmp_path, monkeypatch, change):
    [path] = written(tmp_path, {"plain.jsonl": lines(60)})
    parts = list(divide(Sources([path]), InputOptions(), part_bytes=1_000))
    monkeypatch.setattr(PartedInput, "parts", lambda *_, **__: (part for part in parts))
    analyse_first = Here.submit

    def submit(self, function, part, *arguments):
        future = analyse_first(self, function, part, *arguments)
        if part == parts[-1]:
            change(tmp_path / "plain.jsonl")
        return future

    monkeypatch.setattr(Here, "submit", submit)
    with pytest.raises(InvalidInput, match=CHANGED):
        read([path], 1_000)


class Trickling(io.RawIOBase):
    """A file that gives few bytes a call, as some network file systems do."""

    def __init__(self, content):
        self._file = io.BytesIO(content)

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, *where):
        return self._file.seek(*where)

    def readinto(self, buffer):
        return self._file.readinto(memoryview(buffer)[:3])


def test_a_file_that_gives_few_bytes_a_call_is_read_whole(monkeypatch, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content := b"".join(b'{"text": "%d"}\n' % number for number in range(50)))
    [part] = divide(Sources([str(path)]), InputOptions())
    monkeypatch.setattr(type(part), "opened", lambda _: nullcontext(Trickling(content)))
    ranges = np.array([(0, 14), (14, 28), (len(content) - 15, len(content))])
    assert read_ranges(part, ranges) == [content[:14], content[14:28], content[-15:]]

    monkeypatch.setattr(type(part), "opened", lambda _: nullcontext(Trickling(content[:-1])))
    with pytest.raises(FileChanged):
        read_ranges(part, ranges)
