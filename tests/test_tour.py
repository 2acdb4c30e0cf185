"""The tour of README, carried out as it stands there; the figures are the machine's and its Python's."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
PROGRAMS = Path(sys.executable).parent
REST = "…"


def steps():
    """Read the commands of the tour, each with the lines that it shows."""
    [block] = re.findall(r"<!-- tour -->\n```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    parts = [part.splitlines() for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return {command: shown for command, *shown in parts}


def run(folder, command):
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    words = ["bash", "-euc", command]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def likeness(line):
    """Leave out what differs from machine to machine: figures, fingerprints, what is kept of a made corpus."""
    return re.sub(r"\b[0-9a-f]{16}\b|[\d,.:TZ-]*\d[\d,.:TZ-]*", "#", line).rstrip()


def test_the_tour_says_what_it_is_shown_to_say(tmp_path):
    assert len(steps()) == 5
    for command, shown in steps().items():
        done = run(tmp_path, command)
        assert done.returncode == 0, done.stderr
        printed = [likeness(line) for line in (done.stdout + done.stderr).splitlines()]
        if shown[-1] == REST:
            shown.pop()
            del printed[len(shown) :]
        assert printed == [likeness(line) for line in shown], command

    pages = {path.relative_to(tmp_path / "pages").as_posix() for path in (tmp_path / "pages").rglob("*.html")}
    decisions = [json.loads(line) for line in (tmp_path / "decisions.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = {path.relative_to(tmp_path / "clean").as_posix() for path in (tmp_path / "clean").rglob("*.html")}
    assert {decision["id"] for decision in decisions} == pages
    assert {decision["id"] for decision in decisions if decision["status"] == "original"} == kept < pages
    assert "百科-蚕" in (tmp_path / "report.html").read_text(encoding="utf-8")
    again = [json.loads(line)["status"] for line in (tmp_path / "today.jsonl").read_text(encoding="utf-8").splitlines()]
    assert set(again) == {"duplicate"}
