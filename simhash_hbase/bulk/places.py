"""Places that a load by HFiles needs: Java, HBase's jars and configuration, a staging folder, or HBase's container."""

import json
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

from simhash_hbase.errors import InvalidArgument, SimhashError, StoreRefused
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder
from simhash_hbase.stores.hbase.launcher.container import docker

CLASS = "HFileLoader"
SOURCE = Path(__file__).parent / "hfile_loader" / f"{CLASS}.java"
# A parallel collector would take processors from the only thread that writes files.
JVM_OPTIONS = ("-Xmx1g", "-XX:+UseSerialGC")


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Paths of the program ``java``, of HBase's jars, and of the compiled class that writes HFiles."""

    java: Path
    jars: Path  # HBase's jars, a folder like the ``lib`` of HBase itself.
    classes: Path

    def program(self, conf: Path) -> list[str]:
        """Return the command that runs the class, without its arguments; `conf` is a folder with hbase-site.xml."""
        folders = [self.jars, self.jars / "client-facing-thirdparty"]
        jars = [f"{folder}/*" for folder in folders if folder.is_dir()]
        return [str(self.java), *JVM_OPTIONS, "-cp", os.pathsep.join([str(conf), *jars, str(self.classes)]), CLASS]


def find_tools(*, jars: Path | None, cache: Path) -> Tools:
    """Return the paths of Java, HBase's jars and the compiled class; download or compile those that are not cached.

    `jars` is a folder of HBase's jars that is used instead of downloaded ones; `cache` takes the compiled class.
    """
    downloads = Downloads(cache_folder(), say=lambda _: None)
    try:
        java = downloads.java()
        found = jars or downloads.jars()
        return Tools(java=java, jars=found, classes=downloads.compiled(SOURCE, found, cache))
    except (SimhashError, OSError) as error:
        raise StoreRefused(f"cannot prepare the HFile loader: {error}") from error


SITE = "hbase-site.xml"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
IN_CONTAINER = "/tmp/simhash-hbase-"
CONTAINER_STAGING = "/data"
UNPACK = 'mkdir -p "$0" && tar --extract --directory "$0"'


def local_configuration(home: Path, gateways: Iterable[tuple[str, int]]) -> Path | None:
    """Return the configuration folder of the HBase that ``hbase up`` started on this machine, or None.

    None means that there is none, or that a host and port of `gateways` is not its own. `home` is that HBase's folder.
    """
    try:
        ports = json.loads((home / "ports.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    conf = home / "conf"
    is_own = all(host in LOOPBACK and port in ports.values() for host, port in gateways)
    return conf if is_own and (conf / SITE).exists() else None


def staging_folder(conf: Path, given: str | None, token: str) -> str:
    """Return the path of the staging folder, where a load's HFiles lie until HBase takes them over; it is not made.

    It is below `given`, or if that is None, beside the data of a local HBase; `token` is the load's own name.
    """
    path = conf / SITE
    try:
        root = ElementTree.parse(path).getroot()
    except FileNotFoundError as error:
        raise InvalidArgument(f"{conf} is not a configuration of HBase: it has no {SITE}") from error
    except ElementTree.ParseError as error:
        raise InvalidArgument(f"{path} is not XML: {error}") from error
    if given is not None:
        return f"{given.rstrip('/')}/simhash-hbase-load-{token}"
    named = {item.findtext("name", "").strip(): item.findtext("value", "").strip() for item in root.iter("property")}
    data = named.get("hbase.rootdir", "")
    where = urlsplit(data)
    # A cluster of scripts/faults has an HDFS on the loopback address.
    if where.scheme != "file" and where.hostname not in LOOPBACK:
        raise InvalidArgument(
            f"{conf}: HBase keeps its data in {data or 'a folder that is not named there'}: add `staging=PATH`"
        )
    return f"{data.rstrip('/')}-staging/{token}"


def container_program(name: str, classes: Path) -> list[str]:
    """Copy the class that writes HFiles into a container of ``docker/hbase``; return the command that runs it there."""
    shown = docker("exec", name, "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null; true")
    words = shown.stdout.split("\0")
    class_paths = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-cp"]
    if not class_paths:
        raise StoreRefused(f"no HBase runs in container {name}")
    folder = f"{IN_CONTAINER}{classes.name}"
    # Not docker cp: it keeps this machine's permissions, and makes root the owner.
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(classes.iterdir()):
            archive.add(path, path.name)
    docker("exec", "--interactive", name, "sh", "-c", UNPACK, folder, data=packed.getvalue())
    java = ["java", *JVM_OPTIONS, "-cp", f"{class_paths[0]}:{folder}", CLASS]
    return ["docker", "exec", "--interactive", name, *java]
