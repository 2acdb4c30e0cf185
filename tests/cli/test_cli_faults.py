"""Bad files of every kind are refused in a sentence, and nothing stored is harmed."""

import bz2
import gzip
import json
import lzma
import multiprocessing
import os
from itertools import count

import click
import pytest
import zstandard
from support.corpus import text, write_jsonl

from simhash_hbase.cli import app
from simhash_hbase.corpus import documents
from simhash_hbase.inputs import Document, Place

GOOD = json.dumps({"id": "good", "text": text(99)}).encode()
BAD_LINES = [
    b'{"id": "bad", "text": "never closed',
    '{"id": "bad", "text": "拖拉机学院"}'.encode("gb18030"),
    '{"id": "bad", "text": "……！？"}'.encode(),
]


@pytest.mark.parametrize("command", ["add", "claim", "dedup", "query", "fingerprint"])
def test_bad_lines_are_refused_with_their_places(cli, filled, tmp_path, command):
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
def test_a_killed_worker_is_a_failure_in_a_sentence(cli, empty, corpus_file, monkeypatch):
    monkeypatch.setattr(documents, "scan", _forever)

    failed = cli("add", empty, corpus_file, "--workers", 2)

    assert failed.failure == "a worker process was ended from outside; fewer --workers need less memory"
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("query file:a --distance x", "--distance is 'x': wanted a whole number from 0 to 64"),
        ("query file:a --similarity much", "--similarity is 'much': wanted a number from 0 to 1"),
        ("query file:a --limit 0", "--limit is '0': wanted a whole number from 1 up"),
        ("query file:a --limit", "option '--limit' requires an argument"),
        ("dedup --threshold 0.9", "no such option '--threshold': perhaps --similarity"),
        ("create --analyser jieba", "no such option '--analyser': perhaps --analyzer"),
        ("stats --threshold 0.9", "no such option '--threshold'; see simhash-hbase stats --help"),
        ("dedup --resluts r", "no such option '--resluts': perhaps --results"),
        ("deduplicate", "no such command 'deduplicate': perhaps dedup"),
        ("search", "no such command 'search': perhaps query"),
        ("verfy", "no such command 'verfy': perhaps verify"),
        ("nonsense", "no such command 'nonsense'; see simhash-hbase --help"),
    ],
)
def test_wrong_usage_is_one_sentence_with_a_suggestion_by_its_meaning(cli, line, said):
    refused = cli(*line.split()).usage_error

    assert refused.startswith(said)
    assert "; see simhash-hbase" in refused


def test_fields_of_other_names_are_named_by_options(cli, empty, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "key": 17, "body": text(1)}])

    added = cli("add", empty, file, "--id-field", "key", "--text-field", "body", "--verbose")

    assert [record["id"] for record in added.records] == ["17"]


def test_what_is_told_of_others_names_moves_no_cursor(cli, empty, tmp_path):
    file = tmp_path / "a\x1b]0;title\x07b.jsonl"
    file.write_bytes(b"not json\n")

    refused, missing = cli("add", empty, file), cli("add", empty, f"{file}.not there")

    assert (refused.code, missing.code) == (3, 1)
    for told in (refused.err, missing.err):
        assert "\x1b" not in told
        assert "\\x1b]0;title\\x07b.jsonl" in told


def test_a_corpus_without_the_field_is_refused_in_few_lines_with_its_fields(cli, empty, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": i, "title": "t", "body": text(i)} for i in range(50)])
    table, advice = tmp_path / "a.csv", "it has id, title, body: name the right one with --text-field"
    table.write_text("id,title,body\n1,2,3")

    added, of_table = cli("add", empty, file), cli("add", empty, table)

    refused = [line for line in added.err.splitlines() if "is missing" in line]
    assert (added.code, len(refused)) == (3, 4)
    assert refused[0] == f"{file}:1: refused: the field 'text' is missing; {advice}"
    assert refused[3] == "47 more records were refused: 47 × the field 'text' is missing; --rejects FILE keeps them all"
    assert f"{table}: refused: the header row has no column 'text'; {advice}" in of_table.err


def test_files_of_two_folders_with_one_name_are_refused_with_the_way_out(cli, tmp_path):
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(text(number))

    apart = cli("dedup", tmp_path / "a", tmp_path / "b")

    assert apart.code == 3
    assert f"{tmp_path / 'b' / 'x.txt'}: refused: the id 'x.txt' came before in this input; " in apart.err
    assert "name a folder above all of them" in apart.err


NOT_UTF_8 = os.fsdecode(b"\xff")


def test_a_file_whose_name_is_not_utf_8_is_refused(cli, empty, tmp_path):
    folder, rejects, results = tmp_path / "folder", tmp_path / "rejects", tmp_path / "results"
    folder.mkdir()
    (folder / "good.txt").write_text(text(1))
    (folder / f"bad{NOT_UTF_8}.txt").write_text(text(2))

    decided = cli("dedup", empty, folder, "--rejects", rejects, "--results", results)

    assert decided.code == 3
    assert json.loads(results.read_text())["id"] == "good.txt"
    assert "bad\\xff.txt: refused: the file's name is not UTF-8" in decided.err
    assert json.loads(rejects.read_text())["file"] == f"{folder}/bad\\xff.txt"


@pytest.mark.parametrize("words", [["get", "file:a", NOT_UTF_8], ["query", "file:a", "--text", NOT_UTF_8]])
def test_an_argument_that_is_not_utf_8_is_wrong_usage(cli, words):
    assert cli(*words).usage_error == "the argument \\xff is not UTF-8"


@pytest.mark.parametrize("create", [True, False])
def test_standard_input_keeps_its_name_where_it_is_read_twice(cli, empty, tmp_path, standard_input, create):
    lines = [json.dumps({"id": "a", "text": text(1)}), "broken", json.dumps({"id": "b", "text": text(2)})]
    standard_input("\n".join(lines).encode())
    url, words = (f"file:{tmp_path / 'i'}", ("--create",)) if create else (empty, ())

    done = cli("dedup", url, "-", *words, "--rejects", tmp_path / "rejects")

    assert done.code == 3
    assert [record["id"] for record in done.records] == ["a", "b"]
    assert "\nstandard input:2: refused: " in "\n" + done.err
    assert json.loads((tmp_path / "rejects").read_text())["file"] == "-"


def test_what_marks_or_describes_data_in_a_folder_is_left_out_in_one_line(cli, filled, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "part-0.json").write_text(json.dumps({"id": "a", "text": text(1)}))
    for name in ("_SUCCESS", "README.md"):
        (folder / name).write_text("about the data set")
    done = cli("query", filled, folder)

    assert [record["query"] for record in done.records] == ["a"]
    assert "2 files or folders were left out as marks or descriptions of data: 1 × README.md, 1 × _SUCCESS" in done.err


ROWS = [{"url": f"https://a.example/{number}", "text": text(number)} for number in range(3)]


def table_of(path, rows):
    if path.suffix == ".parquet":
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        lines = [",".join(map(str, values)) for values in ([*rows[0]], *(row.values() for row in rows))]
        path.write_text("\n".join(lines))
    else:
        write_jsonl(path, rows)
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_an_id_field_that_the_records_lack_is_refused_with_those_they_have(cli, filled, tmp_path, suffix):
    file = table_of(tmp_path / f"data.{suffix}", ROWS)
    wrong, right = (cli("claim", filled, file, "--id-field", name) for name in ("URL", "url"))

    assert (wrong.code, wrong.records) == (3, [])
    assert "'URL'" in wrong.err
    assert "it has url, text: name the right one with --id-field" in wrong.err
    assert [record["id"] for record in right.records] == [row["url"] for row in ROWS]


def shards(folder, suffix, ids=(1, 2)):
    """Write two files of one name in two folders, whose ids begin anew."""
    files = []
    for shard in "ab":
        (folder / shard).mkdir()
        rows = [{"id": name, "text": text(ord(shard) * 9 + at)} for at, name in enumerate(ids)]
        files.append(table_of(folder / shard / f"part.{suffix}", rows))
    return files


@pytest.mark.parametrize("words", [["dedup"], ["load", "--into-existing"]])
@pytest.mark.parametrize("name", ["7", "one", "a/b", "a:b", "0b9f3a52-7f6e-4d57-9b0b-2f4b8e1f6a10"])
def test_ids_that_begin_anew_in_each_file_are_refused_with_the_way_out(cli, filled, tmp_path, words, name):
    files = shards(tmp_path, "jsonl", [name])
    work = ["--work", tmp_path / "work"] if words[0] == "load" else []
    done = cli(words[0], filled, *files, *words[1:], *work)

    assert done.code == 3
    assert f"{files[1]}:1: refused: the id {name!r} came before in this input; if ids begin anew" in done.err
    assert "put its name before them with --id-prefix file, or name a field that is unique with --id-field" in done.err


@pytest.mark.parametrize("words", [["add", "--verbose"], ["claim"], ["dedup"], ["fingerprint"]])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_name_of_the_file_before_ids_makes_them_differ(cli, filled, tmp_path, words, suffix):
    files = shards(tmp_path, suffix)
    index = [] if words == ["fingerprint"] else [filled]
    done = cli(words[0], *index, *files, *words[1:], "--id-prefix", "file")

    assert (done.code, [record["id"] for record in done.records]) == (0, [f"{f}#{n}" for f in files for n in (1, 2)])


def test_an_id_that_comes_twice_in_one_file_has_no_way_out(cli, filled, tmp_path):
    done = cli("dedup", filled, *shards(tmp_path, "jsonl", ["7", "7"]), "--id-prefix", "file")

    assert done.code == 3
    assert "came before in this input\n" in done.err
    assert "--id-field" not in done.err


def test_every_command_that_reads_ids_can_put_the_file_before_them():
    context = click.Context(app.cli)
    commands = [app.cli.get_command(context, name) for name in app.COMMANDS]
    commands += [inner for command in commands for inner in getattr(command, "commands", {}).values()]
    options = [{option for parameter in command.params for option in parameter.opts} for command in commands]

    assert sum("--id-field" in of for of in options) > 5
    assert [of for of in options if ("--id-field" in of) != ("--id-prefix" in of)] == []


def test_standard_input_has_no_name_before_ids(cli, filled, standard_input):
    standard_input(b'{"id":"a","text":"x"}')
    done = cli("claim", filled, "-", "--id-prefix", "file")

    assert (done.code, done.records) == (1, [])
    assert "standard input has no name for --id-prefix: read a file" in done.err


def test_a_later_record_without_the_named_id_is_refused_alone(cli, filled, tmp_path):
    file = write_jsonl(tmp_path / "data.jsonl", [ROWS[0], {"text": text(7)}, ROWS[1]])
    done = cli("claim", filled, file, "--id-field", "url")

    assert (done.code, len(done.records)) == (3, 2)
    assert f"{file}:2: refused: the field 'url' is missing" in done.err


@pytest.mark.parametrize("words", [["add"], ["claim"], ["dedup"], ["load", "--into-existing"]])
def test_ids_of_file_and_line_are_warned_of_in_one_line_where_they_last(cli, filled, tmp_path, words):
    file = write_jsonl(tmp_path / "data.jsonl", ROWS)
    work = ["--work", tmp_path / "work"] if words[0] == "load" else []
    lasting, named = (cli(words[0], filled, file, *words[1:], *work, *more) for more in ([], ["--id-field", "url"]))

    warnings = [line for line in lasting.err.splitlines() if line.startswith("warning: documents without an id")]
    assert len(warnings) == 1
    assert f"such as {file}:1: the next file of this name replaces them" in warnings[0]
    assert (lasting.code, named.code, "without an id" in named.err) == (0, 0, False)


@pytest.mark.parametrize("words", [["claim"], ["load", "--into-existing"]])
def test_ids_of_lines_of_text_are_warned_of_without_a_field_to_name(cli, filled, tmp_path, words):
    (tmp_path / "data.txt").write_text(f"{text(0)}\n")
    work = ["--work", tmp_path / "work"] if words[0] == "load" else []
    done = cli(words[0], filled, tmp_path / "data.txt", *words[1:], *work)

    assert "data.txt:1: the next file of this name replaces them; give that one another name\n" in done.err


def test_a_file_of_text_that_is_named_twice_has_no_field_to_name(cli, filled, tmp_path):
    (tmp_path / "data.txt").write_text(f"{text(0)}\n")
    done = cli("dedup", filled, tmp_path / "data.txt", tmp_path / "data.txt")

    assert "came before in this input: the file is read twice\n" in done.err


@pytest.mark.parametrize("name", ["data.txt", "page.html", "folder", "-"])
def test_an_id_field_is_refused_where_no_input_has_fields(cli, filled, tmp_path, standard_input, name):
    standard_input(text(0).encode())
    (tmp_path / "folder").mkdir()
    for file in ("data.txt", "page.html", "folder/a"):
        (tmp_path / file).write_text(f"<p>{text(0)}</p>")
    file = name if name == "-" else tmp_path / name
    done = cli("query", filled, file, "--id-field", "url", *(["--input-format", "text"] if name == "-" else []))

    assert (done.code, done.records) == (1, [])
    assert done.sentence == "texts and pages have no field 'url': leave out --id-field, or name files with fields, too"


def test_an_id_field_is_that_of_the_inputs_that_have_fields(cli, filled, tmp_path):
    table_of(tmp_path / "data.csv", ROWS[:1])
    (tmp_path / "data.txt").write_text(text(1))
    done = cli("query", filled, tmp_path / "data.csv", tmp_path / "data.txt", "--id-field", "url")

    assert [record["query"] for record in done.records] == [ROWS[0]["url"], f"{tmp_path}/data.txt:1"]


@pytest.mark.parametrize("words", [["add"], ["claim"], ["dedup"], ["load", "--into-existing"]])
@pytest.mark.parametrize("form", ["jsonl", "csv", "text"])
def test_standard_input_without_ids_is_refused_where_they_would_last(
    cli, filled, tmp_path, standard_input, words, form
):
    data = {"jsonl": json.dumps(ROWS[0]), "csv": f"url,text\nu,{text(0)}\n", "text": text(0)}[form]
    standard_input(data.encode())
    work = ["--work", tmp_path / "work"] if words[0] == "load" else []
    done = cli(words[0], filled, "-", *words[1:], *work, "--input-format", form, "--rejects", tmp_path / "rejects")

    assert done.code == 3
    advice = "read a file" if form == "text" else "name the field of the id with --id-field, or read a file"
    assert (
        f"the record has no id, and an open file, such as standard input, has no name to make one of; {advice}\n"
        in done.err
    )
    assert text(0) in json.loads((tmp_path / "rejects").read_text())["raw"]
    assert cli("get", filled, "--", "-:1").code == 1


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/{}", "/proc/self/fd/{}"])
@pytest.mark.parametrize("form", ["jsonl", "text"])
def test_another_name_of_an_open_file_makes_no_id_that_would_last(cli, filled, tmp_path, name, form):
    (tmp_path / "in").write_text(json.dumps(ROWS[0]) if form == "jsonl" else text(0))
    standard_input = os.dup(0)
    try:
        with (tmp_path / "in").open("rb") as file:
            os.dup2(file.fileno(), 0)
            done = cli("claim", filled, name.format(file.fileno()), "--input-format", form)
    finally:
        os.dup2(standard_input, 0)
        os.close(standard_input)

    assert (done.code, done.records) == (3, [])
    assert (
        "refused: the record has no id, and an open file, such as standard input, has no name to make one of; "
        in done.err
    )


@pytest.mark.parametrize(
    ("packed", "advice"),
    [
        (gzip.compress(GOOD), "gzip: pass what `gzip -dc` makes of it"),
        (zstandard.compress(GOOD), "zstd: pass what `zstd -dc` makes of it"),
        (bz2.compress(GOOD), "bzip2: pass what `bzip2 -dc` makes of it"),
        (lzma.compress(GOOD), "xz: pass what `xz -dc` makes of it"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "csv", "html", "text"])
def test_compressed_standard_input_is_refused_with_the_command_that_decompresses_it(
    cli, standard_input, packed, advice, form
):
    standard_input(packed)
    done = cli("fingerprint", "-", "--analyzer", "shingle", "--input-format", form)

    assert (done.code, done.records) == (3, [])
    assert f"refused: the content is compressed by {advice}\n" in done.err


@pytest.mark.parametrize("words", [["query"], ["fingerprint", "--analyzer", "shingle"], ["dedup"], ["claim"]])
def test_standard_input_without_ids_is_read_where_nothing_lasts(cli, filled, standard_input, words):
    standard_input(json.dumps(ROWS[0]).encode())
    index = [filled] if words[0] == "query" else []
    done = cli(*words[:1], *index, "-", *words[1:])

    assert (done.code, len(done.records)) == (0, 1)
    assert "without an id" not in done.err
