"""The unit for systemd and the manifest for Kubernetes: their own linters, and what they start."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import kubernetes_validate
import pytest
import yaml
from support.fresh_clone import blocks
from support.gates import absent
from support.prometheus import DOCKER
from support.serving import serving

from simhash_hbase.cli.commands.servers import serve

UNIT = DOCKER / "service" / "simhash-hbase.service"
MANIFEST = DOCKER / "service" / "kubernetes.yaml"
OBJECTS = {found["kind"]: found for found in yaml.safe_load_all(MANIFEST.read_text())}
KUBERNETES = ("1.29", "1.34")
ROOT = DOCKER.parent
PROGRAM = Path(sys.executable).with_name("simhash-hbase")
MOST_EXPOSED = 30  # Tenths, as systemd counts: from 0 to 10, where a service without any confinement has 9.6.


def container():
    [found] = OBJECTS["Deployment"]["spec"]["template"]["spec"]["containers"]
    return found


def command_of_unit():
    [line] = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    return line.split()


def systemd(folder, *words, verb="verify"):
    """Ask systemd about the unit, with a program that is there."""
    if not shutil.which("systemd-analyze"):
        absent("systemd-analyze is missing: apt-get install systemd")
    unit = folder / UNIT.name
    unit.write_text(UNIT.read_text().replace(command_of_unit()[0], str(PROGRAM)))
    return subprocess.run(["systemd-analyze", verb, *words, unit], capture_output=True, text=True, check=False)


def test_systemd_accepts_the_unit(tmp_path):
    done = systemd(tmp_path, "--man=no")

    # Units of this machine may have faults of their own.
    assert [line for line in done.stderr.splitlines() if UNIT.name in line or "Unknown" in line] == []
    assert done.returncode == 0, done.stderr


def test_the_unit_is_confined(tmp_path):
    done = systemd(tmp_path, "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", verb="security")
    assert done.returncode == 0, done.stdout[-500:]


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("kind", OBJECTS)
def test_kubernetes_accepts_the_manifest(kind, version):
    kubernetes_validate.validate(OBJECTS[kind], version, strict=True)


def test_the_objects_fit_each_other():
    template = OBJECTS["Deployment"]["spec"]["template"]
    labels = template["metadata"]["labels"]
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}

    assert OBJECTS["Service"]["spec"]["selector"] == labels
    assert OBJECTS["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert OBJECTS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert {mount["name"] for mount in container()["volumeMounts"]} == volumes
    assert container()["resources"]["limits"]["memory"] == "1Gi"
    dockerfile = (DOCKER / "service" / "Dockerfile").read_text()
    assert f"ARG UID={template['spec']['securityContext']['runAsUser']}\n" in dockerfile
    [spread] = template["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"] == labels
    assert OBJECTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    [rule] = OBJECTS["NetworkPolicy"]["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [container()["ports"][0]["containerPort"]]


def test_the_job_makes_the_index_once(tmp_path):
    pods = OBJECTS["Job"]["spec"]["template"]
    [job] = pods["spec"]["containers"]
    assert job["image"] == container()["image"]
    assert re.fullmatch(r"[\w/-]+:\d+\.\d+\.\d+", job["image"])
    # The service's address is not that of the job's pods.
    assert pods["metadata"]["labels"] != OBJECTS["Service"]["spec"]["selector"]
    words = [f"file:{tmp_path / 'index'}" if word.startswith("hbase:") else word for word in job["args"]]
    at = words.index("--regions")
    del words[at : at + 2]  # A folder has none.

    for _ in range(2):
        subprocess.run([PROGRAM, *words], check=True)


def seconds_to_stop(words):
    """Add up how long the service may go on answering, and may then take to finish."""
    defaults = {option.opts[0]: option.default for option in serve.params if option.opts[0] in ("--drain", "--grace")}
    return sum(float(words[words.index(name) + 1]) if name in words else left for name, left in defaults.items())


def test_nobody_ends_the_service_before_it_has_drained_and_finished():
    pod = OBJECTS["Deployment"]["spec"]["template"]["spec"]
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]["service"]
    [line] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    probe = container()["readinessProbe"]

    waits = float(container()["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert pod["terminationGracePeriodSeconds"] >= waits + seconds_to_stop(container()["args"]) + 5
    assert int(line) >= seconds_to_stop(command_of_unit()) + 5
    assert int(compose["stop_grace_period"].removesuffix("s")) >= seconds_to_stop(compose["command"][0].split()) + 5
    # Whoever asks /readyz sees that it drains before it closes.
    drain = float(container()["args"][container()["args"].index("--drain") + 1])
    assert drain > probe["periodSeconds"] * probe["failureThreshold"]


def test_the_commands_of_the_page_make_what_the_unit_needs(tmp_path):
    user, index, keys, owner, unit = map(str.strip, blocks()["unit"].replace("# ", "", 1).split("\n# "))
    words = command_of_unit()
    home = words[2].removeprefix("file:").rpartition("/")[0]

    # Commands that change this machine's users and services are compared; the others run, in a folder of the test.
    assert user.split()[-1] == re.search(r"^User=(.*)$", UNIT.read_text(), re.MULTILINE)[1]
    assert f"--home-dir {home} " in user
    assert unit.split()[3] == str(UNIT.relative_to(ROOT))
    assert "chmod 640" in owner
    assert owner.split()[2] == words[4]
    for line in (index.partition(" -- ")[2], keys):
        here = line.replace(words[0], str(PROGRAM)).replace(home, str(tmp_path))
        here = here.replace("/etc/simhash-hbase", str(tmp_path))
        subprocess.run(["bash", "-ec", here], capture_output=True, check=True)
    assert (tmp_path / "index").is_dir()
    assert (tmp_path / "keys").read_text().startswith("NAME")


def test_the_commands_of_the_page_make_the_secret_that_the_manifest_mounts(tmp_path):
    key, cluster = (line.removeprefix("$ ") for line in blocks()["cluster"].splitlines())
    secret, manifest = cluster.split(" && ")
    volumes = OBJECTS["Deployment"]["spec"]["template"]["spec"]["volumes"]

    subprocess.run(key.replace("simhash-hbase", str(PROGRAM), 1).split(), cwd=tmp_path, capture_output=True, check=True)
    assert secret.split()[4] in [volume.get("secret", {}).get("secretName") for volume in volumes]
    assert secret.split()[-1] == "--from-file=keys"
    assert manifest.split()[-1] == str(MANIFEST.relative_to(ROOT))


@pytest.mark.parametrize("words", [command_of_unit()[1:], container()["args"]], ids=["systemd", "kubernetes"])
def test_what_they_start_answers_the_probes(url, tmp_path, words):
    keys = next(word for word in words if word.endswith("/keys"))
    here = {"8080": "0", "0.0.0.0": "127.0.0.1", keys: str(tmp_path / "keys")}
    name, _, *options = (here.get(word, word) for word in words)

    assert name == "serve"
    with serving(url, tmp_path, *options) as server, server.client() as client:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert client.get(container()[probe]["httpGet"]["path"]).status_code == httpx.codes.OK
        assert server.stop() == 0
