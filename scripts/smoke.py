"""A smoke run of an installed package, for the wheels of every platform: compiled kernel, an index, a near copy."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import simhash_hbase
from simhash_hbase.kernel import COMPILED, description

TEXT = (
    "市政府昨天召开会议，讨论城市东部的新地铁线路。会议决定，工程将在明年三月开始，预计三年完成，沿线设十二个车站。" * 3
)


def main() -> None:
    """End with a sentence, and exit code 1, where something is not as it should be."""
    if not COMPILED:
        sys.exit(f"smoke: the kernel is {description()}")
    with TemporaryDirectory() as folder, simhash_hbase.create_index(f"file:{Path(folder, 'index')}") as index:
        index.add("wire/1", TEXT)
        [match] = index.query(TEXT.replace("昨天", "昨日") + "本报记者报道。").matches
    if match.id != "wire/1":
        sys.exit(f"smoke: the near copy matches {match.id!r}")
    program = Path(sys.executable).with_name("simhash-hbase")
    subprocess.run([program, "--version"], check=True)
    print(f"smoke: simhash-hbase {simhash_hbase.__version__} works; distance {match.distance}")


if __name__ == "__main__":
    main()
