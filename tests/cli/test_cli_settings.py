"""Options from variables and a settings file, an error that says where a bad one was set, tables, and silence."""

import pytest
from support.corpus import text, write_jsonl

from simhash_hbase.cli.exits import with_sources
from simhash_hbase.cli.help import CONFIG, Command, Option
from simhash_hbase.errors import InvalidArgument, InvalidInput, InvalidProfile, StoreTimeout


@pytest.fixture
def config(tmp_path):
    return tmp_path / "settings.toml"


@pytest.fixture
def file(tmp_path):
    return write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": text(1), "src": "web", "lang": "zh"}])


@pytest.fixture
def empty_and_file(empty, file):
    return empty, file


def test_the_version_is_printed(cli):
    version, kernel = cli("--version").out.decode().split(", ")[1:3]

    assert version.removeprefix("version ").count(".") == 2
    assert kernel.split()[:2] in (["kernel", "compiled"], ["kernel", "interpreted"])


@pytest.mark.parametrize(
    "line",
    ["query", "add file:x", "--no-such-option", "explain one", "explain a b c", "claim a --deadline 0", "plan",
     *(f"plan --documents {number}" for number in ("many", "0", "-3", "5 --scheme 5x5", "1e999", "9999^999", "1e20"))],
)  # fmt: skip
def test_wrong_usage_ends_with_two(cli, line):
    refused = cli(*line.split())

    assert (refused.code, refused.out) == (2, b"")
    assert "Traceback" not in refused.err


def test_options_may_come_from_a_file_a_variable_and_the_command_line_in_this_order(cli, config, tmp_path, monkeypatch):
    config.write_text('analyzer = "shingle"\nquiet = true\nmax_members = 7\nscheme = "5x2"\n[create]\nscheme = "6x3"\n')

    made = [cli("--config", config, "create", f"file:{tmp_path / 'a'}").record]
    monkeypatch.setenv("SIMHASH_HBASE_CONFIG", str(config))
    monkeypatch.setenv("SIMHASH_HBASE_MAX_MEMBERS", "8")
    monkeypatch.setenv("SIMHASH_HBASE_BINARY", "1")
    made.append(cli("create", f"file:{tmp_path / 'b'}").record)
    made.append(cli("create", f"file:{tmp_path / 'c'}", "--max-members", "9", "--scheme", "4x1").record)

    assert [(of["scheme"], of["max_members"], of["binary"]) for of in made] == [
        ("6x3", 7, False), ("6x3", 8, True), ("4x1", 9, True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no_such_option = 1", "{}: 'no_such_option' is neither an option nor a command"),
        (b"[no_such_command]\nquiet = true", "{}: 'no_such_command' is neither an option nor a command"),
        (b"[stats]\nscheme = '5x2'", "{}: command stats has no option 'scheme'"),
        (b"a = = b", "{} is not TOML: "),
        (b'quiet = true\nencoding = "\xff"\n', "{} is not UTF-8 from its byte 26 on, as TOML has to be"),
        (None, "{} cannot be read: No such file or directory"),
        (b"workers = true", "{}: workers is true: wanted a whole number from 1 up"),
        (b"workers = 2.5", "{}: workers is 2.5: wanted a whole number from 1 up"),
        (b"[add]\nquiet = 3", "{}: quiet is 3: wanted true or false"),
        (b"rejects = true", "{}: rejects is true: wanted a text in quotes"),
        (b"metadata-field = [1]", "{}: metadata_field is 1: wanted a text in quotes, or a list of them"),
        (b"[query]\nsimilarity = true", "{}: similarity is true: wanted a number from 0 to 1"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_place(cli, empty, config, file, content, message):
    if content is not None:
        config.write_bytes(content)

    refused = cli("--config", config, "add", empty, file)

    assert refused.usage_error.startswith(message.format(config))


def test_a_repeatable_option_may_come_from_a_variable_or_a_file(cli, empty, file, config, monkeypatch):
    def kept(*words):
        assert cli(*words, "add", empty, file).code == 0
        return list(cli("get", empty, "a").record["metadata"])

    for content, fields in (('"src"', ["src"]), ('["src", "lang"]', ["src", "lang"])):
        config.write_text(f"metadata-field = {content}")
        assert kept("--config", config) == fields
    for value in ("lang", "src lang"):
        monkeypatch.setenv("SIMHASH_HBASE_METADATA_FIELD", value)
        assert kept() == value.split()


def test_debug_of_a_word_a_variable_or_a_file_shows_a_traceback(cli, config, tmp_path, monkeypatch):
    missing = f"file:{tmp_path / 'missing'}"
    config.write_text("debug = true")

    words = (["--config", config, "stats", missing], ["stats", missing, "--debug"], ["stats", missing])
    ended = [cli(*each) for each in words]
    monkeypatch.setenv("SIMHASH_HBASE_DEBUG", "1")
    ended.append(cli("stats", missing))

    assert {done.code for done in ended} == {1}
    assert ["Traceback" in done.err for done in ended] == [True, True, False, True]
    assert all(done.err.splitlines()[-1].startswith("simhash-hbase: ") for done in ended)


def test_every_command_prints_a_table_or_json_lines(cli, filled, corpus_file):
    commands = {
        "add": [filled, corpus_file, "--verbose"],
        "query": [filled, "--id", "group 0 copy 0"],
        "get": [filled, "group 0 copy 0"],
        "dedup": [filled, corpus_file],
        "claim": [filled, corpus_file],
        "fingerprint": [corpus_file, "--analyzer", "shingle"],
        "explain": [filled, "group 0 copy 0", "group 0 copy 1"],
        "plan": ["--documents", "10"],
        "remove": [filled, "group 0 copy 0"],
        **{name: [filled] for name in ("export", "stats", "verify", "vacuum")},
    }
    for name, words in commands.items():
        printed = cli(name, *words, "--format", "json", "--quiet")
        shown = cli(name, *words, "--format", "table")

        assert (printed.code, printed.err, shown.code) == (0, "", 0), name
        assert {type(record) for record in printed.records} == {dict}, name
        assert ("┃" if name != "explain" else "block 1") in shown.out.decode(), name


@pytest.mark.parametrize(
    ("key", "value"), [("workers", "many"), ("encoding", "klingon")], ids=["a number", "what click cannot check"]
)
def test_a_bad_value_names_the_variable_or_the_file_and_key_that_it_is_from(cli, config, monkeypatch, key, value):
    config.write_text(f'{key} = "{value}"')
    add = ("add", "memory:", "-")

    of_words = cli(*add, f"--{key}", value).usage_error
    of_file = cli("--config", config, *add).usage_error
    monkeypatch.setenv(f"SIMHASH_HBASE_{key.upper()}", value)
    of_variable = cli(*add).usage_error

    assert str(config) in of_file
    assert key in of_file
    assert f"variable SIMHASH_HBASE_{key.upper()}" in of_variable
    assert "set by" not in of_words
    assert all(value in sentence for sentence in (of_words, of_file, of_variable))


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("dedup {0} {1}", "--seed and --no-sketch and --agree"),
        ("explain {0} one other", "--binary and --seed"),
        ("fingerprint --profile-of {0} {1}", "--binary and --seed"),
    ],
    ids=["dedup", "explain", "fingerprint"],
)
def test_options_of_the_profile_that_an_index_has_are_named(cli, empty_and_file, config, monkeypatch, words, options):
    monkeypatch.setenv("SIMHASH_HBASE_AGREE", "site")
    monkeypatch.setenv("SIMHASH_HBASE_SEED", "7")
    config.write_text("[dedup]\nno_sketch = true\n[explain]\nbinary = true\n[fingerprint]\nbinary = true\n")

    sentence = cli("--config", config, *words.format(*empty_and_file).split()).usage_error

    assert f"leave out {options}" in sentence
    assert "variable SIMHASH_HBASE_SEED" in sentence
    assert str(config) in sentence


@pytest.mark.parametrize(
    ("name", "value", "error", "is_named"),
    [
        ("by", "site", InvalidInput("nearby.jsonl is sorted by site2"), False),
        ("cut", 9, InvalidInput("the page's brotli data is damaged or cut off"), False),
        ("format", "csv", InvalidInput("a.jsonl: the format has no field 'score'"), False),
        ("format", "csv", InvalidArgument("the format of 'a' is unknown", parameter="format"), True),
        ("encoding", "big5", InvalidInput("the word big52 is unknown"), False),
        ("encoding", "klingon", InvalidInput("a.txt is not of encoding klingon"), True),
        ("rejects", "out", InvalidArgument("--rejects and --report are one file"), True),
        ("lease_s", 9, InvalidProfile("lease_s is 9: wanted more than 10"), True),
        ("lease_s", 9, StoreTimeout("the claim had a lease_s of 10"), False),
        ("limit", 0, InvalidArgument("0 is below 1", parameter="limit"), True),
        ("distance", 0, InvalidArgument("0 is below 1", parameter="limit"), False),
    ],
)
def test_an_error_names_the_place_of_a_setting_that_it_is_about(name, value, error, is_named):
    command = Command("add", params=[Option([f"--{name.removesuffix('_s')}", name])])
    with command.make_context("add", [], default_map={name: value}) as context:
        context.meta[CONFIG] = "settings.toml"
        sentence = with_sources(str(error), error, context)

    key = name.removesuffix("_s")
    assert sentence == (f"{error} (set by {key} in settings.toml)" if is_named else str(error))


@pytest.mark.parametrize(
    "words",
    [
        ("create {0} --analyzer shingle", "scheme", "9z"),
        ("plan --documents 10", "scheme", "9z"),
        ("create {0} --analyzer shingle", "shingle", "65"),
        ("create {0} --analyzer shingle", "distance", "9"),
        ("create {0} --analyzer shingle --hash md5", "seed", "7"),
        ("add {1} {2}", "batch", "\t"),
        ("add {1} {2}", "collection", "\t"),
        ("query {1} {2}", "since", "9x"),
        ("dedup {1} {2}", "keep", "no"),
        ("passages {1} {2}", "at_least", "0"),
    ],
)
def test_a_refused_short_value_names_its_variable(cli, empty_and_file, tmp_path, monkeypatch, words):
    line, name, value = words
    variable = f"SIMHASH_HBASE_{name.upper()}"
    monkeypatch.setenv(variable, value)

    sentence = cli(*line.format(f"file:{tmp_path / 'new'}", *empty_and_file).split()).usage_error

    assert f"variable {variable}" in sentence


@pytest.mark.parametrize("cache", ["", "/proc/none"], ids=["without a home folder", "where not even root may write"])
def test_load_without_a_place_for_its_work_says_what_to_name(cli, empty, file, monkeypatch, cache):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setattr("pathlib.Path.home", homeless)

    refused = cli("load", empty, file)

    assert refused.usage_error.startswith(cache)
    assert "name a folder for analysed documents by --work DIR" in " ".join(refused.sentence.split())
