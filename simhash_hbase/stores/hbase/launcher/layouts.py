"""Which processes make a server: one HBase process with two gateways, or a small cluster on HDFS."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.hbase.launcher.home import HOST

HBASE = "org.apache.hadoop.hbase"
HDFS = "org.apache.hadoop.hdfs.server"


@dataclass(frozen=True)
class Role:
    """One process of a server; words in braces stand for ports."""

    name: str
    kind: str
    main: str
    arguments: str
    heap: tuple[str, str]  # A variable that sizes it, and the default.
    ready: str = ""  # Words in its log once it is ready; a gateway is asked instead.

    def command(self, ports: Mapping[str, int]) -> list[str]:
        """Return the end of the command, from the size of the heap on."""
        variable, default = self.heap
        words = self.arguments.format_map(ports).split()
        return [f"-Xmx{os.environ.get(variable, default)}", f"-Dservice={self.name}", self.main, *words]


@dataclass(frozen=True)
class Layout:
    """The processes of a server; a stage is started when the one before it is ready, and stopped before it."""

    stages: tuple[tuple[Role, ...], ...]
    ports: tuple[str, ...]
    properties: tuple[str, ...]  # Files; of two properties with one name HBase takes the later.
    jvm: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, Role]:
        """All processes by name, in the order of starting."""
        return {role.name: role for stage in self.stages for role in stage}

    def select(self, words: Sequence[str]) -> list[Role]:
        """Find processes by name, or all of a kind.

        Raises
        ------
        InvalidArgument
            A word is neither a name nor a kind, or there is none.
        """
        found = {}
        for word in words:
            named = [role for role in self.roles.values() if word == role.name]
            named = named or [role for role in self.roles.values() if word == role.kind]
            if not named:
                raise InvalidArgument(f"no process is called {word}: name one of {', '.join(self.roles)}")
            found.update({role.name: role for role in named})
        if not found:
            raise InvalidArgument(f"name a process: {', '.join(self.roles)}")
        return list(found.values())


def _master(name: str, heap: str, arguments: str, ready: str) -> Role:
    return Role(name, "master", f"{HBASE}.master.HMaster", arguments, ("HBASE_HEAP", heap), ready)


def _region_server(name: str) -> Role:
    start = f"-Dhbase.regionserver.port={{{name}}} start"
    main = f"{HBASE}.regionserver.HRegionServer"
    return Role(name, "regionserver", main, start, ("HBASE_HEAP", "256m"), "Serving as ")


def _gateway(name: str, heap: str) -> Role:
    main = f"{HBASE}.{'thrift2' if name.startswith('thrift2') else 'thrift'}.ThriftServer"
    return Role(name, "gateway", main, f"-b {HOST} -p {{{name}}}", ("THRIFT_HEAP", heap))


INITIALIZED = "Master has completed initialization"
ABORTED = "ABORTING master"

SINGLE = Layout(
    stages=((_master("master", "1g", "start", INITIALIZED), _gateway("thrift1", "256m"), _gateway("thrift2", "256m")),),
    ports=("zookeeper", "master", "regionserver", "thrift1", "thrift2"),
    properties=("site.properties",),
)

_STORAGE = (
    Role("namenode", "namenode", f"{HDFS}.namenode.NameNode", "", ("HDFS_HEAP", "128m"), "NameNode RPC up at"),
    Role("datanode", "datanode", f"{HDFS}.datanode.DataNode", "", ("HDFS_HEAP", "128m"), "successfully registered"),
    Role("zookeeper", "zookeeper", f"{HBASE}.zookeeper.HQuorumPeer", "start", ("HDFS_HEAP", "64m"), "binding to port"),
)
_SHRINKING = ("-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=30")
CLUSTER = Layout(
    stages=(
        _STORAGE,
        (
            _master("master", "256m", "start", INITIALIZED),
            _master("backup", "128m", "-Dhbase.master.port={backup} start --backup", "Adding backup master ZNode"),
            *map(_region_server, ("rs1", "rs2", "rs3")),
        ),
        tuple(_gateway(name, "160m") for name in ("thrift1", "thrift1-b", "thrift2", "thrift2-b")),
    ),
    ports=(
        *("namenode", "namenode-http", "datanode", "datanode-http", "datanode-ipc", "zookeeper", "master", "backup"),
        *("rs1", "rs2", "rs3", "thrift1", "thrift1-b", "thrift2", "thrift2-b"),
    ),
    properties=("site.properties", "cluster.properties"),
    # Twelve processes share a small machine.
    jvm=("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms16m", *_SHRINKING),
)
