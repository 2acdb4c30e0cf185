"""What ``simhash-hbase hbase`` and ``scripts/hbase`` do.

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

ACTIONS = {
    "up": "start it, wait until the gateways answer, print their addresses",
    "down": "stop it; the data stays",
    "status": "print the addresses; exit 1 when it does not answer",
    "clean": "stop it and remove its data",
}
KINDS = ("local", "docker")
ABOUT = """SIMHASH_HBASE_HOME stands for --dir. SIMHASH_HBASE_CACHE keeps the jars (default: the user's cache),
HBASE_HEAP (1g) and THRIFT_HEAP (256m) size the JVMs; HBASE_SITE adds properties, one "name value" a line."""

Server = LocalServer | ContainerServer


def carry_out(action: str, *, folder: Path | None = None, kind: str = "local", as_json: bool = False) -> int:
    """Do one of `ACTIONS` with the server of a folder, and return the exit code."""
    server = find_server(folder, kind)
    match action:
        case "up":
            print_addresses(server.up(), server.home)
        case "down":
            print("stopped" if server.down() else "nothing was running", file=sys.stderr)
        case "clean":
            server.clean()
            print("stopped, and its data is removed", file=sys.stderr)
        case "status":
            return _status(server, as_json=as_json)
    return 0


def find_server(folder: Path | None = None, kind: str = "local") -> Server:
    """Return the server of a folder, or the usual one of a kind; it need not run."""
    home = Home((folder or home_folder(kind)).absolute())
    if kind == "docker":
        return ContainerServer(home)
    return LocalServer(home, Downloads(cache_folder()))


def _status(server: Server, *, as_json: bool) -> int:
    ports = server.ports()
    if as_json:
        print(json.dumps(facts_of(server, ports), indent=1))
        return 0 if ports else 1
    if ports is None:
        print(f"not up in {server.home.path}", file=sys.stderr)
    else:
        print_addresses(ports, server.home)
    return 0 if ports else 1


def print_addresses(ports: Mapping[str, int], home: Home) -> None:
    """Print where the gateways are; the last line is for an index's address."""
    print(f"Folder: {home.path}")
    print(f"Thrift 1: {_gateways(ports, 1)}")
    print("Thrift 2, for hbase://…:")
    print(_gateways(ports, 2))


def _gateways(ports: Mapping[str, int], version: int) -> str:
    return ",".join(f"{HOST}:{port}" for name, port in ports.items() if name.startswith(f"thrift{version}"))


def facts_of(server: Server, ports: Mapping[str, int] | None) -> dict[str, object]:
    """Collect what programs want to know of a server."""
    return {
        "up": ports is not None,
        "with": "docker" if isinstance(server, ContainerServer) else "local",
        "folder": str(server.home.path),
        **{f"thrift{version}": _gateways(ports, version) if ports else None for version in (1, 2)},
        "ports": server.home.read_ports(),
        **server.facts(),
    }
