"""Values from variables and settings files: of the right type, and an error says where a bad one was set."""

import pytest
from support.corpus import text, write_jsonl


@pytest.fixture
def config(tmp_path):
    return tmp_path / "settings.toml"


@pytest.fixture
def file(tmp_path):
    return write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": text(1), "src": "web", "lang": "zh"}])


def test_a_settings_file_that_is_not_utf_8_is_refused(cli, config, tmp_path):
    config.write_bytes(b'quiet = true\nencoding = "\xff"\n')

    refused = cli("--config", config, "create", f"file:{tmp_path / 'a'}")

    assert refused.code == 2
    assert refused.sentence == f"{config} is not UTF-8 from its byte 26 on, as TOML has to be"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("workers = true", "workers is true: wanted a whole number from 1 up"),
        ("workers = 2.5", "workers is 2.5: wanted a whole number from 1 up"),
        ("quiet = 1", "quiet is 1: wanted true or false"),
        ("quiet = 'no'", "quiet is 'no': wanted true or false"),
        ("encoding = ['utf-8']", "encoding is ['utf-8']: wanted a text in quotes"),
        ("metadata-field = [1]", "metadata_field is 1: wanted a text in quotes, or a list of them"),
        ("[add]\nid-field = 5", "id_field is 5: wanted a text in quotes"),
        ("[query]\nsimilarity = true", "similarity is true: wanted a number from 0 to 1"),
    ],
)
def test_a_value_of_another_type_is_refused_and_its_place_named(cli, empty, config, file, content, message):
    config.write_text(content)

    refused = cli("--config", config, "add", empty, file)

    assert (refused.code, refused.sentence) == (2, f"{config}: {message}")


def test_a_bad_value_names_the_variable_or_the_file_and_key_that_it_is_from(cli, config, tmp_path, monkeypatch):
    config.write_text('distance = 99\n[create]\nanalyzer = "none"\n')
    url = f"file:{tmp_path / 'i'}"

    of_file = cli("--config", config, "create", url)
    with monkeypatch.context() as patch:
        patch.setenv("SIMHASH_HBASE_MAX_MEMBERS", "many")
        of_variable = cli("create", url)
    of_words = cli("create", url, "--distance", "99")

    assert (of_file.code, of_variable.code, of_words.code) == (2, 2, 2)
    assert f"analyzer in {config}" in of_file.err
    assert "variable SIMHASH_HBASE_MAX_MEMBERS" in of_variable.err
    assert "--distance is '99'" in of_words.err


def test_what_click_cannot_check_names_its_source_too(cli, empty, config, file, tmp_path, monkeypatch):
    config.write_text('encoding = "klingon"\n')

    of_file = cli("--config", config, "add", empty, file)
    monkeypatch.setenv("SIMHASH_HBASE_SCHEME", "9z")
    of_variable = cli("create", f"file:{tmp_path / 'i'}")
    of_words = cli("add", empty, file, "--encoding", "klingon")

    assert (of_file.code, of_variable.code, of_words.code) == (2, 2, 2)
    assert "klingon" in of_file.sentence
    assert of_file.sentence.endswith(f"(set by encoding in {config})")
    assert of_variable.sentence.endswith("(set by variable SIMHASH_HBASE_SCHEME)")
    assert "klingon" in of_words.sentence
    assert "set by" not in of_words.sentence


def test_a_variable_of_a_repeatable_option_may_have_several_words(cli, empty, file, monkeypatch):
    monkeypatch.setenv("SIMHASH_HBASE_METADATA_FIELD", "src lang")

    assert cli("add", empty, file).code == 0

    assert cli("get", empty, "a").record["metadata"] == {"src": "web", "lang": "zh"}


def test_a_file_wins_over_nothing_a_variable_over_the_file_and_the_command_line_over_both(
    cli, config, tmp_path, monkeypatch
):
    config.write_text("max_members = 7\n")
    made = [cli("--config", config, "create", f"file:{tmp_path / 'a'}").record]
    monkeypatch.setenv("SIMHASH_HBASE_MAX_MEMBERS", "8")
    made.append(cli("--config", config, "create", f"file:{tmp_path / 'b'}").record)
    made.append(cli("--config", config, "create", f"file:{tmp_path / 'c'}", "--max-members", "9").record)

    assert [record["max_members"] for record in made] == [7, 8, 9]


def test_load_without_a_home_folder_says_what_to_name(cli, empty, file, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)

    refused = cli("load", empty, file)

    assert refused.code == 2
    assert "--work DIR" in refused.sentence


def test_load_into_a_home_folder_that_cannot_be_written_says_what_to_name(cli, empty, file, monkeypatch):
    # Root may write everywhere but here.
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")

    refused = cli("load", empty, file)

    assert refused.code == 2
    assert refused.sentence.startswith("/proc/none")
    assert refused.sentence.endswith(": name a folder for analysed documents by --work DIR")
