"""The HBase shell's lines, carried out by a small class: the shell itself is not among the jars."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

from simhash_hbase.bulk.places import JVM_OPTIONS
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder

SOURCE = Path(__file__).parent / "java" / "ShellLines.java"


@contextmanager
def shell_lines(status: Mapping[str, str], folder: Path) -> Iterator[Callable[[str], None]]:
    """Give what carries one line of the shell out on the server of this status."""
    jars, downloads = Path(status["jars"]), Downloads(cache_folder())
    classes = downloads.compiled(SOURCE, jars, downloads.folder / "classes")
    path = os.pathsep.join([status["conf"], f"{jars}/*", str(classes)])

    command = [str(downloads.java()), *JVM_OPTIONS, "-cp", path, "ShellLines"]
    log = (folder / "log").open("w+")
    with log, subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=log, text=True, bufsize=1) as process:

        def run(line):
            process.stdin.write(f"{line}\n")
            said = ""
            while said != "done\n":
                said = process.stdout.readline()
                assert said, Path(log.name).read_text()[-2_000:]

        yield run
