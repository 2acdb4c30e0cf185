"""A real Prometheus for the tests: its programs, and a server that reads a service."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from support.gates import absent
from support.listening import listening
from support.patience import END_S
from support.serving import wait_for

DOCKER = Path(__file__).parents[2] / "docker"
# Where ./scripts/test unpacks Debian's package: installed, it would start a server of its own.
UNPACKED = Path(__file__).parents[2] / ".cache" / "prometheus" / "usr" / "bin"


def program(name: str) -> str:
    """Return the path of one of Prometheus' programs; without it the test is skipped, but never in CI."""
    found = shutil.which(name) or shutil.which(name, path=str(UNPACKED))
    if found is None:
        absent(f"no {name} here: ./scripts/test fetches it on Debian")
    return found


def promtool(*words: str | Path) -> str:
    """Run promtool, which must find nothing wrong; return what it says."""
    done = subprocess.run([program("promtool"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Prometheus:
    """A running Prometheus."""

    def __init__(self, client: httpx.Client):
        self._client = client

    def get(self, path: str, **parameters: str) -> dict:
        answer = self._client.get(f"/api/v1/{path}", params=parameters)
        answer.raise_for_status()
        return answer.json()["data"]

    def query(self, expression: str) -> list[dict]:
        return self.get("query", query=expression)["result"]


@contextmanager
def watching(config: Path, port: int, folder: Path) -> Iterator[Prometheus]:
    address = f"127.0.0.1:{port}"
    words = [f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}"]
    with (
        listening([program("prometheus"), *words], port, folder / "prometheus.log"),
        httpx.Client(base_url=f"http://{address}", timeout=END_S) as client,
    ):
        wait_for(lambda: client.get("/-/ready").status_code == httpx.codes.OK)
        yield Prometheus(client)
