"""Bad input and bad places: one sentence, the right exit code, and nothing that was stored is harmed."""

import json
import multiprocessing
from itertools import count

import pytest
from support.corpus import text

from simhash_hbase import Profile
from simhash_hbase.corpus import documents
from simhash_hbase.errors import Retryable, WorkerLost
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import analyse
from simhash_hbase.inputs import Document, Place

GOOD = json.dumps({"id": "good", "text": text(99)}).encode()
BAD_LINES = {
    "broken JSON": b'{"id": "bad", "text": "never closed',
    "wrong encoding": '{"id": "bad", "text": "拖拉机学院"}'.encode("gb18030"),
    "no features": '{"id": "bad", "text": "……！？"}'.encode(),
}


@pytest.mark.parametrize("command", ["add", "claim", "dedup", "query", "fingerprint"])
@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_refused_with_its_place_and_the_rest_goes_on(cli, filled, tmp_path, command, kind):
    file, rejects = tmp_path / "a.jsonl", tmp_path / "rejects.jsonl"
    file.write_bytes(b"\n".join([GOOD.replace(b"good", b"first"), BAD_LINES[kind], GOOD]) + b"\n")
    words = ["--analyzer", "shingle"] if command == "fingerprint" else [filled]
    verbose = ["--verbose"] if command == "add" else []

    done = cli(command, *words, file, *verbose, "--rejects", rejects)

    assert done.code == 3
    assert [record.get("id", record.get("query")) for record in done.records] == ["first", "good"]
    assert f"{file}:2: refused: " in done.err
    assert "Traceback" not in done.err
    assert "1 refused" in done.err
    [kept] = [json.loads(line) for line in rejects.read_text(encoding="utf-8").splitlines()]
    assert (kept["file"], kept["line"]) == (str(file), 2)
    assert kept["reason"]


def test_all_refused_lines_are_kept_however_many(cli, filled, tmp_path):
    file, rejects = tmp_path / "a.jsonl", tmp_path / "rejects.jsonl"
    file.write_text("".join(f'{{"id": "{i}"}}\n' for i in range(1_500)))

    done = cli("add", filled, file, "--rejects", rejects)

    assert done.code == 3
    assert len(done.err.splitlines()) < 30
    assert [json.loads(line)["line"] for line in rejects.read_text().splitlines()] == list(range(1, 1_501))


@pytest.mark.parametrize("command", ["add", "dedup", "query", "fingerprint"])
def test_a_missing_file_is_a_failure_before_anything_is_done(cli, filled, corpus_file, command):
    words = [] if command == "fingerprint" else [filled]

    failed = cli(command, *words, corpus_file, "no such file.jsonl")

    assert failed.code == 1
    assert failed.out == b""
    assert "no such file.jsonl" in failed.sentence


def test_a_list_of_ids_that_is_missing_or_no_text_is_a_failure(cli, filled, tmp_path):
    binary = tmp_path / "ids"
    binary.write_bytes(b"\xff\xfe\n")

    for source in (tmp_path / "missing", binary):
        failed = cli("remove", filled, "--from", source)
        assert failed.code == 1
        assert str(source) in failed.sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--distance", "x"), "--distance is 'x': wanted a whole number from 0 to 64"),
        (("--distance", "65"), "--distance is '65': wanted a whole number from 0 to 64"),
        (("--similarity", "much"), "--similarity is 'much': wanted a number from 0 to 1"),
        (("--limit", "0"), "--limit is '0': wanted a whole number from 1 up"),
        (("--limit",), "option '--limit' requires an argument"),
        (("--no-such-option",), "no such option '--no-such-option'"),
    ],
)
def test_wrong_usage_is_one_sentence_in_the_style_of_all_errors(cli, empty, words, sentence):
    refused = cli("query", empty, *words)

    assert refused.usage_error.startswith(sentence)
    assert refused.sentence.endswith("; see simhash-hbase query --help")


@pytest.mark.parametrize("format_", ["json", "table"])
def test_answers_before_an_unknown_id_are_printed(cli, filled, format_):
    failed = cli("query", filled, "--id", "group 0 copy 0", "--id", "nobody", "--format", format_)

    assert failed.code == 1
    assert b"group 0 copy 1" in failed.out
    assert "nobody" in failed.sentence


def test_removals_before_a_bad_line_are_printed(cli, filled, tmp_path):
    gone = tmp_path / "gone"
    gone.write_bytes(b"group 0 copy 0\n" + b"".join(b"nobody %d\n" % i for i in range(2_499)) + b"\xff\n")

    failed = cli("remove", filled, "--from", gone)

    assert failed.code == 1
    assert f"{gone}:2501" in failed.sentence
    assert failed.records[0] == {"id": "group 0 copy 0", "removed": True}
    assert len(failed.records) == 2_000


def test_fingerprints_before_an_empty_text_are_printed(cli):
    failed = cli("fingerprint", "--analyzer", "shingle", "--text", text(1), "--text", "…")

    assert failed.code == 1
    assert len(failed.records) == 1


def _forever(*_):
    """Yield documents; whenever there are workers, kill one, even while the next one starts."""
    for number in count():
        yield Document(str(number), None, number + 1, None, None, Place("made", number), None)
        if number % 1_000 == 0 and (workers := multiprocessing.active_children()):
            workers[0].kill()


@pytest.mark.slow
def test_a_killed_worker_is_told_from_a_fault_of_the_input():
    analysis = Analysis(Profile.resolve(analyzer="shingle"))

    with pytest.raises(WorkerLost, match="ended from outside") as raised:
        list(analyse(_forever(), analysis, workers=2))

    assert isinstance(raised.value, Retryable)
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_a_killed_worker_is_a_failure_in_a_sentence(cli, empty, corpus_file, monkeypatch):
    monkeypatch.setattr(documents, "scan", _forever)

    failed = cli("add", empty, corpus_file, "--workers", 2)

    assert failed.code == 1
    assert failed.sentence == "a worker process was ended from outside; fewer --workers need less memory"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dedup", "a.jsonl", "--threshold", "0.9"], "no such option '--threshold': perhaps --similarity; see "),
        (["query", "file:a", "--max-distance", "3"], "no such option '--max-distance': perhaps --distance; see "),
        (["create", "file:a", "--analyser", "jieba"], "no such option '--analyser': perhaps --analyzer; see "),
        (["stats", "file:a", "--threshold", "0.9"], "no such option '--threshold'; see "),
        (["dedup", "a.jsonl", "--resluts", "r"], "no such option '--resluts': perhaps --results; see "),
        (["deduplicate", "a.jsonl"], "no such command 'deduplicate': perhaps dedup; see "),
        (["search", "file:a"], "no such command 'search': perhaps query; see "),
        (["verfy", "file:a"], "no such command 'verfy': perhaps verify; see "),
        (["nonsense", "file:a"], "no such command 'nonsense'; see "),
    ],
)
def test_an_unknown_word_gets_a_suggestion_by_its_meaning(cli, words, said):
    done = cli(*words)

    assert done.usage_error.startswith(said)
