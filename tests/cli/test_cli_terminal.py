"""Commands on a real terminal: a bar, colours or none, Ctrl-C; and the figures that bars and lines show."""

import json
import re
import sys

import pytest
from support.corpus import text, write_jsonl
from support.terminal import Terminal, on_terminal, terminal_as_stderr, without_styles

from simhash_hbase.cli.screen.output import WINDOW_S, Pace, ProgressLines
from simhash_hbase.errors import StoreUnavailable

STARTING = "starting …\r\x1b[K"
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*[349][0-9]")


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


@pytest.mark.slow
def test_every_long_command_shows_a_bar_beside_its_results(on_screen, tmp_path, corpus_file):
    url, loaded = f"file:{tmp_path / 'a.index'}", f"file:{tmp_path / 'b.index'}"
    ids = tmp_path / "ids.txt"
    ids.write_text("".join(f"group {i} copy 0\n" for i in range(3)))
    commands = [
        ("learn the idf", ["create", url, "--learn-from", corpus_file]),
        ("add", ["add", url, corpus_file]),
        ("query", ["query", url, corpus_file]),
        ("fingerprint", ["fingerprint", corpus_file, "--analyzer", "shingle"]),
        ("dedup", ["dedup", url, corpus_file, "--dry-run"]),
        ("dedup: decide", ["dedup", url, corpus_file, "--keep", "longest"]),
        ("export", ["export", url]),
        ("stats", ["stats", url, "--exact"]),
        ("verify", ["verify", url]),
        ("remove", ["remove", url, "--from", ids]),
        ("vacuum", ["vacuum", url]),
        ("", ["create", loaded, "--analyzer", "shingle"]),
        ("load: write", ["load", loaded, corpus_file, "--work", tmp_path / "work"]),
    ]
    for name, words in commands:
        done, shown = on_screen(*words)

        assert done.code == 0, shown
        assert done.records or words[0] == "add"
        assert re.search(rf"{name} ━", without_styles(shown)) if name else shown == STARTING


@pytest.mark.slow
def test_a_bar_that_tells_share_and_rate_is_gone_in_the_end(on_screen, empty, big):
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
        (["get", "nobody"], "simhash-hbase: the index does not hold a document of the id 'nobody'"),
        (["query"], "simhash-hbase: nothing to look for"),
        (["query", "--debug"], "Traceback"),
        (["explain", "group 0 copy 0", "group 1 copy 0", "--format", "table"], ""),
    ],
)
def test_a_word_is_on_the_terminal_before_anything_else(filled, words, first):
    _, shown = on_terminal(words[0], filled, *words[1:])

    assert shown.startswith(STARTING)
    assert without_styles(shown.removeprefix(STARTING)).lstrip().startswith(first)


@pytest.mark.slow
def test_the_word_on_the_terminal_waits_for_no_library(filled, corpus_file):
    _, shown = on_terminal("query", filled, corpus_file, env={"PYTHONPROFILEIMPORTTIME": "1"})

    assert shown.index("click.core") < shown.index("starting …") < shown.index("numpy")


def java_starts(_):
    sys.stderr.write("WARNING: of Java's own")
    raise StoreUnavailable("Spark: gone")


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "case",
    [
        ("spark dedup FILE", "simhash_hbase.spark.session", java_starts, r"spark dedup: start …\s+WARNING"),
        ("dedup -", "shutil.copyfileobj", lambda *_: sys.stderr.write("typed"), "typed"),
        ("claim -", "shutil.copyfileobj", lambda *_: sys.stderr.write("typed"), "typed"),
        ("dedup FILE", "simhash_hbase.inputs.total_bytes", interrupt, "\r\nsimhash-hbase: interrupted"),
    ],
)
def test_the_word_on_the_terminal_is_gone_before_anybody_else_says_anything(cli, monkeypatch, corpus_file, case):
    line, patched, speak, said = case
    monkeypatch.setattr(patched, speak)

    with terminal_as_stderr(monkeypatch) as shown:
        cli(*line.replace("FILE", str(corpus_file)).split())

    assert re.match(re.escape(STARTING) + said, shown[0])


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_lines(filled, corpus_file):
    _, shown = on_terminal("add", filled, corpus_file, env={"TERM": "dumb"})

    assert "\x1b" not in shown
    assert shown.startswith("add: 60 documents")


def test_quiet_shows_nothing_on_a_terminal(on_screen, filled, corpus_file):
    assert on_screen("add", filled, corpus_file, "--quiet")[1] == ""


def test_no_color_leaves_no_colour_on_a_terminal(on_screen, filled, corpus_file):
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


class Ticking:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def ticking():
    return Ticking()


@pytest.mark.parametrize(
    ("total", "noun", "before", "after", "said"),
    [
        (1_000.0, "documents", 0, (10, 5_000, 250.0), "25%, 5,000 documents, 500 a second, 0:00:30 left"),
        # No time is claimed before anything was done, or so soon.
        (1_000.0, "ids", 0, (0, 0, 0.0), "0%, 0 ids"),
        (1_000.0, "ids", 0, (0.5, 10, 500.0), "50%, 10 ids, 20 a second"),
        (None, "documents", 0, (10, 5_000, 250.0), "5,000 documents, 500 a second"),
        # What an earlier run did does not count for the rate.
        (None, "documents", 1_000_000, (10, 1_000_100, 0.0), "1,000,100 documents, 10 a second"),
        (None, "tasks", 0, (20, 1, None), "1 task, 0.05 a second"),
    ],
)
def test_share_rate_and_time_left_are_told(ticking, total, noun, before, after, said):
    pace = Pace(total, noun, count=before, clock=ticking)

    ticking.now, *done = after
    pace.add(*done)

    assert pace.said() == said


def test_the_last_of_several_counts_at_a_time_is_told(ticking):
    pace = Pace(None, "documents", clock=ticking)

    for count in (1, 2, 3):
        pace.add(count, None)

    assert pace.said() == "3 documents"


def test_the_rate_is_that_of_the_last_half_minute(ticking):
    pace = Pace(10_000.0, "documents", clock=ticking)
    for second in range(1, 1_001):
        ticking.now = second
        pace.add(100 * second if second <= 500 else 50_000 + (second - 500), float(second))

    assert pace.rate() == pytest.approx(1)
    assert pace.left_s() == pytest.approx(9_000)
    assert len(pace._seen) <= 2 * WINDOW_S / 0.1 + 3


def test_the_time_left_is_by_the_mean_rate_also_after_a_minute_in_which_nothing_was_done(ticking):
    pace = Pace(1_000.0, "documents", clock=ticking)
    for ticking.now, done in ((50, 100), (100, 200), (160, 200), (161, 201)):
        pace.add(done, float(done))

    assert pace.left_s() == pytest.approx(799 * 161 / 201)


def test_what_an_earlier_run_did_does_not_count_for_the_time_left(ticking):
    pace = Pace(1_000.0, "documents", count=500, clock=ticking)
    for ticking.now, done in ((1, 500), (11, 600)):
        pace.add(done, float(done))

    assert pace.left_s() == pytest.approx(40)


@pytest.mark.parametrize("how", [{}, {"every_s": 30}])
def test_a_line_is_said_once_a_minute_or_as_often_as_a_command_says(ticking, how):
    said, every = [], how.get("every_s", 60)
    lines = ProgressLines("add", Pace(600.0, "documents", clock=ticking), said.append, clock=ticking, **how)
    for second in range(30, 301, 15):
        ticking.now = second
        lines.show(second * 10, float(second))

    assert said == [
        f"add: {s / 600:.0%}, {10 * s:,} documents, 10 a second, 0:{(600 - s) // 60:02}:{(600 - s) % 60:02} left"
        for s in range(every, 301, every)
    ]


@pytest.mark.parametrize(("share", "wanted"), [(0.04, ["verify: 4%, 2,000 cells"]), (0.05, []), (1.0, [])])
def test_a_long_walk_is_told_of_after_its_first_page(ticking, share, wanted):
    said = []
    lines = ProgressLines("verify", Pace(1.0, "cells", clock=ticking), said.append, clock=ticking, unit="share")

    lines.show(2_000, share)
    lines.show(4_000, share)

    assert said == wanted


@pytest.mark.parametrize("operation", ["verify", "vacuum", "stats", "export"])
def test_a_walk_through_an_index_tells_how_far_it_is(make_memory_index, operation, monkeypatch):
    for module in ("vacuum", "verification", "stats", "walk"):
        monkeypatch.setattr(f"simhash_hbase.index.upkeep.{module}.PAGE", 20)
    index = make_memory_index(analyzer="shingle")
    list(index.add_many((f"document {i}", f"words of document {i} and of nothing else") for i in range(100)))
    told = []

    walk = getattr(index, operation)(watch=lambda count, share: told.append((count, share)))
    if operation == "export":
        assert len(list(walk)) == 100

    counts, shares = zip(*told, strict=True)
    assert (list(counts), list(shares)) == (sorted(counts), sorted(shares))
    assert counts[-1] == (200 if operation == "export" else 1_200)
    assert 0 < shares[0] < 0.3
    assert 0.8 < shares[-1] <= 1
    assert len(set(shares)) >= 10
