"""Servers and gateways of a test's own beside the HBase under test, and what the launcher tells of that one."""

import json
import os
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.gates import absent
from support.hbase_server import ENVIRONMENT, SCRIPT, address, launcher_status
from support.listening import free_port, listening
from support.patience import START


def server_status() -> dict[str, str]:
    """Return the folders of the server, its configuration and its jars; skip the test where they cannot be reached."""
    address(2)
    if "conf" not in launcher_status():
        pytest.skip("the server's files cannot be reached: it was started --with docker")
    return launcher_status()


@contextmanager
def own_server(folder, site, variables=()):
    """Start a server of plain processes in a folder; give its status; skip the test where it cannot be started.

    `variables` are further ones of its environment.
    """
    own = {"HBASE_SITE": f"\n{site}\n", "HBASE_HEAP": "512m", "SIMHASH_HBASE_HOME": str(folder)}
    environment = {**ENVIRONMENT, **START, **own, **dict(variables)}

    def run(*words):
        return subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=False, env=environment)

    started = run("up")
    if started.returncode:
        absent(f"no HBase of this test's own starts: {started.stderr}", os.environ)
    try:
        yield json.loads(run("status", "--json").stdout)
    finally:
        run("clean")


def own_gateway(version, log, *options):
    """Start a gateway like the one that runs, but with these options; give its port and its process."""
    return gateway_of(local_status(version), version, log, *options)


def local_status(version):
    """Return the status of the server; skip the test where it is not one of plain processes on this machine."""
    address(version)
    if not launcher_status().get("pids"):
        pytest.skip("no gateway can be started beside one in a container or on another machine")
    return launcher_status()


@contextmanager
def gateway_of(status, version, log, *options, user=None, conf=None, java=()):
    """Start one more gateway of the server with this status.

    If need be as another user of HBase, with files of configuration in front of the server's, and with options of Java.
    """
    running = Path(f"/proc/{status['pids'][f'thrift{version}']}/cmdline").read_text().split("\0")[:-1]
    port = free_port()
    words = [word for word in running[: running.index("-p")] if not word.startswith("-Dprovision")]
    if conf:
        words[words.index("-cp") + 1] = f"{conf}:{words[words.index('-cp') + 1]}"
    words[1:1] = java
    environment = {**os.environ, **({"HADOOP_USER_NAME": user} if user else {})}
    with listening([*words, "-p", str(port), *options], port, log, env=environment) as started:
        yield port, started


SITE = "hbase-site.xml"
HTTP_MODE = "<property><name>hbase.regionserver.thrift.http</name><value>true</value></property>\n</configuration>"
_running = ExitStack()
_addresses = {}


def http_gateway(version, folder):
    """Start a gateway in HTTP mode, with its configuration and its log in a folder; give its port and its process."""
    status = local_status(version)
    site = Path(status["conf"], SITE).read_text()
    (folder / SITE).write_text(site.replace("</configuration>", HTTP_MODE))
    return gateway_of(status, version, folder / "gateway.log", conf=folder)


def http_address(version, folder):
    """Return ``host:port`` of the gateway that all tests of this process share; the first one starts it."""
    if version not in _addresses:
        own = folder / f"http{version}"
        own.mkdir()
        port, _ = _running.enter_context(http_gateway(version, own))
        _addresses[version] = f"127.0.0.1:{port}"
    return _addresses[version]


def stop_http_gateways():
    _addresses.clear()
    _running.close()
