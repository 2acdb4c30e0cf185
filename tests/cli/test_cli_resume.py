"""``dedup --results FILE --resume``: what a restart repeats, and what it leaves behind."""

import gzip
import json
import random
import signal
import subprocess
import time
from contextlib import contextmanager, suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpus import near_copies, text, write_jsonl
from support.crawls import crawl_of_copies
from support.reports import read_report
from support.results import command
from support.waiting_writers import seen_to_wait

from simhash_hbase.errors import StoreFull
from simhash_hbase.features.chunks import analyse
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.embedded.memtable import Memtable

DOCUMENTS = 9_000
# Killed so many times at most, each soon after it got further than before.
KILLS = 5
WRITTEN = ("results", "output", "clusters", "rejects")


def _corpus(path):
    """Write documents with ready fingerprints, near pairs among them; own fingerprints need no jieba to start."""
    rng = random.Random(5)
    bases = [rng.getrandbits(64) for _ in range(DOCUMENTS // 2)]
    with gzip.open(path, "wt") as file:
        for number in range(DOCUMENTS):
            simhash = rng.choice(bases) ^ (1 << rng.randrange(64) if rng.random() < 0.5 else 0)
            file.write(json.dumps({"id": f"doc/{number}", "f": f"{simhash:016x}"}) + "\n")
            if rng.random() < 0.01:
                file.write("broken\n")


def _command(folder):
    """Return the words of one run in a folder."""
    files = [word for name in ("report", *WRITTEN) for word in (f"--{name}", folder / name)]
    words = ("--create", "--simhash-field", "f", "--resume", "--quiet", "--workers", "1", *files)
    return command("dedup", f"file:{folder / 'index'}", folder.parent / "c.jsonl.gz", *words)


def _written(folder):
    return {name: (folder / name).read_bytes() for name in WRITTEN}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with an uninterrupted run over the corpus, to be left as it is."""
    folder = tmp_path_factory.mktemp("resume") / "whole"
    _corpus(folder.parent / "c.jsonl.gz")
    folder.mkdir()
    assert subprocess.run(_command(folder), capture_output=True, check=False).returncode == 3
    return folder


def _records(folder):
    """Return how many records the checkpoint says are done; it is replaced as a whole."""
    path = folder / "results.checkpoint"
    return json.loads(path.read_bytes())["records"] if path.exists() else 0


def _kill_behind_a_checkpoint(folder, delay):
    """Kill a run some time after it got further than the one before; return whether it was still at work."""
    before = _records(folder)
    run = subprocess.Popen(_command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while run.poll() is None and not (folder / "index" / "data.mdb").exists():
        time.sleep(0.002)
    # Each batch is a group of its own, with a checkpoint.
    with seen_to_wait(folder / "index"):
        while run.poll() is None and _records(folder) == before:
            with suppress(subprocess.TimeoutExpired):
                run.wait(timeout=0.002)
        with suppress(subprocess.TimeoutExpired):
            run.wait(timeout=delay)
        run.kill()
        return run.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_with_the_same_bytes(whole):
    folder = whole.parent / "killed"
    folder.mkdir()
    rng = random.Random(11)
    killed = []
    while len(killed) < KILLS and _kill_behind_a_checkpoint(folder, rng.uniform(0, 0.03)):
        killed.append(_records(folder))
    last = subprocess.run(_command(folder), capture_output=True, check=False)

    total = _records(whole)
    assert last.returncode == 3, last.stderr
    assert len([done for done in killed if 0 < done < total]) >= 2, killed
    assert killed == sorted(set(killed))
    assert _records(folder) == total
    assert _written(folder) == _written(whole)
    reports = [read_report(place / "report") for place in (folder, whole)]
    assert (reports[0].data, reports[0].refused) == (reports[1].data, reports[1].refused)


def test_what_is_behind_the_end_of_a_finished_run_is_cut_for_every_restart_after(cli, empty, tmp_path, corpus_file):
    files = [tmp_path / "results", tmp_path / "kept.jsonl"]
    words = ("dedup", empty, corpus_file, "--workers", 1, "--results", files[0], "--output", files[1])
    assert cli(*words).code == 0
    before = [path.read_bytes() for path in files]
    for path, data in zip(files, before, strict=True):
        path.write_bytes(data + b"torn" * 100)

    codes = [cli(*words, "--resume").code for _ in range(2)]

    assert codes == [0, 0]
    assert [path.read_bytes() for path in files] == before


@pytest.mark.slow
def test_the_clusters_hold_every_duplicate_with_its_original(whole):
    decisions = [json.loads(line) for line in (whole / "results").read_bytes().splitlines()]
    duplicates = {(d["of"], d["id"], d["distance"], d["similarity"]) for d in decisions if d["status"] == "duplicate"}

    clusters = [json.loads(line) for line in (whole / "clusters").read_bytes().splitlines()]

    found = {(c["id"], m["id"], m["distance"], m["similarity"]) for c in clusters for m in c["members"]}
    assert found == duplicates
    assert len({cluster["id"] for cluster in clusters}) == len(clusters)


def test_a_restart_analyses_only_what_is_left(cli, empty, tmp_path, monkeypatch, stopped):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": str(i), "text": text(i, count=9)} for i in range(2_500)])
    words = ("dedup", empty, file, "--workers", 1, "--results", tmp_path / "results")
    with stopped(1_000), seen_to_wait(empty.removeprefix("file:")):
        assert cli(*words).code == 1
    before, analysed, now = _records(tmp_path), [], iter([0.0] + [10.0] * 10)

    def counted(records, *words, **options):
        return analyse((analysed.append(record) or record for record in records), *words, **options)

    monkeypatch.setattr("simhash_hbase.corpus.documents.analyse", counted)
    monkeypatch.setattr("simhash_hbase.cli.screen.output.monotonic", lambda: next(now))

    resumed = cli(*words, "--resume")

    assert (resumed.code, before) == (0, 1_000)
    assert before + len(analysed) == _records(tmp_path) == 2_500
    assert resumed.err.startswith("dedup: 2,500 documents, 1,000 decided before, ")
    assert resumed.err.endswith("; 10.0 s, 150 a second\n")


def test_what_cannot_be_resumed_is_refused(cli, url, empty, tmp_path, corpus_file):
    mine, results = tmp_path / "mine", tmp_path / "results"
    mine.write_text("not to be lost")
    assert cli("dedup", empty, corpus_file, "--results", results).code == 0
    corpus_file.write_bytes(corpus_file.read_bytes().swapcase())

    for words in (["-"], [corpus_file, "--keep", "longest"], [corpus_file, "--dry-run"]):
        assert cli("dedup", url, *words, "--create", "--results", tmp_path / "r", "--resume").usage_error
    refused = cli("dedup", url, corpus_file, "--create", "--results", mine, "--resume")

    assert "no checkpoint" in refused.usage_error
    assert mine.read_text() == "not to be lost"
    assert not (tmp_path / "new.index").exists()
    assert "has changed" in cli("dedup", empty, corpus_file, "--results", results, "--resume").failure


@pytest.mark.parametrize("begun_with", ["no address", "another index", "one that was made anew", "one that has moved"])
def test_a_run_is_continued_with_the_index_that_it_was_begun_with_only(
    cli, empty, tmp_path, corpus_file, stopped, begun_with
):
    results, index, moved = (tmp_path / name for name in ("results", "some.index", "moved.index"))
    words = (corpus_file, "--workers", 1, "--results", results)
    begun = {"no address": [], "another index": [f"file:{moved}"]}.get(begun_with, [empty])
    if begun_with == "another index":
        cli("create", *begun, "--analyzer", "shingle")
    with stopped(0):
        assert cli("dedup", *begun, *words).code == 1
    assert results.stat().st_size
    if begun == [empty]:
        index.rename(moved)
        cli("create", empty, "--analyzer", "shingle")

    resumed = cli("dedup", f"file:{moved}" if begun_with == "one that has moved" else empty, *words, "--resume")

    if begun_with == "one that has moved":
        assert (resumed.code, len(results.read_bytes().splitlines())) == (0, 60)
    else:
        assert "is from a run with another index, or with a temporary one" in resumed.usage_error
        assert cli("export", empty).records == []


@pytest.mark.slow
def test_the_id_of_a_document_that_was_refused_is_free_after_a_restart(cli, tmp_path, stopped):
    # Refused for want of features in the first thousand; the same id comes again after it.
    documents = [{"id": "again", "text": "…"}, *({"id": str(i), "text": text(i, count=9)} for i in range(1_200))]
    file = write_jsonl(tmp_path / "a.jsonl", [*documents, {"id": "again", "text": text(5_000)}])
    words = ("--create", "--analyzer", "shingle", "--workers", 1)
    whole = cli("dedup", f"file:{tmp_path / 'i'}", file, *words)
    words = ("dedup", f"file:{tmp_path / 'j'}", file, *words, "--results", tmp_path / "results")
    with stopped(1_000):
        assert cli(*words).code == 1

    assert cli(*words, "--resume").code == whole.code == 3
    assert b'"again"' in whole.out
    assert (tmp_path / "results").read_bytes() == whole.out


@pytest.mark.parametrize("words", [["--keep", "longest"], ["--dry-run"]])
def test_results_that_nobody_resumes_go_to_a_file_whatever_decides(cli, url, tmp_path, corpus_file, words):
    words = ("dedup", url, corpus_file, "--create", "--analyzer", "shingle", *words)
    printed = cli(*words).out

    done = cli(*words, "--results", tmp_path / "r")

    assert (done.code, done.out) == (0, b"")
    assert (tmp_path / "r").read_bytes() == printed
    assert cli("dedup", url, corpus_file, "--results", tmp_path / "r").usage_error


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        ("a.warc.gz", "kept.warc.gz"),
        ("a.warc.gz", "kept.warc.gz", "--duplicates", "revisit"),
        ("a.parquet", "kept.parquet"),
        ("a.parquet", "kept.csv"),
        ("a.jsonl", "kept.parquet"),
        ("a.csv", "kept.jsonl"),
    ],
    ids=" ".join,
)
def test_a_restart_ends_with_the_same_output_of_every_form(cli, tmp_path, monkeypatch, stopped, form):
    source, target, *options = form
    monkeypatch.setattr("simhash_hbase.features.chunks.CHUNK_DOCUMENTS", 50)
    path, records = tmp_path / source, near_copies(40, 3)
    if source == "a.warc.gz":
        path.write_bytes(crawl_of_copies(40).bytes())
    elif source == "a.parquet":
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=70)
    elif source == "a.csv":
        path.write_text("id,text\n" + "".join(f"{record['id']},{record['text']}\n" for record in records))
    else:
        write_jsonl(path, records)

    def run(name, *more):
        files = ("--results", tmp_path / f"{name} results", "--output", tmp_path / f"{name} {target}")
        words = ("--create", "--analyzer", "shingle", "--workers", 1, "--quiet", *files, *options)
        return cli("dedup", f"file:{tmp_path / name}", path, *words, *more).code

    assert run("whole") == 0
    with stopped(50):
        assert run("parts") == 1
    kept = tmp_path / f"parts {target}"
    if source == "a.warc.gz":
        kept.write_bytes(kept.read_bytes() + b"\x1f\x8b torn")
    else:
        assert not kept.exists()

    assert (run("parts", "--resume"), run("parts", "--resume")) == (0, 0)

    for name in ("results", target):
        assert (tmp_path / f"parts {name}").read_bytes() == (tmp_path / f"whole {name}").read_bytes()


@pytest.fixture
def full_at_commit(monkeypatch):
    """Return a context in which no group of writes can be committed, since the disk is full; one has two chunks."""

    @contextmanager
    def gathered(self):
        with self.transaction():
            self._shared._memtable = Memtable()
            yield
            raise StoreFull("the disk is full")

    @contextmanager
    def full():
        with monkeypatch.context() as patch:
            patch.setattr(EmbeddedStore, "gathered", gathered)
            bytes_of = EmbeddedStore.gathered_bytes
            patch.setattr(EmbeddedStore, "gathered_bytes", lambda store: 180 * bytes_of(store))
            yield

    return full


@pytest.mark.parametrize("words", [["dedup"], ["claim"], ["add", "--verbose"]])
def test_nothing_is_told_of_what_could_not_be_committed(cli, empty, tmp_path, full_at_commit, words):
    command, *more = words
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": str(i), "text": text(i, count=9)} for i in range(1_300)])

    with full_at_commit():
        failed = cli(command, empty, file, "--workers", 1, *more)

    assert (failed.code, failed.out) == (1, b"")
    assert "the disk is full" in failed.err
    assert cli("export", empty).records == []


def test_a_run_whose_commit_failed_is_continued_from_the_one_before(cli, empty, tmp_path, full_at_commit):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": str(i), "text": text(i % 1_200, count=9)} for i in range(1_300)])
    whole = cli("dedup", f"file:{tmp_path / 'whole'}", file, "--create", "--analyzer", "shingle")
    words = ("dedup", empty, file, "--workers", 1, "--results", tmp_path / "results")

    with full_at_commit():
        assert cli(*words).code == 1
    before = _records(tmp_path)
    resumed = cli(*words, "--resume")

    assert (before, resumed.code) == (0, 0)
    assert (tmp_path / "results").read_bytes() == whole.out
    assert len(cli("export", empty).records) == 1_300
