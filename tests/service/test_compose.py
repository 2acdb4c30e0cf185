"""The compose file fits what it mounts, builds and is read by."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml
from click.testing import CliRunner
from prometheus import DOCKER

from simhash_hbase.cli.app import COMMANDS, cli
from simhash_hbase.service.keys import Keyring

COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]


def test_everything_that_is_mounted_or_built_from_is_there():
    for service in SERVICES.values():
        build = service.get("build", "hbase")
        place = {"context": build, "dockerfile": "Dockerfile"} if isinstance(build, str) else build
        assert (DOCKER / place["context"] / place["dockerfile"]).is_file()
        for mount in service.get("volumes", []):
            source = mount.partition(":")[0]
            assert (DOCKER / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]


def test_nothing_is_published_beyond_this_machine():
    ports = [port for service in SERVICES.values() for port in service["ports"]]

    assert len(ports) == 5
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_prometheus_and_grafana_find_what_they_read():
    [job] = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    [source] = yaml.safe_load((DOCKER / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    [provider] = yaml.safe_load((DOCKER / "grafana/provisioning/dashboards/simhash.yml").read_text())["providers"]
    mounts = {name: [mount.split(":") for mount in service["volumes"]] for name, service in SERVICES.items()}

    assert job["static_configs"] == [{"targets": ["service:8080"]}]
    assert job["authorization"]["credentials_file"] == "/keys/metrics"
    assert ["keys", "/keys", "ro"] in mounts["prometheus"]
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


def test_a_start_behind_one_that_ended_before_it_kept_the_key_of_prometheus_makes_another(tmp_path):
    [script] = SERVICES["service"]["command"]
    making = "\n".join(line for line in script.splitlines() if "/keys/metrics ]" in line)
    making = making.replace("/keys/", f"{tmp_path}/")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    keys, metrics = tmp_path / "keys", tmp_path / "metrics"

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
