"""An HBase of one's own on this machine, from package registries alone: Java, jars, processes or a container.

Only the standard library and `simhash_hbase.errors` are imported, so ``scripts/hbase`` runs without an installation.
Results go to standard output, and its last line is the address for an index's URL; progress goes to standard error.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from simhash_hbase.stores.hbase.launcher.container import ContainerServer
from simhash_hbase.stores.hbase.launcher.downloads import Downloads
from simhash_hbase.stores.hbase.launcher.home import HOST, Home, cache_folder, home_folder
from simhash_hbase.stores.hbase.launcher.local import LocalServer

__all__ = ["ACTIONS", "KINDS", "Downloads", "cache_folder", "carry_out", "facts_of", "home_folder", "print_addresses"]

ACTIONS = {
    "up": "start it, wait until the gateways answer, print their addresses",
    "down": "stop it; the data stays",
    "status": "print the addresses; exit 1 when it does not answer",
    "clean": "stop it and remove its data",
}
KINDS = ("local", "docker")
Server = LocalServer | ContainerServer


def carry_out(action: str, *, folder: Path | None = None, kind: str = "local", as_json: bool = False) -> int:
    """Do one of `ACTIONS` (up, down, status, clean) with the server of a folder, and return the exit code."""
    home = Home((folder or home_folder(kind)).absolute())
    server: Server = ContainerServer(home) if kind == "docker" else LocalServer(home, Downloads(cache_folder()))
    match action:
        case "up":
            print_addresses(server.up(), home)
        case "down":
            print("stopped" if server.down() else "nothing was running", file=sys.stderr)
        case "clean":
            server.clean()
            print("stopped, and its data is removed", file=sys.stderr)
        case "status":
            ports = server.ports()
            if as_json:
                print(json.dumps(facts_of(server, ports), indent=1))
            elif ports:
                print_addresses(ports, home)
            else:
                print(f"not up in {home.path}", file=sys.stderr)
            return 0 if ports else 1
    return 0


def print_addresses(ports: Mapping[str, int], home: Home) -> None:
    """Print a server's folder and the addresses of its gateways; the last line is what ``hbase://`` needs."""
    print(f"Folder: {home.path}")
    print(f"Thrift 1: {_gateways(ports, 1)}")
    print("Thrift 2, for hbase://…:")
    print(_gateways(ports, 2))


def facts_of(server: Server, ports: Mapping[str, int] | None) -> dict[str, object]:
    """Return the facts about a server that programs need, as JSON values; `ports` is None where it does not run."""
    return {
        "up": ports is not None,
        "with": "docker" if isinstance(server, ContainerServer) else "local",
        "folder": str(server.home.path),
        **{f"thrift{version}": _gateways(ports, version) if ports else None for version in (1, 2)},
        "ports": server.home.read_ports(),
        **server.facts(),
    }


def _gateways(ports: Mapping[str, int], version: int) -> str:
    return ",".join(f"{HOST}:{port}" for name, port in ports.items() if name.startswith(f"thrift{version}"))
