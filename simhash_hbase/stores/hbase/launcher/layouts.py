"""Which processes make a server: one HBase process with two gateways."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simhash_hbase.stores.hbase.launcher.home import FILES, HOST

HBASE = "org.apache.hadoop.hbase"


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
    properties: tuple[Path, ...]  # Files; of two properties with one name HBase takes the later.
    jvm: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, Role]:
        """All processes by name, in the order of starting."""
        return {role.name: role for stage in self.stages for role in stage}


def master(name: str, heap: str, arguments: str, ready: str) -> Role:
    """Return a master, with its heap."""
    return Role(name, "master", f"{HBASE}.master.HMaster", arguments, ("HBASE_HEAP", heap), ready)


def gateway(name: str, heap: str) -> Role:
    """Return a gateway, whose name begins with its Thrift version."""
    main = f"{HBASE}.{'thrift2' if name.startswith('thrift2') else 'thrift'}.ThriftServer"
    return Role(name, "gateway", main, f"-b {HOST} -p {{{name}}}", ("THRIFT_HEAP", heap))


SITE = FILES / "site.properties"
INITIALIZED = "Master has completed initialization"
ABORTED = "ABORTING master"

SINGLE = Layout(
    stages=((master("master", "1g", "start", INITIALIZED), gateway("thrift1", "256m"), gateway("thrift2", "256m")),),
    ports=("zookeeper", "master", "regionserver", "thrift1", "thrift2"),
    properties=(SITE,),
)
