"""Standard streams that are closed, full, or cannot write every character."""

import subprocess

import pytest
from support.corpus import text
from support.patience import END_S
from support.results import Result, command, run

HAN = "今天我们学习如何使用这个工具来找到重复的文档，这是非常有意思的事情。"


def in_shell(folder, redirection, *words):
    """Run a command with streams as a shell opens or closes them."""
    script = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command(*words)]
    done = subprocess.run(script, cwd=folder, capture_output=True, timeout=END_S, check=False)
    return Result(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("fingerprint", "--analyzer", "shingle", "--text", HAN),
        ("fingerprint", "--analyzer", "shingle", "--text", HAN, "--format", "table"),
        ("--help",),
        ("completion", "bash"),
    ],
)
@pytest.mark.parametrize(
    ("redirection", "reason"), [(">&-", "it is closed"), (">/dev/full", "no space left on device")]
)
def test_an_output_that_takes_nothing_is_a_sentence(tmp_path, words, redirection, reason):
    done = in_shell(tmp_path, redirection, *words)

    assert (done.code, done.sentence) == (1, f"standard output: {reason}")


@pytest.mark.slow
def test_a_closed_standard_output_is_no_failure_where_nothing_is_printed(tmp_path):
    (tmp_path / "a.jsonl").write_text(f'{{"id": "a", "text": "{text(1)}"}}\n')
    words = ("dedup", "file:i", "a.jsonl", "--create", "--analyzer", "shingle", "--results", "out", "--quiet")

    done = in_shell(tmp_path, ">&-", *words)

    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "out").read_text().count("\n") == 1


@pytest.mark.slow
def test_a_closed_standard_input_is_a_sentence_or_a_refusal(tmp_path):
    copied = in_shell(tmp_path, "<&-", "dedup", "-", "--quiet")
    read = in_shell(tmp_path, "<&-", "fingerprint", "--analyzer", "shingle", "-")

    assert copied.failure == "standard input: it is closed"
    assert read.code == 3
    assert "standard input: refused: reading stopped" in read.err


@pytest.mark.slow
def test_a_closed_standard_error_loses_messages_and_no_index_gets_its_number(cli, tmp_path):
    url = f"file:{tmp_path / 'i'}"
    cli("create", url, "--analyzer", "shingle")
    (tmp_path / "a.jsonl").write_text(f'{{"id": "a", "text": "{text(1)}"}}\n{{}}\n')

    done = in_shell(tmp_path, "2>&- >&- <&-", "add", url, "a.jsonl")

    assert done.code == 3
    assert cli("verify", url).record["documents"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_characters_that_an_output_cannot_write_are_written_out(tmp_path, encoding):
    env = {"LC_ALL": "C", "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    words = ("--analyzer", "shingle", "--format", "table")
    (tmp_path / "a.jsonl").write_text(f'{{"id": "汉", "text": "{HAN}"}}\n', encoding="utf-8")

    table = run("fingerprint", "a.jsonl", *words, env=env, cwd=tmp_path)
    pulls = run("explain", HAN, HAN.replace("今天", "昨日"), *words, env=env, cwd=tmp_path)
    shown_help = run("fingerprint", "--help", env=env, cwd=tmp_path)
    lines = run("fingerprint", "a.jsonl", "--analyzer", "shingle", env=env, cwd=tmp_path)

    assert [done.code for done in (table, pulls, shown_help, lines)] == [0, 0, 0, 0]
    assert rb"\u6c49" in table.out
    assert rb"\u4eca" in pulls.out
    assert b"Usage: simhash-hbase fingerprint" in shown_help.out
    # Results are UTF-8 wherever they go.
    assert lines.record["id"] == "汉"


def test_a_message_that_standard_error_cannot_write_is_written_out(tmp_path):
    done = run("get", f"file:{tmp_path / '汉'}", "a", env={"PYTHONIOENCODING": "latin-1"})

    assert done.code == 1
    assert r"\u6c49" in done.sentence
