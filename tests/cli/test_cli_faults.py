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
BAD_LINES = [
    b'{"id": "bad", "text": "never closed',
    '{"id": "bad", "text": "拖拉机学院"}'.encode("gb18030"),
    '{"id": "bad", "text": "……！？"}'.encode(),
]


@pytest.mark.parametrize("command", ["add", "claim", "dedup", "query", "fingerprint"])
def test_bad_lines_are_refused_with_their_places_and_the_rest_goes_on(cli, filled, tmp_path, command):
    file, rejects = tmp_path / "a.jsonl", tmp_path / "rejects.jsonl"
    file.write_bytes(b"\n".join([GOOD.replace(b"good", b"first"), *BAD_LINES * 300, GOOD]) + b"\n")
    words = ["--analyzer", "shingle"] if command == "fingerprint" else [filled]
    verbose = ["--verbose"] if command == "add" else []

    done = cli(command, *words, file, *verbose, "--rejects", rejects)

    assert done.code == 3
    assert [record.get("id", record.get("query")) for record in done.records] == ["first", "good"]
    assert [f"{file}:{line}: refused: " in done.err for line in (2, 3, 4)] == [True] * 3
    assert len(done.err.splitlines()) < 30
    assert "900 refused" in done.err
    kept = [json.loads(line) for line in rejects.read_text(encoding="utf-8").splitlines()]
    assert [(record["file"], record["line"]) for record in kept] == [(str(file), line) for line in range(2, 902)]
    assert all(record["reason"] for record in kept)


@pytest.mark.parametrize("command", ["add", "dedup", "query", "fingerprint", "remove"])
def test_a_missing_file_is_a_failure_before_anything_is_done(cli, filled, corpus_file, command):
    words = {"fingerprint": [corpus_file], "remove": [filled, "--from"]}.get(command, [filled, corpus_file])

    assert "no such file.jsonl" in cli(command, *words, "no such file.jsonl").failure


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--distance", "x"), "--distance is 'x': wanted a whole number from 0 to 64"),
        (("--similarity", "much"), "--similarity is 'much': wanted a number from 0 to 1"),
        (("--limit", "0"), "--limit is '0': wanted a whole number from 1 up"),
        (("--limit",), "option '--limit' requires an argument"),
    ],
)
def test_wrong_usage_is_one_sentence_in_the_style_of_all_errors(cli, empty, words, sentence):
    refused = cli("query", empty, *words)

    assert refused.usage_error.startswith(sentence)
    assert refused.sentence.endswith("; see simhash-hbase query --help")


@pytest.mark.parametrize("format_", ["json", "table"])
def test_answers_before_an_unknown_id_or_an_empty_text_are_printed(cli, filled, format_):
    unknown = cli("query", filled, "--id", "group 0 copy 0", "--id", "nobody", "--format", format_)
    empty = cli("fingerprint", "--analyzer", "shingle", "--text", text(1), "--text", "…", "--format", format_)

    assert (unknown.code, empty.code) == (1, 1)
    assert b"group 0 copy 1" in unknown.out
    assert "nobody" in unknown.sentence
    assert b"text" in empty.out


def test_removals_before_a_bad_line_are_printed(cli, filled, tmp_path):
    gone = tmp_path / "gone"
    gone.write_bytes(b"group 0 copy 0\n" + b"".join(b"nobody %d\n" % i for i in range(2_499)) + b"\xff\n")

    failed = cli("remove", filled, "--from", gone)

    assert (failed.code, len(failed.records)) == (1, 2_000)
    assert f"{gone}:2501" in failed.sentence
    assert failed.records[0] == {"id": "group 0 copy 0", "removed": True}


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

    assert failed.failure == "a worker process was ended from outside; fewer --workers need less memory"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("dedup --threshold 0.9", "no such option '--threshold': perhaps --similarity; see "),
        ("create --analyser jieba", "no such option '--analyser': perhaps --analyzer; see "),
        ("stats --threshold 0.9", "no such option '--threshold'; see "),
        ("dedup --resluts r", "no such option '--resluts': perhaps --results; see "),
        ("deduplicate", "no such command 'deduplicate': perhaps dedup; see "),
        ("search", "no such command 'search': perhaps query; see "),
        ("verfy", "no such command 'verfy': perhaps verify; see "),
        ("nonsense", "no such command 'nonsense'; see "),
    ],
)
def test_an_unknown_word_gets_a_suggestion_by_its_meaning(cli, words, said):
    assert cli(*words.split()).usage_error.startswith(said)
