"""Bulk load: where HBase's configuration, its file system, Java and a container are found."""

import json
import os
import sys
from pathlib import Path

import pytest

from simhash_hbase.bulk.places import container_program, find_tools, local_configuration, staging_folder
from simhash_hbase.errors import InvalidArgument, StoreRefused, StoreUnavailable
from simhash_hbase.stores.hbase.launcher import downloads


def configuration(folder, root):
    """Write a configuration with a root folder, and return its folder."""
    folder.mkdir(exist_ok=True)
    words = f"<property><name>hbase.rootdir</name><value>{root}</value></property>" if root else ""
    (folder / "hbase-site.xml").write_text(f"<configuration>{words}</configuration>")
    return folder


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """Return what puts a program called docker on the path; it notes its arguments."""

    def make(*, answer, code=0):
        program = tmp_path / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/asked\nprintf '{answer}'\nexit {code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        return tmp_path / "asked"

    return make


@pytest.mark.parametrize(
    ("root", "named", "folder"),
    [
        ("file:///data/hbase", None, "file:///data/hbase-staging/token"),
        ("hdfs://127.0.0.1:9000/hbase", None, "hdfs://127.0.0.1:9000/hbase-staging/token"),
        # The folder that is named is never used itself, since it is removed.
        ("hdfs://one/hbase", "/user/me/", "/user/me/simhash-hbase-load-token"),
    ],
)
def test_a_staging_folder_is_below_what_is_named_or_beside_the_data_of_a_local_hbase(tmp_path, root, named, folder):
    assert staging_folder(configuration(tmp_path, root), named, "token") == folder


@pytest.mark.parametrize(
    ("root", "message"), [("hdfs://one/hbase", "`staging=PATH`"), ("", "`staging=PATH`"), (None, r"no hbase-site.xml")]
)
def test_a_cluster_needs_a_staging_folder_and_a_configuration(tmp_path, root, message):
    conf = tmp_path if root is None else configuration(tmp_path, root)
    with pytest.raises(InvalidArgument, match=message):
        staging_folder(conf, None, "token")


def test_the_configuration_of_a_server_here_is_found_by_its_ports(tmp_path):
    conf = configuration(tmp_path / "conf", "")
    (tmp_path / "ports.json").write_text(json.dumps({"regionserver": 1001, "thrift2": 1002}))

    assert local_configuration(tmp_path, [("127.0.0.1", 1002)]) == conf
    assert local_configuration(tmp_path, [("localhost", 1001)]) == conf
    assert local_configuration(tmp_path, [("127.0.0.1", 1003)]) is None
    assert local_configuration(tmp_path, [("elsewhere", 1002)]) is None
    assert local_configuration(tmp_path / "nothing", [("127.0.0.1", 1002)]) is None


def test_a_container_is_asked_for_the_class_path_of_its_hbase(docker, tmp_path):
    asked = docker(answer=r"java\0-cp\0/tmp/x:/opt/hbase/lib/*\0HMaster\0")
    (tmp_path / "classes").mkdir()
    words = container_program("some", tmp_path / "classes")

    assert words[:4] == ["docker", "exec", "--interactive", "some"]
    assert words[-2:] == ["/tmp/x:/opt/hbase/lib/*:/tmp/simhash-hbase-classes", "HFileLoader"]
    assert asked.read_text().splitlines()[1].endswith(" /tmp/simhash-hbase-classes")


@pytest.mark.parametrize(
    ("answer", "code", "error", "message"),
    [
        (r"sh\0-c\0sleep\0", 0, StoreRefused, "no HBase runs in container some"),
        # Worth another try.
        ("", 1, StoreUnavailable, "docker exec failed"),
    ],
)
def test_a_container_without_hbase_or_answer_is_an_error_of_its_own(docker, tmp_path, answer, code, error, message):
    docker(answer=answer, code=code)
    with pytest.raises(error, match=message):
        container_program("some", tmp_path)


def test_what_the_launcher_cannot_do_is_said_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("SIMHASH_HBASE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(downloads.maven, "__file__", str(tmp_path / "nothing.py"))
    monkeypatch.setattr(downloads.Downloads, "_python", lambda _: Path(sys.executable))

    with pytest.raises(StoreRefused, match=r"^cannot prepare the HFile loader: HBase's jars cannot be .*nothing"):
        find_tools(jars=None, cache=tmp_path)
