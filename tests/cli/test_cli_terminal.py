"""Commands on a real terminal: a bar, colours or none, Ctrl-C."""

import json
import re
import sys

import pytest
from support.corpus import text, write_jsonl
from support.terminal import Terminal, on_terminal, terminal_as_stderr, without_styles

from simhash_hbase.cli.screen.terminal import secretless
from simhash_hbase.errors import StoreUnavailable

STARTING = "starting …\r\x1b[K"
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*[34][0-9]")


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Return a file that is read in several batches."""
    documents = [{"id": f"document {i}", "text": text(i, count=60)} for i in range(5_000)]
    return write_jsonl(tmp_path_factory.mktemp("big") / "big.jsonl", documents)


@pytest.fixture
def on_screen(cli, monkeypatch):
    """Return what runs a command in this process with a terminal as its standard error."""

    def run(*words, **variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with terminal_as_stderr(monkeypatch) as shown:
            done = cli(*words)
        assert done.err == ""
        return done, shown[0]

    return run


def long_commands(tmp_path, file):
    """Name every command that may take long, in an order in which each can be run."""
    url, loaded = f"file:{tmp_path / 'a.index'}", f"file:{tmp_path / 'b.index'}"
    ids = tmp_path / "ids.txt"
    ids.write_text("".join(f"group {i} copy 0\n" for i in range(3)))
    return [
        ("learn the idf", ["create", url, "--learn-from", file]),
        ("add", ["add", url, file]),
        ("query", ["query", url, file]),
        ("fingerprint", ["fingerprint", file, "--analyzer", "shingle"]),
        ("dedup", ["dedup", url, file, "--dry-run"]),
        ("dedup: decide", ["dedup", url, file, "--keep", "longest"]),
        ("export", ["export", url]),
        ("stats", ["stats", url, "--exact"]),
        ("verify", ["verify", url]),
        ("remove", ["remove", url, "--from", ids]),
        ("vacuum", ["vacuum", url]),
        ("", ["create", loaded, "--analyzer", "shingle"]),
        ("load: write", ["load", loaded, file, "--work", tmp_path / "work"]),
    ]


@pytest.mark.slow
def test_every_long_command_shows_a_bar_and_its_results_stay_clean(on_screen, tmp_path, corpus_file):
    for name, words in long_commands(tmp_path, corpus_file):
        done, shown = on_screen(*words)

        assert done.code == 0, shown
        assert done.records or words[0] == "add"
        assert re.search(rf"{name} ━", without_styles(shown)) if name else shown == STARTING


@pytest.mark.slow
def test_a_bar_tells_share_and_rate_and_is_gone_in_the_end(on_screen, empty, big):
    done, shown = on_screen("add", empty, big, "--workers", 1)

    assert done.code == 0
    assert re.search(r"add ━+\S* \d+%, (\d,998|[1-5],000) documents, [\d,]+ a second", without_styles(shown))
    # The cursor is there again, and the bar's line empty before the summary is written.
    assert shown.count("\x1b[?25h") == shown.count("\x1b[?25l") > 0
    assert shown.rindex("\x1b[2K") > shown.rindex("%, ")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 80])
def test_a_bar_is_never_wider_than_the_terminal(filled, corpus_file, columns):
    _, shown = on_terminal("add", filled, corpus_file, columns=columns)

    bars = [line for line in re.split(r"[\r\n]+", without_styles(shown)) if "━" in line]
    assert 0 < max(map(len, bars)) <= columns


@pytest.mark.slow
def test_results_on_the_same_terminal_are_whole_lines(filled, corpus_file):
    _, shown = on_terminal("query", filled, corpus_file, columns=200)

    lines = [line for line in re.split(r"[\r\n]+", without_styles(shown)) if line.startswith("{")]
    assert [json.loads(line)["query"] for line in lines] == [f"group {i} copy {j}" for i in range(20) for j in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "html"])
def test_one_result_on_the_same_terminal_stands_where_the_bar_was(filled, form):
    _, shown = on_terminal("stats", filled, "--format", form)

    before = shown[: shown.index({"table": "┏", "html": "<!DOCTYPE"}[form])]
    assert "stats ━" in without_styles(before)
    assert "━" not in before[before.rindex("\x1b[2K") :]


def test_a_pipe_gets_neither_bars_nor_colours_though_they_are_forced(cli, monkeypatch, filled, corpus_file):
    monkeypatch.setenv("FORCE_COLOR", "1")

    piped = cli("add", filled, corpus_file, "--verbose")

    assert piped.err.startswith("add: 60 documents")
    assert "\x1b" not in piped.err + piped.out.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["get", "group 0 copy 0"], '{"id":"group 0 copy 0"'),
        (["get", "group 0 copy 0", "--format", "table"], "┏"),
        (["get", "nobody"], "simhash-hbase: nobody: not in the index"),
        (["query"], "simhash-hbase: nothing to look for"),
        (["query", "--debug"], "Traceback"),
        (["explain", "group 0 copy 0", "group 1 copy 0", "--format", "table"], ""),
    ],
)
def test_a_word_is_on_the_terminal_before_anything_else_and_gone_then(filled, words, first):
    _, shown = on_terminal(words[0], filled, *words[1:])

    assert shown.startswith(STARTING)
    assert without_styles(shown.removeprefix(STARTING)).lstrip().startswith(first)


def test_the_word_on_the_terminal_is_gone_before_spark_says_anything(cli, monkeypatch, corpus_file):
    def begun(_):
        sys.stderr.write("WARNING: of Java's own")
        raise StoreUnavailable("Spark: gone")

    monkeypatch.setattr("simhash_hbase.spark.session", begun)
    with terminal_as_stderr(monkeypatch) as shown:
        cli("spark", "dedup", corpus_file)

    assert re.match(re.escape(STARTING) + r"spark dedup: start …\s+WARNING", shown[0])


@pytest.mark.parametrize("command", ["dedup", "claim"])
def test_the_word_on_the_terminal_is_gone_while_documents_are_typed(cli, monkeypatch, command):
    monkeypatch.setattr("shutil.copyfileobj", lambda *_: sys.stderr.write("typed"))

    with terminal_as_stderr(monkeypatch) as shown:
        cli(command, "-")

    assert shown[0].startswith(f"{STARTING}typed")


def test_ctrl_c_leaves_nothing_of_the_word_on_the_terminal(monkeypatch, cli, corpus_file):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("simhash_hbase.inputs.total_bytes", interrupted)
    with terminal_as_stderr(monkeypatch) as shown:
        cli("dedup", corpus_file)

    assert shown[0].startswith(f"{STARTING}\r\nsimhash-hbase: interrupted")


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_lines(filled, corpus_file):
    _, shown = on_terminal("add", filled, corpus_file, env={"TERM": "dumb"})

    assert "\x1b" not in shown
    assert shown.startswith("add: 60 documents")


def test_quiet_shows_nothing_and_no_color_leaves_no_colour_on_a_terminal(on_screen, filled, corpus_file):
    assert on_screen("add", filled, corpus_file, "--quiet")[1] == ""
    assert COLOUR.search(on_screen("add", filled, corpus_file)[1])
    assert not COLOUR.search(on_screen("add", filled, corpus_file, NO_COLOR="1")[1])


@pytest.mark.slow
def test_ctrl_c_on_the_keyboard_ends_cleanly_while_workers_start(cli, empty, tmp_path):
    # The first, short chunks come to 998 documents.
    # So many that the command cannot end before the key is typed, however long this process is kept waiting.
    texts = [text(i, count=60) for i in range(500)]
    documents = [{"id": f"document {i}", "text": texts[i % 500]} for i in range(60_000)]
    many = write_jsonl(tmp_path / "many.jsonl", documents)
    with (tmp_path / "out").open("wb") as out:
        terminal = Terminal("add", empty, many, "--workers", 2, "--verbose", out=out)
        terminal.read_until(r"998 documents, ")
        terminal.type("\x03")
        code, shown = terminal.finish()

    assert code == 130
    assert "Traceback" not in shown
    assert "simhash-hbase: interrupted; what was acknowledged stays: repeat the command" in without_styles(shown)
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    acknowledged = {json.loads(line)["id"] for line in (tmp_path / "out").read_bytes().splitlines()}
    assert 998 <= len(acknowledged) < 60_000
    assert acknowledged <= {record["id"] for record in cli("export", empty).records}
    assert cli("verify", empty).code == 0


@pytest.mark.slow
def test_what_is_typed_ends_at_the_first_end_of_file():
    terminal = Terminal("dedup", "-", "--input-format", "jsonl", "--analyzer", "shingle")

    terminal.type('{"id": "typed", "text": "a line that somebody typed"}\n\x04')

    code, shown = terminal.finish()
    assert code == 0
    assert '"id":"typed","status":"original"' in shown


@pytest.mark.parametrize("scheme", ["http", "https", "hbase", "hbase+http", "HBASE+HTTPS", "redis", "rediss"])
def test_no_message_shows_the_password_of_an_address(scheme):
    assert secretless(f"see {scheme}://me:top@secret@host/x: no") == f"see {scheme}://…@host/x: no"
    assert secretless("see http://host/@x: no") == "see http://host/@x: no"
