"""A fresh clone of the project, and an environment for it that has what an installation would bring, and no more."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from support.gates import MUST_RUN

ROOT = Path(__file__).parents[2]
PROJECT = "simhash-hbase"
REST = "…"
"""A page leaves the rest of the lines out."""
PROGRAM = """#!{python}
import sys
from simhash_hbase.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""


def tracked(*patterns):
    """List the files that git has or would take, below the project."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return [Path(name) for name in names if name and (ROOT / name).is_file()]


def pages():
    return {path: text for path, text in _texts() if not _is_translation(path)}


def translations():
    """Return the Chinese pages, whose commands are those of the others."""
    return {path: text for path, text in _texts() if _is_translation(path)}


def _texts():
    return [(path, (ROOT / path).read_text(encoding="utf-8")) for path in tracked("*.md")]


def _is_translation(path):
    return path.name.endswith(".zh-CN.md")


def blocks(language="console"):
    """Return the named blocks of all pages, the commands or those of another language."""
    found = [
        block
        for text in pages().values()
        for block in re.findall(rf"<!-- (\w+) -->\n```{language}\n(.*?)```", text, re.DOTALL)
    ]
    named = dict(found)
    assert len(named) == len(found), f"two blocks have one name: {[name for name, _ in found]}"
    return named


def split(block):
    """Return the commands of a block, each with the lines that it shows; one of several lines becomes one line."""
    block = re.sub(r"\\\n *", "", block)
    parts = [part.splitlines() for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return {command: shown for command, *shown in parts}


def with_names(text, names):
    """Put names of a test's own in the place of those that a page shows, each of which must be there."""
    for shown, own in names.items():
        assert shown in text
        text = text.replace(shown, own)
    return text


def likeness(line):
    """Leave out what differs from machine to machine: figures, fingerprints, what is kept of a made corpus."""
    return re.sub(r"\b[0-9a-f]{16}\b|[\d,.:TZ-]*\d[\d,.:TZ-]*", "#", line).rstrip()


MAY_BE_PRINTED = re.compile(r"install: installing|[\w: ]+: \d+%, ")
"""An installation that is not there yet says that it is made; a command that takes long shows its progress."""


def assert_printed(shown, done):
    """Compare what a command printed with the lines that a page shows, up to figures and to the end of the latter."""
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    printed = [likeness(line) for line in lines if not MAY_BE_PRINTED.match(line)]
    if shown and shown[-1] == REST:
        shown = shown[:-1]
        del printed[len(shown) :]
    assert printed == [likeness(line) for line in shown], done.args


def clone(folder):
    """Copy what git has or would take."""
    for name in tracked():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder


def left_untracked(folder):
    """Return the files of a clone that git would take if a user committed all: they are neither ignored nor tracked."""
    made = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    new = {name for name in made - set(map(str, tracked())) if not name.startswith(".venv/")}
    words = ["git", "check-ignore", "--no-index", "--stdin", "-z"]
    done = subprocess.run(words, cwd=ROOT, input="\0".join(new), capture_output=True, text=True, check=False)
    return new - set(done.stdout.split("\0"))


def copy_kernel(folder):
    """Copy the compiled modules of the kernel; what builds or installs takes those that are up to date."""
    for module in ROOT.glob("simhash_hbase/kernel/*.so"):
        shutil.copy2(module, folder / "simhash_hbase" / "kernel")


def provide(folder, extras, *, in_gate=True):
    """Prepare the environment that ``scripts/install EXTRAS`` makes from a package index.

    A test of the installation itself says ``in_gate=False``: in a gate the script installs then, which takes a minute.
    The kernel is compiled as here. Only distributions that the project asks for with these extras are there: a command
    that needs another one fails.
    """
    copy_kernel(folder)
    if os.environ.get(MUST_RUN) and not in_gate:
        return
    environment = folder / ".venv"
    if not environment.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        program = environment / "bin" / PROJECT
        program.write_text(PROGRAM.format(python=environment / "bin" / "python"))
        program.chmod(0o755)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))
    (packages / "project.pth").write_text(str(folder))
    for found in needed(Requirement(f"{PROJECT}[{extras}]"), {}).values():
        for name in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(found.locate_file(name))))
    # Younger than all that is built: there is nothing to install.
    (environment / f".installed-{extras.replace(',', '-')}").touch()


def needed(requirement, found):
    """Gather the distributions that a requirement asks for, with their own."""
    key = f"{requirement.name}[{','.join(sorted(requirement.extras))}]".lower()
    if key in found:
        return found
    try:
        found[key] = distribution(requirement.name)
    except PackageNotFoundError:
        return found
    for line in found[key].requires or ():
        inner = Requirement(line)
        if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)):
            needed(inner, found)
    return found


def run(folder, script, **options):
    """Run commands in a shell of their own, as a user does who has nothing set up."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIMHASH_HBASE_", "VIRTUAL_ENV"))}
    programs = kept["PATH"].split(os.pathsep)
    kept["PATH"] = os.pathsep.join(folder for folder in programs if folder != str(Path(sys.executable).parent))
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env={**kept, **options}, capture_output=True, text=True, check=False)
