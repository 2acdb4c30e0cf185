"""The scripts before their work, by programs that only note how they were called."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from support.fresh_clone import ROOT

NOTING = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$0 $*" in *collect-only*) exit "${COLLECTED:-5}";; esac
"""
BASICS = ("bash", "basename", "cat", "date", "dirname", "realpath", "sed", "sh", "tail", "touch", "tr")


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NOTING)
    path.chmod(0o755)


@pytest.fixture
def script(tmp_path):
    """Return what runs a script of the project in a folder, and returns what it called and how it ended."""
    folder, programs, calls = tmp_path / "clone", tmp_path / "bin", tmp_path / "calls"
    for name in ("install", "lint", "hbase"):
        program(folder / "scripts" / name)
    for name in ("coverage", "pytest", "python"):
        program(folder / ".venv" / "bin" / name)
    for name in ("apt-get", "id", "docker", "timeout", "dpkg", "mkdir", "rm"):
        program(programs / name)
    for name in BASICS:
        (programs / name).symlink_to(shutil.which(name))

    def run(name, *words, **variables):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
        environment = {"PATH": str(programs), "CALLS": str(calls), "SIMHASH_HBASE_TEST_SERVER": "local", **variables}
        command = [folder / "scripts" / name, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return calls.read_text().splitlines() if calls.exists() else [], done

    return run


COLLECT = "pytest --collect-only -qq"
# Words, what collecting tests of HBase ends with, the calls in their order, and at the end those at the same time.
RUNS = [
    (
        ["tests/rows/test_rowkey.py", "tests/index"],
        "5",
        ["install test", f"{COLLECT} tests/rows/test_rowkey.py tests/index -m hbase"],
        {"pytest -n 2 tests/rows/test_rowkey.py tests/index"},
    ),
    (
        ["tests/stores"],
        "0",
        ["install dev,bench", f"{COLLECT} tests/stores -m hbase", "hbase up --with local", "pytest -n 2 tests/stores"],
        {"hbase down --with local"},
    ),
    (["--quick"], "5", ["install dev"], {"lint ", "pytest -n 2 -q -m not hbase and not server and not slow"}),
    (
        ["--coverage", "tests/kernel"],
        "5",
        [
            "install dev,bench",
            f"{COLLECT} tests/kernel -m hbase",
            "pytest -n 2 --cov --cov-report= -m not unmeasured tests/kernel",
            "pytest -n 2 -q --cov --cov-append --cov-report= tests/kernel",
        ],
        {"coverage report", "coverage json -q -o -", "python scripts/covered.py"},
    ),
]


@pytest.mark.parametrize(
    ("words", "collected", "in_order", "together"), RUNS, ids=["plain", "HBase", "quick", "coverage"]
)
def test_a_run_of_tests_has_only_what_it_needs(script, words, collected, in_order, together):
    calls, done = script("test", *words, COLLECTED=collected)

    assert done.returncode == 0, done.stderr
    assert calls[: len(in_order)] == in_order
    assert sorted(calls[len(in_order) :]) == sorted(together)
    assert ("test: starting HBase" in done.stderr) == (collected == "0")


def test_a_quick_run_tells_the_time_of_installation_from_that_of_tests(script):
    said = script("test", "--quick")[1].stderr

    assert said.startswith("test: installation, where something has changed")
    assert re.search(r"installation took \d+ s; lint and tests: 2 minutes\n", said)
    assert re.search(r"installation took \d+ s, lint and tests took \d+ s\n$", said)


def test_a_quick_run_fails_where_lint_fails(script, tmp_path):
    lint = tmp_path / "clone" / "scripts" / "lint"
    lint.write_text("#!/bin/sh\necho a fault; exit 3\n")
    _, done = script("test", "--quick")

    assert (done.returncode, done.stdout) == (3, "a fault\n")


def test_the_shares_of_lines_and_branches_are_told_apart():
    totals = {"num_statements": 4_000, "covered_lines": 3_900, "num_branches": 200, "covered_branches": 181}
    command, given = [sys.executable, ROOT / "scripts" / "covered.py"], json.dumps({"totals": totals})
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)

    assert done.stdout == "lines: 97.5 % of 4,000\nbranches: 90.5 % of 200\n"


def test_all_tests_run_after_lint_beside_hbase(script):
    calls, done = script("test")

    assert calls[0] == "install dev,bench"
    # Lint runs while HBase starts.
    assert set(calls[-4:-2]) == {"lint ", "hbase up --with local"}
    assert calls[-2:] == ["pytest -n 3 --dist loadfile --no-loadscope-reorder", "hbase down --with local"]
    assert not any("collect" in call for call in calls)
    assert "test: lint" in done.stderr


def test_no_test_runs_where_lint_fails(script, tmp_path):
    (tmp_path / "clone" / "scripts" / "lint").write_text("#!/bin/sh\necho a fault; exit 3\n")
    calls, done = script("test")

    assert (done.returncode, done.stdout) == (3, "a fault\n")
    assert not any(call.startswith("pytest") for call in calls)
    assert calls[-1] == "hbase down --with local"


def test_chosen_tests_run_in_a_gate_without_lint(script):
    calls, _ = script("test", "tests/stores", CI="true")

    assert "lint " not in calls
    assert calls[-3:] == ["hbase up --with local", "pytest -n 2 tests/stores", "hbase down --with local"]


def test_missing_debian_packages_are_installed_at_once(script, tmp_path):
    (tmp_path / "bin" / "id").write_text("#!/bin/sh\necho 0\n")
    calls, done = script("test")

    assert done.returncode == 0, done.stderr
    first, second = [call for call in calls if call.startswith(("apt-get update", "apt-get install"))]
    assert first == "apt-get update"
    assert second.endswith(
        " redis-server chromium systemd haproxy stunnel4 valgrind krb5-kdc krb5-admin-server libkrb5-dev"
    )


@pytest.mark.parametrize("name", [None, "chromium", "chromium-browser", "google-chrome"])
def test_a_missing_chromium_or_font_of_a_picture_is_named(script, tmp_path, name):
    for each in (name, "fc-list") if name else ():
        program(tmp_path / "bin" / each)
    (tmp_path / "report.html").touch()
    calls, done = script("picture", str(tmp_path / "report.html"))

    assert "fonts-noto-cjk" in done.stderr
    if name:
        assert done.returncode == 0, done.stderr
        assert calls[-1].startswith("python -m support.picture")
    else:
        assert (calls, done.returncode, done.stdout) == ([], 1, "")
        [sentence] = done.stderr.splitlines()
        assert "apt-get install chromium fonts-noto-cjk" in sentence


SHELL_SCRIPTS = ["docs", "evaluate", "install", "lint", "picture", "quickstart", "test"]


@pytest.mark.parametrize("word", ["-h", "--help"])
@pytest.mark.parametrize("name", [*SHELL_SCRIPTS, "bench", "faults", "simulate-claims"])
def test_help_is_what_the_script_says_of_itself(script, tmp_path, name, word):
    about = (ROOT / "scripts" / name).read_text(encoding="utf-8").splitlines()[1].removeprefix("# ")
    # What is behind the last three knows its options, where it is installed.
    if name not in SHELL_SCRIPTS:
        shutil.rmtree(tmp_path / "clone" / ".venv")

    calls, done = script(name, word)

    assert (calls, done.returncode, done.stderr) == ([], 0, "")
    assert done.stdout.splitlines()[0] == about
    assert f"./scripts/{name}" in about


@pytest.mark.parametrize("name", ["picture", "quickstart"])
def test_a_file_that_is_not_there_is_refused_at_once_in_a_sentence(script, tmp_path, name):
    program(tmp_path / "bin" / "chromium")

    # Nothing is called, so nothing of an earlier run is removed either.
    calls, done = script(name, str(tmp_path / "missing"))

    assert (calls, done.returncode) == ([], 1)
    assert done.stderr == f"{name}: {tmp_path}/missing does not exist\n"


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ([], "quickstart"),
        (["corpus.jsonl"], "quickstart-file"),
        (["--hbase"], "quickstart-hbase"),
        (["--hbase", "corpus.jsonl"], "quickstart-hbase-file"),
    ],
)
def test_a_quickstart_replaces_only_the_earlier_run_of_its_kind(script, tmp_path, monkeypatch, words, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.jsonl").touch()
    calls, _ = script("quickstart", *words)

    assert [call for call in calls if call.startswith("rm ")] == [f"rm -rf .cache/{folder}"]


def test_a_quickstart_that_cannot_run_leaves_the_last_result_alone(script, tmp_path):
    result = tmp_path / "clone" / ".cache" / "quickstart-file" / "clean-corpus.jsonl"
    result.parent.mkdir(parents=True)
    result.touch()
    (tmp_path / "clone" / "scripts" / "hbase").write_text("#!/bin/sh\nexit 1\n")
    replaced = f"quickstart: {result} is of the earlier run, which this one replaces; copy it"
    missing = "quickstart: no HBase is running; ./scripts/hbase up starts one\n"

    for word, sentence in ((str(result), replaced), ("--hbase", missing)):
        calls, done = script("quickstart", word)

        assert (set(calls), done.returncode) == ({"install "}, 1)
        assert done.stderr.startswith(sentence)


def test_a_quickstart_in_hbase_ends_with_what_removes_its_table(script, tmp_path):
    (tmp_path / "clone" / "scripts" / "hbase").write_text("#!/bin/sh\necho 127.0.0.1:9091\n")
    program(tmp_path / "clone" / ".venv" / "bin" / "simhash-hbase")
    (tmp_path / "clone" / ".cache" / "quickstart-hbase-file").mkdir(parents=True)
    (tmp_path / "corpus.jsonl").touch()

    _, done = script("quickstart", "--hbase", str(tmp_path / "corpus.jsonl"))

    assert done.returncode == 0, done.stderr
    [table] = re.findall(r"the index is hbase://127\.0\.0\.1:9091/(\w+)\.\n", done.stdout)
    assert f"disable '{table}' and drop '{table}' in the HBase shell" in done.stdout
    assert "./scripts/hbase clean" in done.stdout


def test_an_extra_that_is_not_there_is_refused_at_once_with_those_that_are(script, tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "clone")
    calls, done = script("install", "html,htlm", PYTHON=sys.executable)

    assert (calls, done.returncode) == ([], 1)
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("install: there is no extra htlm; there are ")
    assert " html, " in sentence


@pytest.mark.parametrize(("extras", "is_there"), [("bench", True), ("", True), ("dev,html", False)])
def test_what_an_earlier_installation_brought_is_not_installed_again(script, tmp_path, extras, is_there):
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "clone")
    shutil.copy(ROOT / "scripts" / "build_kernel.py", tmp_path / "clone" / "scripts")
    kernel = tmp_path / "clone" / "simhash_hbase" / "kernel"
    kernel.mkdir(parents=True)
    (kernel / "normal.py").touch()
    assert any("pip install" in call for call in script("install", "dev,bench", PYTHON=sys.executable)[0])
    (tmp_path / "calls").unlink()

    calls, done = script("install", extras, PYTHON=sys.executable)

    assert done.returncode == 0, done.stderr
    assert (calls == []) == is_there
