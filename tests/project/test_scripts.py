"""What the scripts do before their work, by programs that only note how they were called."""

import json
import os
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

    def run(name, *words, stderr=subprocess.PIPE, **variables):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
        environment = {"PATH": str(programs), "CALLS": str(calls), "SIMHASH_HBASE_TEST_SERVER": "local", **variables}
        done = subprocess.run(
            [folder / "scripts" / name, *words],
            env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False,
        )  # fmt: skip
        return calls.read_text().splitlines() if calls.exists() else [], done

    return run


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.html"
    path.touch()
    return path


def test_chosen_tests_that_need_no_hbase_start_none_and_neither_lint_nor_install_packages(script):
    calls, done = script("test", "tests/rows/test_rowkey.py", "tests/index")

    assert done.returncode == 0, done.stderr
    collected = "pytest --collect-only -qq tests/rows/test_rowkey.py tests/index -m hbase"
    assert calls == ["install test", collected, "pytest -n 2 tests/rows/test_rowkey.py tests/index"]


def test_a_quick_run_is_lint_and_the_tests_without_servers(script):
    calls, done = script("test", "--quick")

    assert done.returncode == 0, done.stderr
    ran = "pytest -n 2 -q -m not hbase and not server and not slow"
    assert calls[0] == "install dev"
    assert sorted(calls[1:]) == ["lint ", ran]


def test_a_quick_run_fails_where_lint_fails(script, tmp_path):
    lint = tmp_path / "clone" / "scripts" / "lint"
    lint.write_text("#!/bin/sh\necho a fault; exit 3\n")

    _, done = script("test", "--quick")

    assert (done.returncode, done.stdout) == (3, "a fault\n")


def test_coverage_has_the_kernel_interpreted_and_is_printed(script):
    calls, done = script("test", "--coverage", "tests/kernel")

    assert done.returncode == 0, done.stderr
    assert calls[0] == "install dev,bench"
    assert [*calls[2:5], *sorted(calls[5:])] == [
        "pytest -n 2 --cov --cov-report= -m not unmeasured tests/kernel",
        "pytest -n 2 -q --cov --cov-append --cov-report= tests/kernel",
        "coverage report",
        "coverage json -q -o -",
        "python scripts/covered.py",
    ]


def test_the_shares_of_lines_and_branches_are_told_apart():
    totals = {"num_statements": 4_000, "covered_lines": 3_900, "num_branches": 200, "covered_branches": 181}

    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "covered.py"],
        input=json.dumps({"totals": totals}), capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == "lines: 97.5 % of 4,000\nbranches: 90.5 % of 200\n"


def test_chosen_tests_that_need_hbase_have_it(script):
    calls, done = script("test", "tests/stores", COLLECTED="0")

    assert calls[2:] == ["hbase up --with local", "pytest -n 2 tests/stores", "hbase down --with local"]
    assert "test: starting HBase" in done.stderr


def test_all_tests_run_after_lint_beside_hbase(script):
    calls, done = script("test")

    assert calls[:2] == ["install dev,bench", "lint "]
    assert calls[-3:] == ["hbase up --with local", "pytest -n 2", "hbase down --with local"]
    assert not any("collect" in call for call in calls)
    assert "test: lint" in done.stderr


def test_a_picture_without_chromium_is_refused_at_once_in_a_sentence(script, report):
    calls, done = script("picture", str(report))

    assert (calls, done.returncode, done.stdout) == ([], 1, "")
    [sentence] = done.stderr.splitlines()
    assert "apt-get install chromium fonts-noto-cjk" in sentence


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_picture_names_the_font_that_is_missing(script, report, tmp_path, name):
    for each in (name, "fc-list"):
        program(tmp_path / "bin" / each)

    calls, done = script("picture", str(report))

    assert done.returncode == 0, done.stderr
    assert calls[-1].startswith("python -m support.picture")
    assert "fonts-noto-cjk" in done.stderr


SHELL_SCRIPTS = ["docs", "evaluate", "install", "lint", "picture", "quickstart", "test"]


@pytest.mark.parametrize("word", ["-h", "--help"])
@pytest.mark.parametrize("name", [*SHELL_SCRIPTS, "bench", "faults", "simulate-claims"])
def test_help_is_what_the_script_says_of_itself_and_starts_nothing(script, tmp_path, name, word):
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


def test_a_quickstart_of_a_result_that_it_would_replace_is_refused(script, tmp_path):
    result = tmp_path / "clone" / ".cache" / "quickstart-file" / "clean-corpus.jsonl"
    result.parent.mkdir(parents=True)
    result.touch()

    calls, done = script("quickstart", str(result))

    assert (calls, done.returncode) == (["install "], 1)
    assert done.stderr.startswith(f"quickstart: {result} is of the earlier run, which this one replaces; copy it")


def test_a_quickstart_without_an_hbase_leaves_the_last_one_alone(script, tmp_path):
    hbase = tmp_path / "clone" / "scripts" / "hbase"
    hbase.write_text("#!/bin/sh\nexit 1\n")

    calls, done = script("quickstart", "--hbase")

    assert (calls, done.returncode) == (["install "], 1)
    assert done.stderr == "quickstart: no HBase is running; ./scripts/hbase up starts one\n"


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


def test_pip_shows_its_progress_on_a_terminal_alone(script, tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "clone")
    terminal, other_end = os.openpty()

    calls, _ = script("install", "html", PYTHON=sys.executable)
    on_terminal, _ = script("install", "html", PYTHON=sys.executable, stderr=other_end, SIMHASH_HBASE_PURE="1")

    os.close(terminal)
    os.close(other_end)
    installs = [call.partition(" -e ")[0] for call in on_terminal if "pip install" in call]
    assert calls[0] in on_terminal
    assert installs == [
        "python -m pip install -qq --disable-pip-version-check --no-compile",
        "python -m pip install --disable-pip-version-check --no-compile",
    ]


def test_an_extra_that_is_not_there_is_refused_at_once_with_those_that_are(script, tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "clone")

    calls, done = script("install", "html,htlm", PYTHON=sys.executable)

    assert (calls, done.returncode) == ([], 1)
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("install: there is no extra htlm; there are ")
    assert " html, " in sentence


def test_an_installation_says_so_before_it_makes_the_environment(script, tmp_path):
    shutil.rmtree(tmp_path / "clone" / ".venv")
    python = tmp_path / "bin" / "python3"
    python.write_text("#!/bin/sh\ncase $2 in venv) echo making >&2; exit 1;; esac\n")
    python.chmod(0o755)

    _, done = script("install", "html")

    said, made = done.stderr.splitlines()
    assert said.startswith("install: installing simhash-hbase[html] into .venv")
    assert made == "making"
