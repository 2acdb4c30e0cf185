"""Java, HBase's jars and the class ``HFileLoader``, which is compiled once for each set of jars."""

import os
from dataclasses import dataclass
from pathlib import Path

from simhash_hbase.errors import SimhashError, StoreRefused
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder

CLASS = "HFileLoader"
SOURCE = Path(__file__).parent / "hfile_loader" / f"{CLASS}.java"
# One thread writes files, so a collector with threads of its own only takes processors from it.
JVM_OPTIONS = ("-Xmx1g", "-XX:+UseSerialGC")


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What is needed to run the class."""

    java: Path
    jars: Path  # HBase's jars, a folder like the ``lib`` of HBase itself.
    classes: Path

    def program(self, conf: Path) -> list[str]:
        """Return the command that runs the class with a configuration folder; arguments are to follow."""
        folders = [self.jars, self.jars / "client-facing-thirdparty"]
        jars = [f"{folder}/*" for folder in folders if folder.is_dir()]
        return [str(self.java), *JVM_OPTIONS, "-cp", os.pathsep.join([str(conf), *jars, str(self.classes)]), CLASS]


def find_tools(*, jars: Path | None, cache: Path) -> Tools:
    """Find or fetch Java and the jars, and compile the class if it is not in the cache."""
    downloads = Downloads(cache_folder(), say=lambda _: None)
    try:
        java = downloads.java()
        found = jars or downloads.jars()
        return Tools(java=java, jars=found, classes=downloads.compiled(SOURCE, found, cache))
    except (SimhashError, OSError) as error:
        raise StoreRefused(f"cannot prepare the HFile loader: {error}") from error
