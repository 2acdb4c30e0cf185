"""What ``simhash-hbase hbase`` and ``scripts/hbase`` do.

Results go to standard output, and its last line is the address for an index's URL; progress goes to standard error.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from simhash_hbase.launcher.container import ContainerServer
from simhash_hbase.launcher.downloads import Downloads
from simhash_hbase.launcher.home import HOST, Home, cache_folder, home_folder
from simhash_hbase.launcher.local import LocalServer

ACTIONS = {
    "up": "start it, wait until both gateways answer, print their addresses",
    "down": "stop it; the data stays",
    "status": "print the addresses; exit 1 when it does not answer",
    "clean": "stop it and remove its data",
}
KINDS = ("local", "docker")
ABOUT = """SIMHASH_HBASE_HOME stands for --dir. SIMHASH_HBASE_CACHE (default .cache/hbase) keeps the jars,
HBASE_HEAP (1g) and THRIFT_HEAP (256m) size the JVMs, HBASE_SITE adds properties, one "name value" a line."""

Server = LocalServer | ContainerServer


def carry_out(action: str, *, folder: Path | None = None, kind: str = "local", as_json: bool = False) -> int:
    """Do one of `ACTIONS` with the server of a folder, and return the exit code."""
    home = Home((folder or home_folder(kind)).absolute())
    server = ContainerServer(home) if kind == "docker" else LocalServer(home, Downloads(cache_folder()))
    match action:
        case "up":
            _print_addresses(server.up(), home)
        case "down":
            print("stopped" if server.down() else "nothing was running", file=sys.stderr)
        case "clean":
            server.clean()
            print("stopped, and its data is removed", file=sys.stderr)
        case _:
            return _status(server, as_json=as_json)
    return 0


def _status(server: Server, *, as_json: bool) -> int:
    ports = server.ports()
    if as_json:
        print(json.dumps(_facts(server, ports), indent=1))
    elif ports is None:
        print(f"not up in {server.home.path}", file=sys.stderr)
    else:
        _print_addresses(ports, server.home)
    return 0 if ports else 1


def _print_addresses(ports: Mapping[str, int], home: Home) -> None:
    print(f"Folder: {home.path}")
    print(f"Thrift 1: {HOST}:{ports['thrift1']}")
    print("Thrift 2, for hbase://…:")
    print(f"{HOST}:{ports['thrift2']}")


def _facts(server: Server, ports: Mapping[str, int] | None) -> dict[str, object]:
    return {
        "up": ports is not None,
        "with": "docker" if isinstance(server, ContainerServer) else "local",
        "folder": str(server.home.path),
        **{name: f"{HOST}:{ports[name]}" if ports else None for name in ("thrift1", "thrift2")},
        "ports": server.home.read_ports(),
        **server.facts(),
    }
