"""The compose file fits what it mounts, builds and is read by."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from click.testing import CliRunner
from packaging.requirements import Requirement
from support.prometheus import DOCKER

from simhash_hbase.cli.app import COMMANDS, cli
from simhash_hbase.service.keys import Keyring

COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]


def dockerfile(service):
    build = service["build"]
    place = {"context": build, "dockerfile": "Dockerfile"} if isinstance(build, str) else build
    return DOCKER / place["context"] / place["dockerfile"]


def test_everything_that_is_mounted_or_built_from_is_there():
    for service in SERVICES.values():
        assert "build" not in service or dockerfile(service).is_file()
        for mount in service.get("volumes", []):
            source = mount.partition(":")[0]
            assert (DOCKER / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]


def test_everything_is_published_on_this_machine_alone_where_the_page_says():
    [paragraph] = [part for part in (DOCKER / "README.md").read_text().split("\n\n") if "--profile grafana" in part]
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]

    assert len(published) == 5
    assert all(port.startswith("127.0.0.1:") for port in published)
    for variable, number in re.findall(r"\$\{(\w+):-(\d+)\}", " ".join(published)):
        assert re.search(rf"\b{number}\b", paragraph), number
        assert f"`{variable}`" in paragraph or variable == "GRAFANA_PORT"


def test_prometheus_and_grafana_find_what_they_read():
    [job] = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    [source] = yaml.safe_load((DOCKER / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    [provider] = yaml.safe_load((DOCKER / "grafana/provisioning/dashboards/simhash.yml").read_text())["providers"]
    mounts = {name: [mount.split(":") for mount in service.get("volumes", ())] for name, service in SERVICES.items()}

    assert job["static_configs"] == [{"targets": ["service:8080"]}]
    assert job["authorization"]["credentials_file"] == "/keys/key"
    assert ["metrics-key", "/keys", "ro"] in mounts["prometheus"]
    assert source["url"] == "http://prometheus:9090"
    assert any(mount[1].startswith(provider["options"]["path"] + "/") for mount in mounts["grafana"])
    json.loads((DOCKER / "grafana" / "dashboard.json").read_text())


def test_the_service_is_started_by_commands_that_there_are():
    [script] = SERVICES["service"]["command"]
    lines = [line.replace("$$INDEX", "memory:").replace("$$CREATE", "") for line in script.splitlines()]
    commands = [part.split() for line in lines for part in line.split("||") if "simhash-hbase" in part]

    names = [words[words.index("simhash-hbase") + 1] for words in commands]

    assert names == ["query", "create", "key", "serve"]
    assert set(names) <= set(COMMANDS)
    for words, name in zip(commands, names, strict=True):
        options = [word for word in words if word.startswith("--")]
        told = CliRunner().invoke(cli, [name, "--help"]).output
        assert all(option in told for option in options), options


def test_a_start_after_one_that_lost_the_key_of_prometheus_makes_another(tmp_path):
    [script] = SERVICES["service"]["command"]
    making = "\n".join(line for line in script.splitlines() if "/metrics-key/key ]" in line)
    making = making.replace("/metrics-key/", f"{tmp_path}/").replace("/keys/", f"{tmp_path}/")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    keys, metrics = tmp_path / "keys", tmp_path / "key"

    def start():
        subprocess.run([*SERVICES["service"]["entrypoint"], making], env={**os.environ, "PATH": path}, check=True)
        found = Keyring(keys).find(metrics.read_text().strip())
        assert (found.name, found.scopes) == ("prometheus", {"metrics"})
        return metrics.read_text()

    first = start()
    assert start() == first
    metrics.write_text("")
    assert start() != first
    assert len(Keyring(keys)) == 1


def test_every_container_is_confined():
    for name, service in SERVICES.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"], name
        assert service["restart"] == "unless-stopped", name
        if "build" in service:
            words = dockerfile(service).read_text()
            assert "\nHEALTHCHECK " in words, name
            assert "\nUSER " in words, name
        else:
            assert service["healthcheck"]["test"][0] == "CMD", name


def test_each_container_reaches_only_what_it_reads():
    networks = {name: set(service["networks"]) for name, service in SERVICES.items()}
    joined = {frozenset((a, b)) for a in networks for b in networks if a < b and networks[a] & networks[b]}

    assert joined == {
        frozenset(("hbase", "service")),
        frozenset(("proxy", "service")),
        frozenset(("service", "prometheus")),
        frozenset(("prometheus", "grafana")),
    }


def test_there_is_no_default_password(tmp_path):
    grafana = SERVICES["grafana"]
    secret = COMPOSE["secrets"]["grafana-password"]["file"]

    assert grafana["environment"]["GF_SECURITY_ADMIN_PASSWORD__FILE"] == "/run/secrets/grafana-password"
    assert grafana["secrets"] == ["grafana-password"]
    assert secret == "${GRAFANA_PASSWORD_FILE:-./grafana/password}"
    assert "docker/grafana/password" in (DOCKER.parent / ".gitignore").read_text().splitlines()
    # The container does not start with an empty one: Grafana would take its own.
    shell, options, script = grafana["entrypoint"]
    script = script.replace("/run/secrets/grafana-password", str(tmp_path / "password")).replace("/run.sh", "true")
    for content, status in ((None, 1), ("", 1), ("some", 0)):
        if content is not None:
            (tmp_path / "password").write_text(content)
        assert subprocess.run([shell, options, script], capture_output=True, check=False).returncode == status


def test_the_image_is_installed_from_locks_that_fit_what_the_project_asks_for():
    project = tomllib.loads((DOCKER.parent / "pyproject.toml").read_text())["project"]
    locked = pins("requirements.lock")
    wanted = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["service"])]

    for requirement in wanted:
        assert requirement.specifier.contains(locked[requirement.name]), requirement
    assert {"cython", "hatchling", "setuptools", "wheel"} <= set(pins("build.lock"))
    installs = [line for line in (DOCKER / "service/Dockerfile").read_text().splitlines() if "bin/pip " in line]
    assert all(re.search(r"--require-hashes|--no-deps| check$", line) for line in installs), installs


def pins(name):
    """Return the versions of a lock file; each entry has one, and hashes."""
    entries = (DOCKER / "service" / name).read_text().replace("\\\n", " ").splitlines()
    found = [
        re.fullmatch(r"([\w.-]+)==(\S+)((?: +--hash=sha256:[0-9a-f]{64})+) *", line)
        for line in entries
        if line and line[0] != "#"
    ]
    assert all(found), entries
    return {entry.group(1): entry.group(2) for entry in found}
