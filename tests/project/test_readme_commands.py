"""The commands of all README pages as they are printed, in a fresh clone with only what they install themselves."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from support.fresh_clone import assert_printed, blocks, clone, left_untracked, likeness, pages, provide, run, split
from support.gates import MUST_RUN
from support.listening import free_port

from simhash_hbase.cli.app import COMMANDS

ACTIVATED = "source .venv/bin/activate\n"
INSTALL = re.compile(r"^\./scripts/install ?([\w,]*) && source \.venv/bin/activate", re.MULTILINE)
# What is another each time.
CHANGING = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=\"request_id\":\")[0-9a-f]{16}")
# Ids in the files that the blocks of the command line's page make.
KEPT = {"best": [2], "ranked": [2], "contained": ["1", "2"]}
STOP_SERVER = "trap 'kill $(jobs -p) 2> /dev/null || :' EXIT"
SPARK = ("spark", "sparkcluster", "sparkpassages", "sparkload")  # In test_spark_cluster.py.
TESTED_ELSEWHERE = {
    *("clue", "boilerplate", "items", "reposts"),  # In test_cli_passages.py.
    "guards",  # In test_cli_guards.py.
    *("contributing", "examples", "snapshot", "hbase", "reindex", "tour", "service", "shared", "crawlers"),
    *("revisits", "preferred", "contained", "pair", "objects", "unit", "cluster", *SPARK),
    "restore",  # In test_cli_processes.py.
    "sparkhdfs",  # In test_hbase_cluster.py.
    "cloud",  # In test_hbase_secure.py.
}


def commands(name):
    return "\n".join(split(blocks()[name]))


def shown(name):
    """Return the lines that a block shows behind its commands."""
    return [line for lines in split(blocks()[name]).values() for line in lines]


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def carry_out(folder, script):
    done = run(folder, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def installed(folder, name, *, in_gate=True):
    """Provide what the block's own first line installs."""
    [extras] = INSTALL.findall(commands(name))
    provide(folder, extras, in_gate=in_gate)


@pytest.fixture
def fresh(tmp_path):
    folder = clone(tmp_path / "clone")
    yield folder
    assert left_untracked(folder) == set()


def test_the_commands_of_the_first_page_work_one_after_the_other(fresh, monkeypatch):
    assert set(blocks()) - TESTED_ELSEWHERE == {"first", "claims", "plan", "upkeep"}
    installed(fresh, "first", in_gate=False)

    first = carry_out(fresh, commands("first"))
    claims = carry_out(fresh, commands("claims"))
    plan = carry_out(fresh, ACTIVATED + commands("plan"))
    upkeep = carry_out(fresh, ACTIVATED + commands("upkeep"))
    carry_out(fresh, ACTIVATED + commands("reindex"))

    assert first.stdout.splitlines() == [line for line in blocks()["first"].splitlines() if line.startswith("{")]
    assert claims.stdout.splitlines() == shown("claims")
    assert (plan.stdout + plan.stderr).splitlines() == shown("plan")
    decisions, names = read_lines(fresh / "decisions.jsonl"), {}
    monkeypatch.chdir(fresh)
    exec(blocks("python")["pandas"], names)
    assert len(names["frame"]) == sum(line["status"] == "original" for line in decisions) < len(decisions)
    gone = (fresh / "gone.txt").read_text(encoding="utf-8").splitlines()
    assert len(gone) == upkeep.stdout.count('"removed":true') == 5
    missing = (fresh / "missing").read_text(encoding="utf-8").replace("\t", "").splitlines()
    assert sorted(missing) == sorted(gone)
    # In the same clone, which a second one would take a minute to install: its user becomes a contributor.
    assert re.search(r"\d+ passed", contribute(fresh).stdout)


def contribute(folder):
    provide(folder, "test", in_gate=False)
    program = folder / ".venv/bin/pytest"
    # A gate has pip make it.
    if not os.environ.get(MUST_RUN):
        program.write_text(f"#!{folder}/.venv/bin/python\nimport sys, pytest\nsys.exit(pytest.main())\n")
        program.chmod(0o755)
    return carry_out(folder, commands("contributing"))


def test_the_first_example_says_what_it_is_shown_to_say(fresh):
    installed(fresh, "examples")
    done = carry_out(fresh, commands("examples"))
    assert [likeness(line) for line in done.stdout.splitlines()] == [likeness(line) for line in shown("examples")]


def test_the_quickstart_ends_with_commands_that_work(fresh):
    provide(fresh, "")
    done = carry_out(fresh, "./scripts/quickstart")

    assert "百科-蚕" in (fresh / ".cache/quickstart/report.html").read_text(encoding="utf-8")
    tips = [line.strip() for line in done.stdout.splitlines() if line.startswith("  .venv/bin/simhash-hbase ")]
    assert len(tips) == 3
    decided = read_lines(fresh / ".cache/quickstart/decisions.jsonl")
    [clean] = re.findall(r"^The cleaned corpus, without the duplicates: (.*)$", done.stdout, re.MULTILINE)
    originals = [decision["id"] for decision in decided if decision["status"] == "original"]
    assert [record["id"] for record in read_lines(fresh / clean)] == originals
    assert carry_out(fresh, "\n".join(tips)).stdout.startswith('{"query":')


@pytest.mark.parametrize(("name", "program", "count"), [("tour", None, 6), ("revisits", "crawl", 3)])
def test_what_is_shown_step_by_step_is_printed(fresh, name, program, count):
    installed(fresh, name)
    if program:
        (fresh / f"{program}.py").write_text(blocks("python")[program])
    steps = split(blocks()[name])
    assert len(steps) >= count

    for command, lines in steps.items():
        assert_printed(lines, run(fresh, (ACTIVATED if "install" not in command else "") + command))

    if name == "tour":
        assert_kept_what_was_decided(fresh)


def assert_kept_what_was_decided(folder):
    pages, kept = (
        {path.relative_to(folder / name).as_posix() for path in (folder / name).rglob("*.html")}
        for name in ("pages", "clean")
    )
    decided = {line["id"]: line["status"] for line in read_lines(folder / "pages.jsonl")}
    assert decided.keys() == pages
    assert {name for name, status in decided.items() if status == "original"} == kept < pages
    assert "百科-蚕" in (folder / "report.html").read_text(encoding="utf-8")
    assert {line["id"]: line["status"] for line in read_lines(folder / "today.jsonl")} == decided


def test_the_example_of_the_library_prints_what_it_is_shown_to_print(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = blocks("python")["library"]
    exec(example, {})

    [printed] = re.findall(r"print\(.*\)  # (.*)", example)
    assert capsys.readouterr().out == f"{printed}\n"


@pytest.mark.parametrize("name", ["service", "shared"])
def test_the_commands_of_the_service_print_what_they_are_shown_to_print(fresh, name):
    installed(fresh, name)
    assert shutil.which("curl")

    # The last but one of the second one's commands is refused.
    refused = "set +e\n" if name == "shared" else ""
    done = carry_out(fresh, f"{STOP_SERVER}\n{refused}{commands(name).replace('8080', str(free_port()))}")

    printed = [CHANGING.sub("…", line) for line in (done.stdout + done.stderr).splitlines() if "install: " not in line]
    printed = [re.sub(r"(?<=127\.0\.0\.1:)\d+", "8080", line) for line in printed]
    assert printed == [CHANGING.sub("…", line) for line in shown(name)]


def test_the_crawlers_of_the_page_keep_what_they_are_shown_to_keep(fresh):
    installed(fresh, "crawlers")
    port = str(free_port())
    (fresh / "spider.py").write_text(blocks("python")["spider"].replace("8000", port))
    done = carry_out(fresh, f"{STOP_SERVER}\n{commands('crawlers').replace('8000', port)}")

    kept = {line["url"] for name in ("one", "two") for line in read_lines(fresh / f"{name}.jsonl")}
    assert done.stdout.split()[-2:] == [str(len(kept))] * 2
    assert [likeness(line) for line in done.stdout.splitlines()] == [likeness(line) for line in shown("crawlers")]
    assert "export" not in done.stderr


def test_the_blocks_of_the_command_line_keep_what_their_options_say(fresh):
    provide(fresh, "")
    carry_out(fresh, "./scripts/install")
    ran = [carry_out(fresh, ACTIVATED + commands(name)) for name in ("preferred", "contained")]
    pair = run(fresh, ACTIVATED + commands("pair"))

    assert [done.stdout for done in ran] == ["", ""]
    records = {name: read_lines(fresh / f"{name}.jsonl") for name in KEPT}
    assert {name: [record["id"] for record in found] for name, found in records.items()} == KEPT
    assert [decision["status"] for decision in records["contained"]] == ["original"] * 2
    assert records["contained"][1]["near"]["id"] == "1"
    printed = [line for line in blocks()["pair"].splitlines() if not line.startswith(("$", "…"))]
    assert printed
    assert set(printed) <= set(pair.stdout.splitlines()), pair.stderr


# Blocks without a name, by their first commands. Other tests run the quickstart; no test runs all tests.
NAMELESS = ["./scripts/hbase up", "./scripts/hbase up", "./scripts/quickstart", "./scripts/test"]


def test_every_block_that_a_test_could_run_has_a_name():
    pattern = re.compile(r"(<!-- \w+ -->\n)?```console\n(.*?)```", re.DOTALL)
    nameless = [block for text in pages().values() for name, block in pattern.findall(text) if not name]

    assert sorted(re.sub(r" *#.*", "", next(iter(split(block)))) for block in nameless) == NAMELESS


MADE = {
    "index": (re.compile(r"create file:([\w.]+)|file:([\w.]+) --create|create_index\(\"file:([\w.]+)"), 8),
    "decisions": (re.compile(r"^\$ simhash-hbase dedup .* > ([\w.]+)", re.MULTILINE), 6),
    "key": (re.compile(r"simhash-hbase key \S+ --name ([a-z]+)"), 2),
}


@pytest.mark.parametrize("kind", MADE)
def test_blocks_that_are_run_one_after_the_other_in_one_clone_do_not_make_the_same(kind):
    pattern, least = MADE[kind]
    every = [*blocks().values(), *blocks("python").values()]
    made = ["".join(match.groups(default="")) for block in every for match in pattern.finditer(block)]

    assert len(made) >= least
    assert sorted(set(made)) == sorted(made)


def test_what_the_table_of_commands_has_is_all_there_is():
    text = pages()[Path("simhash_hbase/cli/README.md")]
    [table] = re.findall(r"\| command \| does \|\n\|---\|---\|\n(.*?)\n\n", text, re.DOTALL)
    named = {word for row in table.splitlines() for word in re.findall(r"`(\w+)[ `]", row.split(" | ")[0])}

    assert set(COMMANDS) <= named
