"""An HBase for the benchmark: one of its own, or the one that ``SIMHASH_HBASE_HOME`` names."""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from bench.measuring import microseconds, peer, processor_seconds
from simhash_hbase.bulk import HFileWriter
from simhash_hbase.bulk.places import Tools, find_tools, staging_folder
from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.stores.hbase import HBaseOptions, HBaseStore, parse_url
from simhash_hbase.stores.hbase.table import TableSchema

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "hbase"
CACHE = ROOT / ".cache" / "hbase"
Way: TypeAlias = Literal[1, 2, "rpc"]
"""A Thrift version, or HBase's own RPC."""


class Used(NamedTuple):
    """Seconds of processor time."""

    server: float  # Master and region server.
    gateways: float
    client: float

    def since(self, before: "Used") -> "Used":
        return Used(*(now - then for now, then in zip(self, before, strict=True)))

    def each(self, number: int) -> list[str]:
        """Write what one of so many took: of each process, and in all."""
        return [microseconds(seconds / number) for seconds in (*self, sum(self))]


USED = ("server", "gateway", "client", "in all")
"""Columns of `Used.each`."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A running HBase with both gateways, and the tables that a run made in it."""

    thrift1: str  # ``host:port``.
    thrift2: str
    region_server: str
    conf: Path  # Folder of ``hbase-site.xml``.
    tools: Tools  # Java, HBase's jars, and the class that writes HFiles.
    pids: Mapping[str, int]  # ``master``, which holds the region server too, ``thrift1`` and ``thrift2``.
    made: list[str] = field(default_factory=list)  # Tables.

    def options(self, way: Way, table: str) -> HBaseOptions:
        """Return the options of a table, through Thrift 1 or 2, or for ``rpc`` without a gateway."""
        if way == "rpc":
            return parse_url(f"hbase+rpc://{self.region_server}/{table}")
        gateway = self.thrift1 if way == 1 else self.thrift2
        return parse_url(f"hbase://{gateway}/{table}?version={way}")

    def new_table(self) -> str:
        """Make a table of the default schema: four regions, FAST_DIFF."""
        self.made.append(f"simhash_bench_{secrets.token_hex(4)}")
        HBaseStore.create(self.options(2, self.made[-1]), TableSchema()).close()
        return self.made[-1]

    def used(self, client: int) -> Used:
        """Return the processor time that was used so far, also by a client's process."""
        gateways = sum(processor_seconds(self.pids[name]) for name in ("thrift1", "thrift2"))
        return Used(processor_seconds(self.pids["master"]), gateways, processor_seconds(client))

    def writer(self, table: str) -> HFileWriter:
        return HFileWriter(self.tools.program(self.conf), table, staging_folder(self.conf, None, table))

    def happybase(self) -> Any:
        host, port = self.thrift1.split(":")
        return peer("happybase").Connection(host, int(port))

    def drop(self, table: str) -> None:
        with closing(self.happybase()) as connection:
            connection.delete_table(table, disable=True)
        self.made.remove(table)


@contextmanager
def running_hbase() -> Iterator[Instance]:
    """Bring up an HBase in ``.cache/hbase/bench`` and remove it with its data; one that runs already stays."""
    named = os.environ.get("SIMHASH_HBASE_HOME")
    folder = named or str(CACHE / "bench")
    try:
        if not named:
            _launch("clean", folder)
            _launch("up", folder)
        status = json.loads(_launch("status", folder, "--json"))
        instance = Instance(
            thrift1=status["thrift1"],
            thrift2=status["thrift2"],
            region_server=f"127.0.0.1:{status['ports']['regionserver']}",
            conf=Path(status["conf"]),
            tools=find_tools(jars=Path(status["jars"]), cache=CACHE / "classes"),
            pids=status["pids"],
        )
        try:
            yield instance
        finally:
            for table in list(instance.made):
                instance.drop(table)
    finally:
        if not named:
            _launch("clean", folder)


def _launch(command: str, folder: str, *flags: str) -> str:
    done = subprocess.run([SCRIPT, command, "--dir", folder, *flags], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoreUnavailable(f"scripts/hbase {command} --dir {folder} failed: {done.stderr.strip()}")
    return done.stdout
