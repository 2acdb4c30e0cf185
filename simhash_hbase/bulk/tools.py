"""Finds a Java, the jars of HBase and a compiler for the small class ``HFileLoader``, and compiles it once."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import msgspec

from simhash_hbase.errors import StoreRefused, Unsupported

CLASS = "HFileLoader"
# One thread writes files, so a collector with threads of its own only takes processors from it.
JVM_OPTIONS = ("-Xmx1g", "-XX:+UseSerialGC")
KEY_BYTES = 8

TREE = Path(__file__).parents[2] / "docker" / "hbase"
"""Where a checkout keeps the class, and the programs that fetch HBase and Java for ``scripts/hbase``."""

# Those programs have an environment of their own. The first script makes sure of it, the second runs in it.
_ENVIRONMENT = "from provision.environment import environment; print(environment())"
_PROVISION = """
import json, sys
from pathlib import Path
from provision.environment import cache_folder
from provision.jars import fetch
from provision.java import compile_java, find_java
source, classes, jars = sys.argv[1:]
cache = cache_folder() / "jars"
jars = Path(jars) if jars else fetch(Path(source).parents[1] / "jars.lock", cache)
if classes:
    compile_java([Path(source)], Path(classes), jars, cache)
print(json.dumps({"java": str(find_java()), "jars": str(jars)}))
"""


class _Found(msgspec.Struct):
    java: str
    jars: str


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What is needed to run the class."""

    java: Path
    """The program."""
    jars: Path
    """HBase's jars, a folder like the ``lib`` of HBase itself."""
    classes: Path
    """The folder of the compiled class."""

    def program(self, conf: Path) -> list[str]:
        """Make the command that runs the class with the configuration in a folder; arguments are to follow."""
        folders = [self.jars, self.jars / "client-facing-thirdparty"]
        jars = [f"{folder}/*" for folder in folders if folder.is_dir()]
        return [str(self.java), *JVM_OPTIONS, "-cp", os.pathsep.join([str(conf), *jars, str(self.classes)]), CLASS]


def find_tools(*, jars: Path | None, cache: Path, environment: Mapping[str, str]) -> Tools:
    """Find everything, and compile the class where it was not yet."""
    source = TREE / "java" / f"{CLASS}.java"
    if not source.exists():
        raise Unsupported(f"HFiles need {CLASS}.java, which a checkout of the project has under docker/hbase/java")
    python = _python(jars, environment)
    classes = _classes_folder(source, jars, cache)
    if classes.exists():
        found = _provision(python, source, None, jars, environment)
    else:
        classes.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=classes.parent) as made:
            found = _provision(python, source, Path(made), jars, environment)
            # Whole or not at all; where another process was faster, its folder holds the same.
            shutil.copytree(made, f"{made}.whole")
            _rename(Path(f"{made}.whole"), classes)
    return Tools(java=Path(found.java), jars=Path(found.jars), classes=classes)


def _python(jars: Path | None, environment: Mapping[str, str]) -> str:
    """Choose what runs the programs of ``scripts/hbase``: this Python where nothing is to be fetched."""
    home = environment.get("JAVA_HOME")
    path = str(Path(home) / "bin") if home else environment.get("PATH", "")
    if jars is not None and shutil.which("java", path=path) and shutil.which("javac", path=path):
        return sys.executable
    return _run([sys.executable, "-c", _ENVIRONMENT], environment)


def _provision(
    python: str, source: Path, classes: Path | None, jars: Path | None, environment: Mapping[str, str]
) -> _Found:
    words = [python, "-c", _PROVISION, str(source), str(classes or ""), str(jars or "")]
    return msgspec.json.decode(_run(words, environment), type=_Found)


def _classes_folder(source: Path, jars: Path | None, cache: Path) -> Path:
    key = blake2b(source.read_bytes() + str(jars).encode(), digest_size=KEY_BYTES).hexdigest()
    return cache / f"{CLASS}-{key}"


def _rename(made: Path, wanted: Path) -> None:
    try:
        made.rename(wanted)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not wanted.exists():
            raise


def _run(words: list[str], environment: Mapping[str, str]) -> str:
    """Run one of the programs and return the last line that it prints."""
    done = subprocess.run(
        words, env={**environment, "PYTHONPATH": str(TREE)}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = " / ".join(line for line in done.stderr.splitlines()[-4:] if line.strip())
        raise StoreRefused(f"what HFiles need cannot be had: {said}")
    return done.stdout.splitlines()[-1]
