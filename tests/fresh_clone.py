"""A fresh clone of the project, and an environment for it that has what an installation would bring, and no more."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from gates import MUST_RUN
from packaging.requirements import Requirement

__all__ = ["blocks", "clone", "provide", "run"]

ROOT = Path(__file__).parents[1]
PROJECT = "simhash-hbase"
PROGRAM = """#!{python}
import sys
from simhash_hbase.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""


def blocks():
    """Return the blocks of commands of README by their names."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- (\w+) -->\n```console\n(.*?)```", text, re.DOTALL))


def clone(folder):
    """Copy what git has or would take."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return folder


def provide(folder, extras):
    """Prepare the environment that ``scripts/install EXTRAS`` makes from a package index; a gate has it do so itself.

    Only distributions that the project asks for with these extras are there: a command that needs another one fails.
    """
    if os.environ.get(MUST_RUN):
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
    # Younger than pyproject.toml: there is nothing to install.
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
