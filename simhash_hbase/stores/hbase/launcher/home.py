"""The folder of a server: its ports, the configuration that HBase reads, and whether its gateways answer.

The gateways are asked real questions, without a Thrift library. Thrift 1 ``getRow("hbase:meta", "x")`` is answered by
the region server, and Thrift 2 ``listNamespaceDescriptors()`` by the master once it has finished starting: an open
port, and even a list of tables, is there earlier. ``docker/hbase/health`` asks the same inside the container.
"""

import fcntl
import json
import os
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path

from simhash_hbase.errors import InvalidArgument, StoreUnavailable

FILES = Path(__file__).parent / "files"
CHECKOUT = Path(__file__).parents[4]  # The project's root, where this is not an installed package.
HOST = "127.0.0.1"
FOLDERS = {"local": "server", "docker": "container"}
# Below the range from which Linux and macOS take the ports of outgoing connections.
PORTS = range(10_000, 32_000)

CALL, REPLY = 0x80010001, 0x80010002
LIST_IN_FIELD_0 = b"\x0f\x00\x00"
QUESTIONS = {
    "thrift1": (b"getRow", b"\x0b\x00\x01\x00\x00\x00\x0ahbase:meta\x0b\x00\x02\x00\x00\x00\x01x\x00"),
    "thrift2": (b"listNamespaceDescriptors", b"\x00"),
}
ANSWER_S = 3.0
PAUSE_S = 0.2
START_S = 180.0


def cache_folder() -> Path:
    """Return the folder for downloads: ``SIMHASH_HBASE_CACHE``, else one in the checkout, else in the user's cache."""
    if given := os.environ.get("SIMHASH_HBASE_CACHE"):
        return Path(given).absolute()
    if (CHECKOUT / "scripts" / "hbase").exists():
        return CHECKOUT / ".cache" / "hbase"
    return users_folder()


def jars_folder(downloads: Path) -> Path:
    """Return the folder for jars: the user's cache for the downloads of a checkout, since all checkouts share it.

    For other folders of downloads it is inside these.
    """
    return (users_folder() if downloads == CHECKOUT / ".cache" / "hbase" else downloads) / "jars"


def users_folder() -> Path:
    """Return this package's folder in the user's cache, such as ``~/.cache/simhash-hbase/hbase``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "simhash-hbase" / "hbase"


def home_folder(kind: str = "local") -> Path:
    """Return the folder of the server: ``SIMHASH_HBASE_HOME``, else one for its kind (local, docker) in the cache."""
    given = os.environ.get("SIMHASH_HBASE_HOME")
    return Path(given) if given else cache_folder() / FOLDERS[kind]


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold a lock file within the block; others wait, and the system frees it however this process ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Home:
    """The folder of one server; refuses a path with characters that Java's class path or HBase cannot have."""

    path: Path

    def __post_init__(self) -> None:
        bad = sorted({character for character in str(self.path) if character in ":*%# \t\n"})
        if bad:
            raise InvalidArgument(f"{self.path} cannot hold an HBase: its path contains {bad[0]!r}; name another one")

    @property
    def conf(self) -> Path:
        """Folder of ``hbase-site.xml``, which clients need too."""
        return self.path / "conf"

    @property
    def data(self) -> Path:
        """Folder of the tables, the write-ahead log and ZooKeeper's files."""
        return self.path / "data"

    @property
    def logs(self) -> Path:
        """Folder of the logs, one for each process."""
        return self.path / "logs"

    def read_ports(self) -> dict[str, int]:
        """Return the server's ports at the last start, by name, such as ``thrift1``; empty before the first start."""
        file = self.path / "ports.json"
        ports: dict[str, int] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        return ports

    def choose_ports(self, names: Sequence[str]) -> dict[str, int]:
        """Return and write down a port for each name: that of the last start if it is free, else another one."""
        kept = {name: port for name, port in self.read_ports().items() if name in names and _is_free(port)}
        for name in names:
            if name not in kept:
                free = (port for port in random.sample(PORTS, 200) if port not in kept.values() and _is_free(port))
                if (port := next(free, None)) is None:
                    raise StoreUnavailable(f"no free port was found from {PORTS.start} to {PORTS.stop - 1}")
                kept[name] = port
        (self.path / "ports.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        return kept

    def write_conf(self, ports: Mapping[str, int], properties: Sequence[Path]) -> None:
        """Write ``hbase-site.xml``, with the properties of ``HBASE_SITE``, and the configuration of logging."""
        self.conf.mkdir(parents=True, exist_ok=True)
        template = "".join(file.read_text("utf-8") for file in properties) + os.environ.get("HBASE_SITE", "")
        site = site_xml(template, {"data": str(self.data), **{name: str(port) for name, port in ports.items()}})
        for name in ("hbase-site.xml", "hdfs-site.xml"):
            (self.conf / name).write_text(site, "utf-8")
        (self.conf / "log4j2.properties").write_bytes((FILES / "log4j2.properties").read_bytes())


def site_xml(template: str, values: Mapping[str, str]) -> str:
    r"""Return the text of ``hbase-site.xml`` from lines of a name and a value, in which ``{name}`` stands for a value.

    `values` has these by name. Of two properties with one name HBase takes the later.

    Examples
    --------
    >>> print(site_xml("# ports\na.port {port}\n", {"port": "7"}), end="")
    <configuration>
    <property><name>a.port</name><value>7</value></property>
    </configuration>
    """
    lines = ["<configuration>"]
    for line in template.splitlines():
        name, _, value = line.strip().partition(" ")
        if name and not name.startswith("#"):
            for key, replacement in values.items():
                value = value.replace(f"{{{key}}}", replacement)
            named, given = escape(name, quote=False), escape(value, quote=False)
            lines.append(f"<property><name>{named}</name><value>{given}</value></property>")
    return "\n".join([*lines, "</configuration>", ""])


def _is_free(port: int) -> bool:
    """Return whether a port can be bound, as Java does it: a connection that was just closed does not block it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def failure(ports: Mapping[str, int]) -> str | None:
    """Return a sentence about the first gateway among some ports that does not answer a question; None if all do."""
    for name, port in ports.items():
        if (question := QUESTIONS.get(name.partition("-")[0])) is None:
            continue
        method, arguments = question
        call = struct.pack(">i", len(method)) + method + bytes(4)
        want = struct.pack(">I", REPLY) + call + LIST_IN_FIELD_0
        got = b""
        try:
            with socket.create_connection((HOST, port), timeout=ANSWER_S) as connection:
                connection.sendall(struct.pack(">I", CALL) + call + arguments)
                while len(got) < len(want) and (piece := connection.recv(len(want) - len(got))):
                    got += piece
        except OSError as error:
            return f"{name} at {HOST}:{port}: {error}"
        if got != want:
            return f"{name} at {HOST}:{port}: {method.decode()} was answered with {got!r}"
    return None


def await_answers(
    ports: Mapping[str, int],
    *,
    trouble: Callable[[], str | None],
    log_end: Callable[[], str],
    is_prepared: Callable[[], bool] = lambda: True,
) -> None:
    """Wait until all gateways among some ports answer; raise `StoreUnavailable` after ``START_TIMEOUT`` seconds.

    It is raised at once when `trouble` returns a sentence. `log_end` returns lines for the error; gateways are not
    asked until `is_prepared` returns true.
    """
    end = time.monotonic() + float(os.environ.get("START_TIMEOUT", START_S))
    while (missing := failure(ports) if is_prepared() else "it is still starting") is not None:
        if (why := trouble()) is not None:
            raise StoreUnavailable(f"HBase did not start: {why}")
        if time.monotonic() > end:
            raise StoreUnavailable(f"HBase was not ready in time ({missing}):\n{log_end()}")
        time.sleep(PAUSE_S)
