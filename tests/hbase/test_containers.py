"""The containers brought up as they are: HBase alone, and the compose file with service, proxy and Prometheus."""

import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import httpx
import pytest
import yaml
from support.gates import absent
from support.patience import START
from support.serving import wait_for

from simhash_hbase import create_index, open_index

pytestmark = [
    pytest.mark.hbase,
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("SIMHASH_HBASE_TEST_SERVER") != "docker", reason="the server is no container"),
]

ROOT = Path(__file__).parents[2]
STOP_S = 60
FILE = ROOT / "docker" / "compose.yaml"
# Each process has a project of its own: what one takes down is not what another brings up.
PROJECT = f"simhash-hbase-test-{os.getpid()}"
MOST_MB = {"service": 280, "prometheus": 230}
"""A fifth more than they have on Debian 12."""
TEXT = "施工单位应当在开工前报告，没有按时报告的，由交通局通报批评。" * 9


def output(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


docker = partial(output, "docker")


@pytest.fixture
def hbase(tmp_path):
    """Return a function that runs ``scripts/hbase`` with a container of the test's own."""
    home = {**os.environ, **START, "SIMHASH_HBASE_HOME": str(tmp_path)}

    def run(*words):
        return output(ROOT / "scripts/hbase", *words, "--with", "docker", env=home)

    yield run
    run("clean")


def test_the_volume_of_a_stopped_container_keeps_the_documents(hbase, tmp_path):
    url = f"hbase://{hbase('up').split()[-1]}/kept"
    with create_index(url, analyzer="shingle") as index:
        index.add("a", TEXT)
    name = json.loads(hbase("status", "--json"))["container"]

    docker("stop", f"--time={STOP_S}", name, timeout=2 * STOP_S)

    assert docker("inspect", "--format={{.State.ExitCode}}", name).strip() == "0"
    assert docker("logs", "--tail=1", name).split() == ["entrypoint:", "stopped"]
    hbase("up")
    with open_index(url) as index:
        assert [stored.id for stored in index.export()] == ["a"]
        assert index.verify().wrong == 0


def program():
    """Return the words that start compose: the engine's plug-in, or the program that came before it."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose") is None:
        absent("no docker compose here: apt-get install docker-compose, as root")
    return ["docker-compose"]


@pytest.fixture
def compose(tmp_path):
    """Return a function that runs compose, with ports that the engine chooses and a password for Grafana."""
    password = tmp_path / "password"
    password.write_text("some password")
    ports = dict.fromkeys(("THRIFT1_PORT", "THRIFT2_PORT", "SERVICE_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT"), "0")
    own = {"CREATE": "--analyzer shingle", "GRAFANA_PASSWORD_FILE": str(password)}
    environment = {**os.environ, **START, **ports, **own}
    run = partial(output, *program(), "--file", str(FILE), "--project-name", PROJECT, env=environment)
    yield run
    run("down", "--volumes")


def test_all_of_the_file_is_understood(compose):
    services = compose("--profile", "grafana", "config", "--services").split()

    assert sorted(services) == ["grafana", "hbase", "prometheus", "proxy", "service"]


def test_a_claim_and_a_query_go_through_the_service_to_hbase(compose):
    compose("up", "--detach", "--build", "proxy")
    address = "http://" + compose("port", "proxy", "8080").strip()
    wait_for(lambda: ready(address))
    words = ("simhash-hbase", "key", "/keys/keys", "--name", "one", "--scope", "read", "--scope", "write")
    key = compose("exec", "-T", "service", *words).strip()

    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        # The service looks into the file of keys once a second.
        wait_for(lambda: client.get("/v1/profile").status_code == 200)
        claimed = client.post("/v1/claims", json={"id": "a", "text": TEXT}).json()
        found = client.post("/v1/queries", json={"text": TEXT}).json()

    assert claimed["status"] == "original"
    assert [(match["id"], match["exact"]) for match in found["matches"]] == [("a", True)]
    for container in containers(compose):
        assert container["HostConfig"]["ReadonlyRootfs"]
        assert container["HostConfig"]["CapDrop"] == ["ALL"]
        assert container["Config"]["User"] not in ("", "root", "0")


def test_prometheus_with_the_alerts_reads_the_service(compose):
    compose("up", "--detach", "--build")
    wait_for(lambda: all(each["State"]["Health"]["Status"] == "healthy" for each in containers(compose)))
    with httpx.Client(base_url="http://" + compose("port", "prometheus", "9090").strip(), timeout=60) as client:
        wait_for(lambda: [target["health"] for target in asked(client, "targets")["activeTargets"]] == ["up"])
        groups = wait_for(lambda: [group for group in asked(client, "rules")["groups"] if is_healthy(group)])

    assert len(containers(compose)) == 4
    wanted = yaml.safe_load((FILE.parent / "prometheus" / "rules.yml").read_text())["groups"]
    assert [[rule["name"] for rule in group["rules"]] for group in groups] == [
        [rule["alert"] for rule in group["rules"]] for group in wanted
    ]


def test_the_images_leave_out_what_nothing_reads(compose):
    compose("build", "service", "prometheus")

    for name, most in MOST_MB.items():
        size = int(docker("image", "inspect", "--format={{.Size}}", f"simhash-hbase/{name}"))
        assert size < most * 1e6, name


def containers(compose):
    return json.loads(docker("inspect", *compose("ps", "--quiet").split()))


def asked(client, path):
    return client.get(f"/api/v1/{path}").raise_for_status().json()["data"]


def is_healthy(group):
    return all(rule["health"] == "ok" for rule in group["rules"])


def ready(address):
    try:
        return httpx.get(f"{address}/readyz", timeout=10).status_code == 200
    except httpx.TransportError:
        return False
