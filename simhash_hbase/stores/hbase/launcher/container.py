"""A local HBase as a container of the image that ``docker/hbase/Dockerfile`` describes."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from hashlib import sha256

from simhash_hbase.errors import StoreUnavailable, Unsupported
from simhash_hbase.stores.hbase.launcher.home import CHECKOUT, HOST, Home, await_answers, exclusive, failure
from simhash_hbase.stores.hbase.launcher.local import SINGLE

DOCKERFILE = CHECKOUT / "docker" / "hbase" / "Dockerfile"
IMAGE = "simhash-hbase/hbase"
STOP_S = 30
SETTINGS = ("HBASE_HEAP", "THRIFT_HEAP", "HBASE_SITE", "START_TIMEOUT")
NAME_DIGITS = 12


@dataclass(frozen=True)
class ContainerServer:
    """One container and its data volume, both named after a folder on this machine that notes the ports."""

    home: Home

    @property
    def name(self) -> str:
        """Name of the container and of the volume."""
        return f"simhash-hbase-{sha256(os.fsencode(self.home.path)).hexdigest()[:NAME_DIGITS]}"

    def ports(self) -> dict[str, int] | None:
        """Return the ports by name if the container runs and both gateways answer; else None."""
        ports = self.home.read_ports()
        return ports if ports and self._runs() and failure(ports) is None else None

    def up(self) -> dict[str, int]:
        """Build the image and run it, unless it runs, and return the ports by name."""
        if not DOCKERFILE.exists():
            raise Unsupported("--with docker needs a checkout of the project; --with local needs none, and no Docker")
        if not _engine_answers():
            raise StoreUnavailable("no Docker engine answers; --with local needs none")
        with exclusive(self.home.path / "lock"):
            if (ports := self.ports()) is not None:
                print(f"already up in container {self.name}", file=sys.stderr)
                return ports
            self._remove()
            print(f"building the image {IMAGE} (a minute or two the first time) ...", file=sys.stderr)
            docker("build", "--quiet", "--tag", IMAGE, "--file", str(DOCKERFILE), str(CHECKOUT))
            started = time.monotonic()
            ports = self.home.choose_ports(SINGLE.ports)
            publish = [f"--publish={HOST}:{ports['thrift1']}:9090", f"--publish={HOST}:{ports['thrift2']}:9091"]
            settings = [f"--env={name}" for name in SETTINGS if name in os.environ]
            options = [f"--name={self.name}", *publish, "--env=BIND=0.0.0.0", *settings, f"--volume={self.name}:/data"]
            print(f"starting container {self.name}, which takes up to a minute ...", file=sys.stderr)
            try:
                docker("run", "--detach", *options, IMAGE)
                # Docker's proxy accepts a connection before the gateway is there; it is closed at once then.
                await_answers(
                    ports,
                    trouble=lambda: None if self._runs() else f"the container ended:\n{self._log_end()}",
                    log_end=self._log_end,
                )
            except BaseException:
                self._remove()
                raise
            print(f"ready after {time.monotonic() - started:.1f} s", file=sys.stderr)
            return ports

    def down(self) -> bool:
        """Stop and remove the container; the volume stays. False when nothing ran."""
        ran = _engine_answers() and self._runs()
        if ran:
            self._remove()
        return ran

    def clean(self) -> None:
        """Stop and remove the container, and its volume."""
        self.down()
        if _engine_answers():
            docker("volume", "rm", "--force", self.name)

    def facts(self) -> dict[str, object]:
        """Return what programs may want to know about the server besides its ports: container, volume and image."""
        return {"container": self.name, "volume": self.name, "image": IMAGE}

    def _runs(self) -> bool:
        shown = docker("container", "inspect", "--format={{.State.Running}}", self.name, check=False)
        return shown.stdout.strip() == "true"

    def _remove(self) -> None:
        docker("stop", f"--time={STOP_S}", self.name, check=False, timeout_s=2 * STOP_S)
        docker("rm", "--force", self.name, check=False)

    def _log_end(self) -> str:
        shown = docker("logs", "--tail=15", self.name, check=False)
        return shown.stdout + shown.stderr


def _engine_answers() -> bool:
    try:
        return docker("info", check=False, timeout_s=10).returncode == 0
    except (StoreUnavailable, subprocess.TimeoutExpired):
        return False


def docker(
    *arguments: str, data: bytes = b"", check: bool = True, timeout_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command ``docker`` with arguments and input, and return its output; with `check`, raise if it fails."""
    command = ["docker", *arguments]
    try:
        run = subprocess.run(command, input=data, capture_output=True, check=False, timeout=timeout_s)
    except OSError as error:
        raise StoreUnavailable(f"docker cannot be run: {error.strerror}") from error
    output, complaint = (text.decode(errors="replace") for text in (run.stdout, run.stderr))
    if check and run.returncode:
        raise StoreUnavailable(f"docker {arguments[0]} failed: {(complaint.strip() or output.strip())[-2000:]}")
    return subprocess.CompletedProcess(command, run.returncode, output, complaint)
