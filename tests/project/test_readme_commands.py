"""The commands of all README pages as they are printed, in a fresh clone with only what they install themselves."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from support.fresh_clone import (
    ROOT,
    assert_printed,
    blocks,
    clone,
    left_untracked,
    likeness,
    needed,
    pages,
    provide,
    run,
    split,
)
from support.listening import free_port

from simhash_hbase.cli.app import COMMANDS

ACTIVATED = "source .venv/bin/activate\n"
INSTALL = re.compile(r"^\./scripts/install ?([\w,]*) && source \.venv/bin/activate", re.MULTILINE)
# What is another each time.
CHANGING = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=\"request_id\":\")[0-9a-f]{16}")
# Ids in the files that the blocks of the command line's page make.
KEPT = {"best": [2], "ranked": [2], "contained": ["1", "2"]}
STOP_SERVER = "trap 'kill $(jobs -p) 2> /dev/null || :' EXIT"
SPARK = ("spark", "sparkcluster", "sparkload")  # In test_spark_cluster.py.
TESTED_ELSEWHERE = {
    *("contributing", "examples", "snapshot", "hbase", "reindex", "tour", "service", "shared", "crawlers"),
    *("revisits", "preferred", "contained", "pair", "objects", "unit", "cluster", *SPARK),
    "restore",  # In test_cli_processes.py.
    "sparkhdfs",  # In test_hbase_cluster.py.
    "cloud",  # In test_hbase_secure.py.
}


def commands(block):
    return "\n".join(split(block))


def installed(folder, block):
    """Provide what the block's own first line installs."""
    [extras] = INSTALL.findall(commands(block))
    provide(folder, extras)


@pytest.fixture
def fresh(tmp_path):
    folder = clone(tmp_path / "clone")
    yield folder
    assert left_untracked(folder) == set()


def test_the_first_commands_and_those_that_go_on_with_them_work_one_after_the_other(fresh, monkeypatch):
    found = blocks()
    assert set(found) - TESTED_ELSEWHERE == {"first", "claims", "plan", "upkeep"}
    installed(fresh, found["first"])

    first = run(fresh, commands(found["first"]))
    claims = run(fresh, commands(found["claims"]))
    plan = run(fresh, ACTIVATED + commands(found["plan"]))
    upkeep = run(fresh, ACTIVATED + commands(found["upkeep"]))
    reindex = run(fresh, ACTIVATED + commands(found["reindex"]))

    assert [done.returncode for done in (first, claims, plan, upkeep, reindex)] == [0] * 5, [
        done.stderr for done in (first, claims, plan, upkeep, reindex)
    ]
    assert first.stdout.splitlines() == [line for line in found["first"].splitlines() if line.startswith("{")]
    shown = [line for lines in split(found["claims"]).values() for line in lines]
    assert claims.stdout.splitlines() == shown
    planned = [line for lines in split(found["plan"]).values() for line in lines]
    assert (plan.stdout + plan.stderr).splitlines() == planned
    assert_pandas_keeps_as_many(fresh, blocks("python")["pandas"], monkeypatch)
    gone = (fresh / "gone.txt").read_text(encoding="utf-8").splitlines()
    assert len(gone) == 5
    assert upkeep.stdout.count('"removed":true') == 5
    missing = (fresh / "missing").read_text(encoding="utf-8").replace("\t", "").splitlines()
    assert sorted(missing) == sorted(gone)


def test_the_first_result_is_a_near_copy_of_a_chinese_text():
    [shown] = [json.loads(line) for line in blocks()["first"].splitlines() if line.startswith("{")]

    assert shown["status"] == "duplicate"
    assert shown["distance"] > 0
    assert shown["similarity"] < 1
    assert "\u4e00" <= shown["of"][0] <= "\u9fff"


def test_the_example_of_pandas_says_how_to_install_what_no_extra_brings():
    [sentence] = re.findall(r"\n(.+)\n\n<!-- pandas -->", pages()[Path("README.md")])
    [extra] = re.findall(r"the extra `(\w+)`", sentence)

    brought = {name.split("[")[0] for name in needed(Requirement(f"simhash-hbase[{extra}]"), {})}

    assert "pyarrow" in brought
    assert "pandas" in brought or "`pip install pandas`" in sentence


def test_a_contributor_sees_a_test_pass(fresh):
    contributing = blocks()["contributing"]
    provide(fresh, "test")
    program = fresh / ".venv/bin/pytest"
    # A gate has pip make it.
    if program.parent.exists():
        program.write_text(f"#!{fresh}/.venv/bin/python\nimport sys, pytest\nsys.exit(pytest.main())\n")
        program.chmod(0o755)

    done = run(fresh, commands(contributing))

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)


def assert_pandas_keeps_as_many(folder, example, monkeypatch):
    decisions = (folder / "decisions.jsonl").read_text(encoding="utf-8").splitlines()
    names: dict = {}
    monkeypatch.chdir(folder)
    exec(example, names)
    assert len(names["frame"]) == sum('"status":"original"' in line for line in decisions) < len(decisions)


def test_the_first_example_says_what_it_is_shown_to_say(fresh):
    examples = blocks()["examples"]
    installed(fresh, examples)

    done = run(fresh, commands(examples))

    shown = [line for lines in split(examples).values() for line in lines]
    assert done.returncode == 0, done.stderr
    assert [likeness(line) for line in done.stdout.splitlines()] == [likeness(line) for line in shown]


def test_the_quickstart_ends_with_a_report_and_with_commands_that_work(fresh):
    provide(fresh, "")

    done = run(fresh, "./scripts/quickstart")

    assert done.returncode == 0, done.stderr
    assert "百科-蚕" in (fresh / ".cache/quickstart/report.html").read_text(encoding="utf-8")
    tips = [line.strip() for line in done.stdout.splitlines() if line.startswith("  .venv/bin/simhash-hbase ")]
    assert len(tips) == 3
    decided = [json.loads(line) for line in (fresh / ".cache/quickstart/decisions.jsonl").read_bytes().splitlines()]
    [clean] = re.findall(r"^The cleaned corpus, without the duplicates: (.*)$", done.stdout, re.MULTILINE)
    kept_ids = [json.loads(line)["id"] for line in (fresh / clean).read_bytes().splitlines()]
    assert kept_ids == [decision["id"] for decision in decided if decision["status"] == "original"]
    tried = run(fresh, "\n".join(tips))
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.startswith('{"query":')


def test_the_tour_says_what_it_is_shown_to_say(fresh):
    tour = blocks()["tour"]
    installed(fresh, tour)
    steps = split(tour)
    assert len(steps) == 6

    for command, shown in steps.items():
        assert_printed(shown, run(fresh, (ACTIVATED if "install" not in command else "") + command))

    assert_kept_what_was_decided(fresh)


def assert_kept_what_was_decided(folder):
    pages = {path.relative_to(folder / "pages").as_posix() for path in (folder / "pages").rglob("*.html")}
    decisions = [json.loads(line) for line in (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = {path.relative_to(folder / "clean").as_posix() for path in (folder / "clean").rglob("*.html")}
    assert {decision["id"] for decision in decisions} == pages
    assert {decision["id"] for decision in decisions if decision["status"] == "original"} == kept < pages
    assert "百科-蚕" in (folder / "report.html").read_text(encoding="utf-8")
    again = [json.loads(line) for line in (folder / "today.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(each["id"], each["status"]) for each in again} == {(each["id"], each["status"]) for each in decisions}


def test_the_example_of_the_library_prints_what_it_is_shown_to_print(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    example = blocks("python")["library"]
    [shown] = re.findall(r"print\(.*\)  # (.*)", example)

    exec(example, {})

    assert capsys.readouterr().out == f"{shown}\n"


@pytest.mark.parametrize("name", ["service", "shared"])
def test_the_commands_of_the_service_print_what_they_are_shown_to_print(fresh, name):
    service = blocks()[name]
    installed(fresh, service)
    assert shutil.which("curl")
    expected = [line for lines in split(service).values() for line in lines]

    # The last but one of the second one's commands is refused.
    refused = "set +e\n" if name == "shared" else ""
    done = run(fresh, f"{STOP_SERVER}\n{refused}{commands(service).replace('8080', str(free_port()))}")

    assert done.returncode == 0, done.stderr
    printed = [CHANGING.sub("…", line) for line in (done.stdout + done.stderr).splitlines() if "install: " not in line]
    printed = [re.sub(r"(?<=127\.0\.0\.1:)\d+", "8080", line) for line in printed]
    assert printed == [CHANGING.sub("…", line) for line in expected]


def test_the_crawlers_of_the_page_keep_what_they_are_shown_to_keep(fresh):
    crawlers = blocks()["crawlers"]
    installed(fresh, crawlers)
    port = str(free_port())
    (fresh / "spider.py").write_text(blocks("python")["spider"].replace("8000", port))

    done = run(fresh, f"{STOP_SERVER}\n{commands(crawlers).replace('8000', port)}")

    shown = [line for lines in split(crawlers).values() for line in lines]
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-2:] == [str(kept(fresh))] * 2
    assert [likeness(line) for line in done.stdout.splitlines()] == [likeness(line) for line in shown]
    assert "export" not in done.stderr


def test_the_crawl_of_the_page_gets_the_records_that_are_shown(fresh):
    revisits = blocks()["revisits"]
    installed(fresh, revisits)
    (fresh / "crawl.py").write_text(blocks("python")["crawl"])

    for command, shown in split(revisits).items():
        done = run(fresh, (ACTIVATED if "install" not in command else "") + command)
        assert_printed(shown, done)


def test_the_blocks_of_the_command_line_keep_what_their_options_say(fresh):
    provide(fresh, "")
    made = run(fresh, "./scripts/install")
    ran = [run(fresh, ACTIVATED + commands(blocks()[name])) for name in ("preferred", "contained")]
    pair = run(fresh, ACTIVATED + commands(blocks()["pair"]))

    assert made.returncode == 0, made.stderr
    assert [(done.returncode, done.stdout) for done in ran] == [(0, "")] * 2, [done.stderr for done in ran]
    records = {name: [json.loads(line) for line in (fresh / f"{name}.jsonl").read_text().splitlines()] for name in KEPT}
    assert {name: [record["id"] for record in found] for name, found in records.items()} == KEPT
    assert [decision["status"] for decision in records["contained"]] == ["original"] * 2
    assert records["contained"][1]["near"]["id"] == "1"
    printed = [line for line in blocks()["pair"].splitlines() if not line.startswith(("$", "…"))]
    assert printed
    assert set(printed) <= set(pair.stdout.splitlines()), pair.stderr


# Blocks without a name, by their first commands. Other tests run the quickstart; no test runs all tests.
NAMELESS = ["./scripts/hbase up", "./scripts/hbase up", "./scripts/quickstart", "./scripts/test"]


def test_every_block_that_a_test_could_run_has_a_name():
    first = [
        re.sub(r" *#.*", "", next(iter(split(block))))
        for text in pages().values()
        for name, block in re.findall(r"(<!-- \w+ -->\n)?```console\n(.*?)```", text, re.DOTALL)
        if not name
    ]

    assert sorted(first) == NAMELESS


MAKES_INDEX = re.compile(r"create file:([\w.]+)|file:([\w.]+) --create|create_index\(\"file:([\w.]+)")
MAKES_DECISIONS = re.compile(r"^\$ simhash-hbase dedup .* > ([\w.]+)", re.MULTILINE)


def test_blocks_that_are_run_one_after_the_other_in_one_clone_do_not_make_the_same_index_decisions_or_key():
    every = [*blocks().values(), *blocks("python").values()]
    indexes = ["".join(names) for block in every for names in MAKES_INDEX.findall(block)]
    decisions = [name for block in every for name in MAKES_DECISIONS.findall(block)]
    keys = [name for block in every for name in re.findall(r"simhash-hbase key \S+ --name ([a-z]+)", block)]

    assert len(indexes) >= 8
    assert len(decisions) >= 6
    assert len(keys) >= 2
    for made in (indexes, decisions, keys):
        assert sorted(set(made)) == sorted(made)


# Files that blocks make which are run elsewhere, or only by a user. The last one may be a link to an environment.
ELSEWHERE = ["keys", "news.index/data.mdb", "unfinished/load.json", "decisions/part-0", "work/load.json",
             "wire.index/x", "nowhere/.venv"]  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_other_blocks_leave_in_a_clone_is_ignored(name):
    assert subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT, check=False).returncode == 0


OUTSIDE = re.compile(r"(s3|hdfs|spark)://|kubectl|systemctl|hbase> ")


def test_a_block_that_runs_only_with_something_of_the_users_says_what_it_needs():
    found = 0
    for path, text in pages().items():
        for before, block in re.findall(
            r"\n\n([^\n](?:(?!\n\n)[\s\S])*)\n\n(?:<!-- \w+ -->\n)?```console\n(.*?)```", text, re.DOTALL
        ):
            if OUTSIDE.search(block):
                found += 1
                assert re.search(r"[Nn]eeds ", before), (path, before)
    assert found == 6


def kept(folder):
    lines = "".join((folder / f"{name}.jsonl").read_text(encoding="utf-8") for name in ("one", "two")).splitlines()
    return len({json.loads(line)["url"] for line in lines})


def test_what_the_table_of_commands_has_is_all_there_is():
    text = pages()[Path("simhash_hbase/cli/README.md")]
    [table] = re.findall(r"\| command \| does \|\n\|---\|---\|\n(.*?)\n\n", text, re.DOTALL)
    named = {word for row in table.splitlines() for word in re.findall(r"`(\w+)[ `]", row.split(" | ")[0])}

    assert set(COMMANDS) <= named
