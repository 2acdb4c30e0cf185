"""Where a server's files are, its ports, and what is written for HBase to read."""

import json
import os
import random
import socket
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from provision.errors import ProvisionError

_RESOURCES = Path(__file__).parent.parent
PORT_NAMES = ("zookeeper", "master", "regionserver", "thrift1", "thrift2")
# Below the range from which Linux and macOS take the ports of outgoing connections.
_PORT_RANGE = range(10_000, 32_000)


@dataclass(frozen=True, kw_only=True)
class Home:
    """The folder of one server.

    Parameters
    ----------
    path : Path
        An absolute path.

    Raises
    ------
    ProvisionError
        When the path has a character that Java's class path or HBase's file names cannot hold.
    """

    path: Path

    def __post_init__(self) -> None:
        bad = sorted({character for character in str(self.path) if character in ":*%# \t\n"})
        if bad:
            raise ProvisionError(f"{self.path} cannot hold an HBase: its path contains {bad[0]!r}.")

    @property
    def conf(self) -> Path:
        """Folder of ``hbase-site.xml``, as clients need it too."""
        return self.path / "conf"

    @property
    def data(self) -> Path:
        """The tables, the write-ahead log and ZooKeeper's files."""
        return self.path / "data"

    @property
    def logs(self) -> Path:
        """One log a process."""
        return self.path / "logs"

    @property
    def ports_file(self) -> Path:
        """Ports chosen at the first start."""
        return self.path / "ports.json"

    def read_ports(self) -> dict[str, int]:
        """Read the ports of the last start.

        Returns
        -------
        dict[str, int]
            Port by name; empty before the first start.
        """
        if not self.ports_file.exists():
            return {}
        ports: dict[str, int] = json.loads(self.ports_file.read_text("utf-8"))
        return ports

    def choose_ports(self) -> dict[str, int]:
        """Keep the ports of the last start where they are free, and choose others where not.

        Returns
        -------
        dict[str, int]
            Port by name, for all of :data:`PORT_NAMES`; written down.
        """
        kept = {name: port for name, port in self.read_ports().items() if is_free(port)}
        taken = set(kept.values())
        for name in PORT_NAMES:
            if name not in kept:
                kept[name] = _free_port(taken)
                taken.add(kept[name])
        self.ports_file.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        return kept

    def write_conf(self, ports: dict[str, int]) -> None:
        """Write ``hbase-site.xml`` and the logging configuration.

        Parameters
        ----------
        ports : dict[str, int]
            As :meth:`choose_ports` answers.
        """
        self.conf.mkdir(parents=True, exist_ok=True)
        values = {"data": str(self.data), **{name: str(port) for name, port in ports.items()}}
        template = (_RESOURCES / "site.properties").read_text("utf-8")
        site = site_xml(template + os.environ.get("HBASE_SITE", ""), values)
        (self.conf / "hbase-site.xml").write_text(site, "utf-8")
        logging = (_RESOURCES / "log4j2.properties").read_text("utf-8")
        (self.conf / "log4j2.properties").write_text(logging, "utf-8")


def site_xml(template: str, values: dict[str, str]) -> str:
    r"""Make the text of ``hbase-site.xml``.

    Parameters
    ----------
    template : str
        One ``name value`` a line; of two lines with one name HBase takes the later.
    values : dict[str, str]
        What stands for ``{name}`` in a value.

    Returns
    -------
    str
        The XML.

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
        if not name or name.startswith("#"):
            continue
        for key, replacement in values.items():
            value = value.replace(f"{{{key}}}", replacement)
        lines.append(f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>")
    return "\n".join([*lines, "</configuration>", ""])


def is_free(port: int) -> bool:
    """Tell whether nobody listens on a port of the loopback address.

    Parameters
    ----------
    port : int
        The port.

    Returns
    -------
    bool
        True when it can be bound as Java binds it (a connection just closed does not block it).
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port(taken: set[int]) -> int:
    for port in random.sample(_PORT_RANGE, 200):
        if port not in taken and is_free(port):
            return port
    raise ProvisionError(f"No free port was found from {_PORT_RANGE.start} to {_PORT_RANGE.stop - 1}.")
