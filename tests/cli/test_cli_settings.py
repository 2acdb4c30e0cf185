"""Options from the environment and a file, tables for people, and silence."""

import io
import json
import sys

import pytest
from support.corpus import text, write_jsonl

from simhash_hbase.cli.app import COMMANDS

WANTED = ("create", "add", "dedup", "query", "remove", "get", "export", "backup", "stats", "verify", "vacuum",
          "fingerprint", "explain", "plan")  # fmt: skip


def test_every_command_of_this_version_is_there():
    assert set(WANTED) <= set(COMMANDS)


def test_the_version_is_printed(cli):
    version, kernel = cli("--version").out.decode().split(", ")[1:3]

    assert version.removeprefix("version ").count(".") == 2
    assert kernel.split()[:2] in (["kernel", "compiled"], ["kernel", "interpreted"])


@pytest.mark.parametrize("words", [["no-such-command"], ["query"], ["add", "file:x"], ["--no-such-option"]])
def test_wrong_usage_ends_with_two(cli, words):
    refused = cli(*words)

    assert (refused.code, refused.out) == (2, b"")
    assert "Traceback" not in refused.err


def test_options_may_come_from_variables_and_the_command_line_wins(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("SIMHASH_HBASE_ANALYZER", "shingle")
    monkeypatch.setenv("SIMHASH_HBASE_SCHEME", "6x3")
    monkeypatch.setenv("SIMHASH_HBASE_BINARY", "1")

    of_variables = cli("create", f"file:{tmp_path / 'a'}").record
    of_words = cli("create", f"file:{tmp_path / 'b'}", "--scheme", "4x1").record

    assert (of_variables["analyzer"], of_variables["scheme"], of_variables["binary"]) == ("shingle", "6x3", True)
    assert (of_words["analyzer"], of_words["scheme"]) == ("shingle", "4x1")


def test_options_may_come_from_a_file(cli, tmp_path, monkeypatch):
    config = tmp_path / "settings.toml"
    config.write_text('analyzer = "shingle"\nquiet = true\n[create]\nscheme = "6x3"\nmax-members = 9\n')

    made = cli("--config", config, "create", f"file:{tmp_path / 'a'}").record
    monkeypatch.setenv("SIMHASH_HBASE_CONFIG", str(config))
    monkeypatch.setenv("SIMHASH_HBASE_MAX_MEMBERS", "8")
    by_variable = cli("create", f"file:{tmp_path / 'b'}").record

    assert (made["analyzer"], made["scheme"], made["max_members"]) == ("shingle", "6x3", 9)
    assert (by_variable["analyzer"], by_variable["scheme"]) == ("shingle", "6x3")


def test_a_setting_that_no_command_has_is_refused(cli, tmp_path):
    config = tmp_path / "settings.toml"
    for content in ("no_such_option = 1", "[no_such_command]\nquiet = true", "[stats]\nscheme = '5x2'", "a = = b"):
        config.write_text(content)
        refused = cli("--config", config, "create", f"file:{tmp_path / 'a'}")
        assert (refused.code, refused.out) == (2, b"")
        assert str(config) in refused.sentence

    assert cli("--config", tmp_path / "missing.toml", "plan", "--documents", 5).code == 2


def test_a_repeatable_option_may_come_from_a_variable_or_a_file(cli, empty, tmp_path, monkeypatch):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": text(1), "src": "web", "lang": "zh"}])
    config = tmp_path / "settings.toml"
    kept = []
    for content in ('metadata-field = "src"', 'metadata-field = ["src", "lang"]'):
        config.write_text(content)
        assert cli("--config", config, "add", empty, file).code == 0
        kept.append(cli("get", empty, "a").record["metadata"])
    monkeypatch.setenv("SIMHASH_HBASE_METADATA_FIELD", "lang")

    assert cli("add", empty, file).code == 0

    assert kept == [{"src": "web"}, {"src": "web", "lang": "zh"}]
    assert cli("get", empty, "a").record["metadata"] == {"lang": "zh"}


def test_debug_may_come_from_a_variable_or_a_file(cli, tmp_path, monkeypatch):
    config, missing = tmp_path / "settings.toml", f"file:{tmp_path / 'missing'}"
    config.write_text("debug = true")

    by_file = cli("--config", config, "stats", missing)
    without = cli("stats", missing)
    monkeypatch.setenv("SIMHASH_HBASE_DEBUG", "1")
    by_variable = cli("stats", missing)

    assert [done.code for done in (by_file, without, by_variable)] == [1, 1, 1]
    assert ["Traceback" in done.err for done in (by_file, without, by_variable)] == [True, False, True]


def table_commands(url, file):
    return {
        "add": [url, file, "--verbose"],
        "query": [url, "--id", "group 0 copy 0"],
        "get": [url, "group 0 copy 0"],
        "export": [url],
        "stats": [url],
        "verify": [url],
        "vacuum": [url],
        "dedup": [url, file],
        "fingerprint": [file, "--analyzer", "shingle"],
        "explain": [url, "group 0 copy 0", "group 0 copy 1"],
        "remove": [url, "group 0 copy 0"],
        "plan": ["--documents", "10"],
    }


def test_every_command_prints_a_table_for_people(cli, filled, corpus_file):
    for name, words in table_commands(filled, corpus_file).items():
        shown = cli(name, *words, "--format", "table")
        assert shown.code == 0, name
        assert ("┃" if name != "explain" else "block 1") in shown.out.decode(), name
        with pytest.raises(json.JSONDecodeError):
            json.loads(shown.out.decode().splitlines()[0])


def test_every_command_prints_json_lines_and_nothing_else(cli, filled, corpus_file):
    for name, words in table_commands(filled, corpus_file).items():
        printed = cli(name, *words, "--format", "json")
        assert printed.code == 0, name
        assert printed.records, name
        assert all(isinstance(record, dict) for record in printed.records), name


def test_quiet_silences_standard_error(cli, filled, corpus_file):
    for name, words in table_commands(filled, corpus_file).items():
        quiet = cli(name, *words, "--quiet")
        assert (quiet.code, quiet.err) == (0, ""), name


def test_quiet_changes_nothing_on_standard_output(cli, filled, corpus_file):
    loud, quiet = (cli("add", filled, corpus_file, "--verbose", *words) for words in ([], ["--quiet"]))

    assert loud.out == quiet.out
    assert loud.err
    assert not quiet.err


def test_a_failure_is_reported_although_quiet(cli, tmp_path):
    failed = cli("stats", f"file:{tmp_path / 'missing'}", "--quiet")

    assert failed.code == 1
    assert failed.sentence


def test_debug_shows_a_traceback_before_the_sentence(cli, tmp_path):
    failed = cli("stats", f"file:{tmp_path / 'missing'}", "--debug")

    assert failed.code == 1
    assert "Traceback" in failed.err
    assert failed.err.splitlines()[-1].startswith("simhash-hbase: ")


def test_standard_input_is_read_as_json_lines(cli, empty, tmp_path, monkeypatch):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": "汉", "text": text(1)}])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))

    added = cli("add", empty, "-", "--verbose")

    assert added.code == 0
    assert [record["id"] for record in added.records] == ["汉"]


def test_output_is_utf_8_whatever_the_text(cli, empty, tmp_path):
    name = '汉字 é \u2028 \U0001f600 \\ " \x7f'
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": name, "text": text(1)}])

    added = cli("add", empty, file, "--verbose")

    [line] = added.out.split(b"\n")[:-1]
    assert json.loads(line)["id"] == name
    assert "汉字".encode() in line


def test_order_and_content_of_answers_do_not_depend_on_the_workers(cli, filled, tmp_path):
    documents = [{"id": str(i), "text": text(i % 20, count=60, changed=i % 5)} for i in range(2_300)]
    file = write_jsonl(tmp_path / "a.jsonl", documents)

    one, two = (cli("query", filled, file, "--workers", n) for n in (1, 2))

    assert (one.code, two.code) == (0, 0)
    assert one.out == two.out
    assert [record["query"] for record in one.records] == [str(i) for i in range(2_300)]
