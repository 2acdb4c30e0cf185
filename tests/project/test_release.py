"""A release's needs beside the code: one version, a changelog, and files that say what the scripts say."""

import re
import tomllib

import pytest
import yaml
from packaging.version import Version
from support.fresh_clone import ROOT

import simhash_hbase

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASED = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", re.MULTILINE)
RUN_SCRIPT = re.compile(r"(?:\./)?(scripts/[\w.-]+)(?: (--[\w-]+))?")


def test_the_changelog_begins_with_the_version():
    released = RELEASED.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))

    assert released[0] == simhash_hbase.__version__
    assert released == sorted(released, key=Version, reverse=True)
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "simhash_hbase/__init__.py"


def test_tests_and_wheels_are_of_every_version_that_is_named():
    named = [line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)]
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["quick"]["strategy"]["matrix"]

    assert matrix["python"] == named
    assert PROJECT["tool"]["cibuildwheel"]["build"] == [f"cp{version.replace('.', '')}-*" for version in named]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_scripts_that_are_there_with_options_that_they_name(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    commands = "\n".join(step.get("run", "") for job in jobs for step in job.get("steps", ()))

    for name, option in RUN_SCRIPT.findall(commands):
        assert (ROOT / name).exists(), name
        assert option in (ROOT / name).read_text(encoding="utf-8"), (name, option)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_of_others_is_named_by_a_commit_and_its_version(workflow):
    used = re.findall(r"uses: (\S+)(.*)", workflow.read_text(encoding="utf-8"))
    others = [(name, version) for name, version in used if not name.startswith("./")]
    assert others
    pinned = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [name + version for name, version in others if not pinned.fullmatch(name + version)] == []


def test_only_the_job_that_publishes_may_ask_for_an_identity():
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]

    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert "secrets." not in text
    assert jobs["publish"]["needs"] == "build"
