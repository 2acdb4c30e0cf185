"""A corpus through the library, without the command line: the same decisions, and one walk through the input."""

import errno
import gc
import json
import os
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import click
import pytest
from support.corpus import near_copies, text, write_jsonl
from support.results import Printed

from simhash_hbase import InvalidArgument, InvalidInput, create_index, open_index
from simhash_hbase.cli.app import cli as program
from simhash_hbase.cli.exits import in_options
from simhash_hbase.corpus import Deduplication, DedupOptions, Reading, RunListener, Surroundings, deduplicate, writers
from simhash_hbase.corpus.checkpoint import FileDecisions
from simhash_hbase.corpus.documents import COLLECTED_OBJECTS, are_made_here
from simhash_hbase.errors import TooManyDuplicates
from simhash_hbase.files import local
from simhash_hbase.files.local import replacing
from simhash_hbase.inputs import InputOptions, Sources, scan

SHINGLES = ("--create", "--analyzer", "shingle")
FOLDERS = {".", *(f"{a}" for a in range(3)), *(f"{a}/{b}" for a in range(3) for b in range(2))}


@pytest.fixture
def source(tmp_path):
    records = near_copies(20, 3)
    return str(write_jsonl(tmp_path / "corpus.jsonl", [*records, {"id": "no text"}, records[0]]))


def index_in(folder):
    return create_index(f"file:{folder}", analyzer="shingle")


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_the_library_writes_what_the_command_does(cli, tmp_path, source, keep):
    written = ("results", "clusters", "output", "rejects")
    theirs, ours = ({name: tmp_path / f"{who} {name}" for name in written} for who in ("their", "our"))
    options = DedupOptions(keep=keep, **{name: str(ours[name]) for name in ("results", "clusters", "output")})
    words = [word for name in written for word in (f"--{name}", theirs[name])]
    printed = cli("dedup", f"file:{tmp_path / 'theirs'}", source, *SHINGLES, "--keep", keep, *words)

    with index_in(tmp_path / "ours") as index:
        done = deduplicate(index, [source], options, reading=Reading(rejects=str(ours["rejects"]), workers=1))

    assert printed.code == 3
    assert (done.documents, done.originals, done.duplicates, done.refused) == (60, 20, 40, 2)
    for name in written:
        # A refusal names the parameter, or the option of the command line.
        assert (
            in_options(ours[name].read_text("utf-8"), click.Context(program)) == theirs[name].read_text("utf-8") != ""
        )


def test_decisions_in_order_can_be_read_again(cli, tmp_path, source):
    out = cli("dedup", f"file:{tmp_path / 'theirs'}", source, *SHINGLES).out
    printed, notes = Printed(), []

    with (
        index_in(tmp_path / "ours") as index,
        Deduplication(
            [source], lines=printed, listener=RunListener(note=notes.append), surroundings=Surroundings(remember=True)
        ) as corpus,
    ):
        done = corpus.run(index)
        again = b"".join(corpus.lines())

    assert again == out
    assert [json.loads(line)["id"] for line in out.splitlines()] == [record["id"] for record in printed.lines]
    assert printed.flushed == len(printed.lines) == done.documents == 60
    assert [note.startswith(f"{source}:{line}: refused: ") for note, line in zip(notes, (61, 62), strict=True)]


class EncodedPrinted(Printed):
    """Takes decisions as JSON lines."""

    def __init__(self, index):
        super().__init__()
        self.index = index

    def line(self, record):
        pytest.fail("a record came where JSON lines are taken")

    def encoded(self, lines):
        assert lines.endswith(b"\n")
        self.lines += map(json.loads, lines.splitlines())
        # The index holds what is handed on.
        assert all(stored is not None for stored in self.index.get_many([line["id"] for line in self.lines]))


def test_lines_that_take_json_get_the_same_decisions_when_the_index_holds_them(tmp_path, source):
    records = Printed()
    with index_in(tmp_path / "records") as index:
        deduplicate(index, [source], lines=records)
    with index_in(tmp_path / "encoded") as index:
        encoded = EncodedPrinted(index)
        deduplicate(index, [source], lines=encoded)

    assert encoded.lines == records.lines
    assert encoded.flushed == len(encoded.lines) == 60


@pytest.fixture
def thresholds():
    """Yield those of the garbage collector, which are put back."""
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


@pytest.mark.parametrize("first", [0, 700, 10**6])
def test_garbage_is_collected_seldom_during_a_run_alone(tmp_path, source, thresholds, first):
    class Watching(Printed):
        def line(self, record):
            during.add(gc.get_threshold())

    during = set()
    before = first, *thresholds[1:]
    gc.set_threshold(*before)
    with index_in(tmp_path / "index") as index:
        deduplicate(index, [source], lines=Watching())

    assert during == {(COLLECTED_OBJECTS if first == 700 else first, *thresholds[1:])}
    assert gc.get_threshold() == before


def test_a_run_continues_only_with_the_same_options(tmp_path, source):
    results = tmp_path / "results"
    options = DedupOptions(results=str(results))

    def decide(options, **made_with):
        with Deduplication([source], options, surroundings=Surroundings(made_with=made_with)) as corpus:
            return corpus.run(index)

    with index_in(tmp_path / "i") as index:
        first = decide(options, scheme="5x2")
        before = results.read_bytes()

        again = decide(replace(options, resume=True), scheme="5x2")
        assert again == replace(first, decided_before=first.documents)
        with pytest.raises(InvalidArgument, match="other options"):
            decide(replace(options, resume=True))
    assert results.read_bytes() == before


def test_a_dry_run_leaves_the_index_as_it_is(tmp_path, source):
    index_in(tmp_path / "i").close()
    with open_index(f"file:{tmp_path / 'i'}", readonly=True) as index:
        assert deduplicate(index, [source], DedupOptions(dry_run=True)).originals == 20
        assert list(index.export()) == []


@pytest.fixture
def tree(tmp_path):
    """Return a folder of folders with texts, some of them twice."""
    for number in range(12):
        folder = tmp_path / "tree" / str(number % 3) / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(text(number // 2, changed=number % 2))
    return tmp_path / "tree"


@pytest.fixture
def scanned(tree, monkeypatch):
    """Return how often each folder of the tree was listed."""
    counts, scandir = Counter(), os.scandir

    def counted(path="."):
        if isinstance(path, str | os.PathLike) and str(path).startswith(str(tree)):
            counts[os.path.relpath(path, tree)] += 1
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    return counts


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("dedup", False), ("dedup", True), ("add", False), ("query", False), ("fingerprint", False), ("load", False)],
)
def test_a_command_walks_through_the_input_once_whatever_is_asked_for(cli, tmp_path, tree, scanned, name, pattern):
    if name == "dedup":
        target = [f"file:{tmp_path / 'new'}", "--create"]
    else:
        index_in(tmp_path / "i").close()
        target = ["--analyzer", "shingle"] if name == "fingerprint" else [f"file:{tmp_path / 'i'}"]
    named = [tree / str(number) for number in range(3)] if pattern else [tree]
    written = ["output", "clusters", "report", "results", "rejects"] if name == "dedup" else ["rejects"]
    words = [word for option in written for word in (f"--{option}", tmp_path / option)]

    done = cli(name, *target, *named, "--workers", "1", *words)

    assert done.code == 0
    assert all((tmp_path / option).exists() for option in written)
    assert scanned == {name: 1 for name in FOLDERS if not pattern or name != "."}


def test_a_large_tree_is_listed_on_the_disk(tmp_path):
    names = [f"{number:04}.txt" for number in range(2_500)]
    for name in names:
        (tmp_path / name).write_text(f"the text of {name}")
    sources = Sources([str(tmp_path)])

    both = list(zip(sources.files(), sources.files(), strict=True))

    assert [one.id for one, other in both if one == other] == names
    assert len(sources._first) == 1_000
    assert [record.id for record in scan(sources)] == names


def test_features_of_the_caller_are_read_as_the_options_say(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [{"id": str(at), "own": [["apple", at // 2 + 1]]} for at in range(4)])
    reading = Reading(settings=InputOptions(features_field="own"))
    with create_index(f"file:{tmp_path / 'i'}", analyzer="weighted") as index:
        done = deduplicate(index, [str(source)], reading=reading)

    assert (done.documents, done.originals) == (4, 1)


def test_errors_of_a_file_that_is_written_anew_name_it(tmp_path):
    folder = tmp_path / "no such folder"
    with pytest.raises(FileNotFoundError) as raised, replacing(folder / "x.html"):
        raise AssertionError("not reached")

    assert raised.value.filename == str(folder / "x.html")


def test_files_may_be_a_sequence_of_paths(tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", near_copies(3, 2))
    options = DedupOptions(output=tmp_path / "kept.jsonl", clusters=tmp_path / "c.jsonl", results=tmp_path / "r.jsonl")
    with create_index(tmp_path / "i", analyzer="shingle") as index:
        assert deduplicate(index, [source], options).originals == 3
        for one in (source, str(source), [5]):
            with pytest.raises(InvalidInput, match="sequence of names"):
                deduplicate(index, one)

    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 3


def test_a_pipe_a_descriptor_and_another_machine_s_file_are_not_made_here(tmp_path):
    pipe, file = str(tmp_path / "pipe"), str(tmp_path / "new.jsonl")
    os.mkfifo(pipe)

    assert are_made_here([file])
    assert [are_made_here([file, other]) for other in (pipe, "/dev/stdout", "s3://bucket/a")] == [False] * 3


def test_decisions_that_are_made_at_the_end_are_handed_over_batch_by_batch(tmp_path, source, monkeypatch):
    monkeypatch.setattr("simhash_hbase.corpus.ranking.BATCH", 25)
    handed = []

    class Handed(list):
        line = list.append

        def flush(self):
            handed.append(len(self))

    kept = tmp_path / "kept.jsonl"
    with index_in(tmp_path / "ours") as index:
        deduplicate(index, [source], DedupOptions(keep="longest", output=str(kept)), lines=Handed())

    assert handed == [25, 50, 60]
    assert len(kept.read_text("utf-8").splitlines()) == 20


TERMS = "".join(f"<p>Informacja {n}: serwis zbiera dane o odwiedzinach, aby dobierać treści.</p>" for n in range(40))


@pytest.fixture
def pages(tmp_path):
    """Return a folder of two pages of one article in one frame, and two more articles, beside one long notice."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, article in (("a", "ferry"), ("b", "ferry"), ("c", "bread"), ("d", "train")):
        story = "".join(f"<p>Sentence {n} of what is said about the {article} of today.</p>" for n in range(30))
        (folder / f"{name}.html").write_text(
            f"<html><body><article>{TERMS}</article><aside>{story}</aside></body></html>"
        )
    return folder


@pytest.mark.parametrize("how", [{}, {"keep": "longest"}, {"resume": True}])
@pytest.mark.parametrize("reading", [Reading(workers=1), Reading(workers=2, part_bytes=5_000)], ids=["one", "parts"])
def test_duplicates_by_a_notice_beside_other_sentences_are_warned_of(tmp_path, pages, how, reading):
    notes = []
    options = DedupOptions(**how, results=str(tmp_path / "results"))
    with index_in(tmp_path / "index") as index:
        done = deduplicate(index, [str(pages)], options, reading=reading, listener=RunListener(note=notes.append))

    assert (done.originals, done.duplicates) == (1, 3)
    [warning] = notes
    assert warning.startswith("2 duplicates may be wrong: ")
    assert f"{pages / 'c.html'}, a duplicate of 'a.html'" in warning


def test_a_run_that_may_not_remove_so_much_warns_of_the_likely_cause(tmp_path, pages):
    notes = []
    with index_in(tmp_path / "index") as index, pytest.raises(TooManyDuplicates):
        deduplicate(index, [str(pages)], DedupOptions(fail_above=0.5), listener=RunListener(note=notes.append))

    assert [note.partition(":")[0] for note in notes] == ["2 duplicates may be wrong"]


def test_only_claims_by_a_notice_are_warned_of(cli, tmp_path, pages):
    assert "2 duplicates may be wrong: " in cli("claim", pages).err
    for name in "cd":
        (pages / f"{name}.html").unlink()
    assert "may be wrong" not in cli("claim", pages).err


def numbered(folder, count):
    """Write texts of which none is a copy of another; return the path."""
    records = ({"id": f"{number}", "text": f"{number:09d} " * 3} for number in range(count))
    return str(write_jsonl(folder / "a.jsonl", records))


# Which calls of `to_disk` fail, and how: the first one is made before the first chunk, the second one after it.
FULL, FAULTY = OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error")
FAILURES = {
    "a full disk": (range(3, 99), FULL),
    "a fault that is told once": (range(3, 4), FAULTY),
    "an interrupt": (range(3, 99), KeyboardInterrupt()),
}


@pytest.mark.parametrize("results", [True, False], ids=["results", "handed over"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_sync_that_fails_loses_no_decision_and_claims_no_document(tmp_path, monkeypatch, failure, results):
    source, (failing, error) = numbered(tmp_path, 2_500), FAILURES[failure]
    options = DedupOptions(output=str(tmp_path / "kept"), results=str(tmp_path / "results") if results else None)
    # A group has a chunk or two.
    options = replace(options, memory_mb=1)
    synced, lines = [], []

    def to_disk(file, path):
        synced.append(path)
        if len(synced) in failing:
            raise error
        local.to_disk(file, path)

    taking = SimpleNamespace(line=lines.append, flush=lambda: None)
    with create_index(f"file:{tmp_path / 'index'}", analyzer="shingle", match="distance") as index:
        with monkeypatch.context() as patch:
            patch.setattr(writers, "to_disk", to_disk)
            with pytest.raises(type(error)):
                deduplicate(index, [source], options, lines=taking)
        decided = {name for name in map(str, range(2_500)) if index.get(name) is not None}
        assert 0 < len(decided) < 2_500
        if results:
            whole = deduplicate(index, [source], replace(options, resume=True))
            assert (whole.documents, whole.decided_before) == (2_500, 1_000)
            assert (tmp_path / "kept").read_bytes().count(b"\n") == whole.originals
        else:
            assert {line["id"] for line in lines} == decided


def test_an_interrupt_while_an_interrupted_run_ends_loses_no_decision(tmp_path, monkeypatch):
    options = DedupOptions(output=str(tmp_path / "kept"), results=str(tmp_path / "results"))
    synced, interrupts = [], []

    def to_disk(file, path):
        synced.append(path)
        if interrupts and str(path) == options.output:
            raise KeyboardInterrupt
        local.to_disk(file, path)

    def meter(*_, **__):
        def show(count, done=None):
            if count > 1_500:
                interrupts.append(count)
                raise KeyboardInterrupt

        return nullcontext(SimpleNamespace(show=show))

    monkeypatch.setattr(writers, "to_disk", to_disk)
    with create_index(f"file:{tmp_path / 'index'}", analyzer="shingle", match="distance") as index:
        with pytest.raises(KeyboardInterrupt):
            deduplicate(index, [numbered(tmp_path, 2_500)], options, listener=RunListener(meter=meter))
        decided = {name for name in map(str, range(2_500)) if index.get(name) is not None}
    assert len(decided) == 2_000
    assert (tmp_path / "results").read_bytes().count(b"\n") == 2_000


@pytest.mark.parametrize("output", ["kept.jsonl", "kept.jsonl.gz", "kept.csv", "kept"])
def test_kept_documents_are_on_the_disk_before_a_checkpoint_counts_them(tmp_path, monkeypatch, output):
    if output == "kept":
        (tmp_path / "in").mkdir()
        for number in range(1_100):
            (tmp_path / "in" / f"{number}.txt").write_text(f"{number:09d} " * 3)
        source = str(tmp_path / "in")
    else:
        source = numbered(tmp_path, 2_500)
    on_disk, counted, fsync, commit = Counter(), [], os.fsync, FileDecisions.commit

    def noted_fsync(number):
        fsync(number)
        path = os.path.realpath(f"/proc/self/fd/{number}")
        on_disk[os.path.dirname(path) if output == "kept" else path] += 1
        if output != "kept":
            on_disk[path] = os.path.getsize(path)

    def checked_commit(decisions, progress):
        place = os.path.realpath(tmp_path / (f"{output}.rows" if output == "kept.csv" else output))
        assert progress.kept_bytes <= on_disk[place]
        counted.append(progress.kept_bytes)
        commit(decisions, progress)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(FileDecisions, "commit", checked_commit)
    options = DedupOptions(output=str(tmp_path / output), results=str(tmp_path / "results"), memory_mb=1)
    with create_index(f"file:{tmp_path / 'index'}", analyzer="shingle", match="distance") as index:
        deduplicate(index, [source], options)
    assert len(set(counted)) > 2


def test_a_write_that_fails_half_way_leaves_whole_records(tmp_path, monkeypatch):
    options = DedupOptions(output=str(tmp_path / "kept"), results=str(tmp_path / "results"))
    written, write = [], local._Placed.write

    def torn(raw, data):
        if raw.name == options.output:
            written.append(len(data))
            if len(written) == 2:
                write(raw, memoryview(data)[: len(data) // 2 - 3])
                raise OSError(errno.ENOSPC, "No space left on device")
        return write(raw, data)

    monkeypatch.setattr(local._Placed, "write", torn)
    source = numbered(tmp_path, 2_500)
    with create_index(f"file:{tmp_path / 'index'}", analyzer="shingle", match="distance") as index:
        with pytest.raises(OSError, match="it ends with its last whole record"):
            deduplicate(index, [source], options)
        kept = (tmp_path / "kept").read_bytes()
        deduplicate(index, [source], replace(options, resume=True))
    assert kept.endswith(b"\n")
    assert (tmp_path / "kept").read_bytes().startswith(kept)
