"""Small things that a new user meets: plurals, the home folder, passwords, links."""

import re

import pytest
from support.corpus import near_copies, text, write_jsonl
from support.reports import read_report

SHINGLES = ("--create", "--analyzer", "shingle")


@pytest.mark.parametrize(("copies", "said"), [(2, "1 duplicate;"), (3, "2 duplicates;")])
def test_one_is_no_plural(cli, tmp_path, copies, said):
    file = write_jsonl(tmp_path / "a.jsonl", near_copies(1, copies))

    done = cli("dedup", f"file:{tmp_path / 'i'}", file, *SHINGLES)

    assert said in done.err


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

    assert done.code == 2
    assert done.sentence.startswith(said)


def test_what_is_no_plural_stays(cli, filled, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", near_copies(1, 1))

    assert "query: 1 document, 1 with matches;" in cli("query", filled, file).err


def test_the_home_folder_in_an_address_is_the_user_s(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert cli("create", "file:~/i", "--analyzer", "shingle").code == 0
    copied = cli("backup", "file:~/i", "file:~/copy").record

    assert (tmp_path / "i").is_dir()
    assert copied == {"backup": f"file:{tmp_path / 'copy'}"}
    assert (tmp_path / "copy").is_dir()
    assert not (tmp_path / "~").exists()


def test_a_user_without_a_home_folder_gets_no_folder_of_that_name(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # As it is without HOME and without an account.
    monkeypatch.chdir(tmp_path)

    done = cli("create", "file:~/i", "--analyzer", "shingle")

    assert done.code == 2
    assert done.err == "simhash-hbase: file:~/i: this user has no home folder: name the folder by its path\n"
    assert list(tmp_path.iterdir()) == []


ADDRESSES = (
    "redis://:hunter2@127.0.0.1:1/0",
    "rediss://me:hunt/hunter2@127.0.0.1:1/0",
    "hbase://me:hunter2@h:x/t",
    "rediss:me:hunter2@h",
)

LINES = (
    "stats {}",
    "{} stats",
    "stats {} {}",
    "create {} --regions 9",
    "load {} a",
    "backup {}",
    "schema {}",
    "explain {} a b",
)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("line", LINES)
def test_no_message_repeats_a_password(cli, address, line):
    failed = cli(*line.replace("{}", address).split())

    assert failed.code in (1, 2)
    assert "hunter2" not in failed.err


def test_a_dry_run_says_what_it_writes_all_the_same(cli):
    shown = " ".join(cli("dedup", "--help").out.decode().split())

    assert "Change no index; files that other options name are written." in shown


def test_the_report_names_its_corpus_and_draws_the_bounds_of_the_rule(cli, tmp_path):
    file = write_jsonl(tmp_path / "corpus.jsonl", [*near_copies(9, 3), {"id": "<i>", "text": text(99)}])
    page = tmp_path / "report.html"

    cli("dedup", f"file:{tmp_path / 'i'}", file, *SHINGLES, "--report", page)

    html = read_report(page).html
    assert f"<title>Near-duplicates of {file}</title>" in html
    bounds = re.findall(r'<line class="bound" x1="([\d.]+)".*?<text class="count \w+".*?>(.*?)</text>', html)
    assert "at least 0.77" in [label for _, label in bounds]
    # Bars of .02 from .7 on: the bound is at the beginning of the one of .76 and a half further.
    [chart] = re.findall(r'id="similarities">.*?</figure>', html)
    lefts = [float(x) for x in re.findall(r'class="column" x="([\d.]+)"', chart)]
    [place] = [float(x) for x, label in bounds if label == "at least 0.77"]
    assert lefts[3] < place < lefts[4]
