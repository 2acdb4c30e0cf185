"""Java, HBase's jars and the class ``HFileLoader``, which is compiled once for each set of jars."""

import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

from simhash_hbase.errors import SimhashError, StoreRefused
from simhash_hbase.launcher import Downloads, cache_folder

CLASS = "HFileLoader"
SOURCE = Path(__file__).parent / "hfile_loader" / f"{CLASS}.java"
# One thread writes files, so a collector with threads of its own only takes processors from it.
JVM_OPTIONS = ("-Xmx1g", "-XX:+UseSerialGC")
KEY_BYTES = 8


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
        return Tools(java=java, jars=found, classes=_classes(downloads, found, cache))
    except (SimhashError, OSError) as error:
        raise StoreRefused(f"cannot prepare the HFile loader: {error}") from error


def _classes(downloads: Downloads, jars: Path, cache: Path) -> Path:
    key = blake2b(SOURCE.read_bytes() + str(jars).encode(), digest_size=KEY_BYTES).hexdigest()
    classes = cache / f"{CLASS}-{key}"
    if not classes.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=cache) as made:
            downloads.compile(SOURCE, Path(made, "whole"), jars)
            try:
                Path(made, "whole").rename(classes)
            except OSError:
                # Another process was faster: its folder holds the same.
                if not classes.exists():
                    raise
    return classes
