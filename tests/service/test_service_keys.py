"""The file of keys under a running service, and the service without one."""

import subprocess
import sys

import pytest
from serving import serving, wait_for

from simhash_hbase.service.keys import Keyring, make_key


def status(server, key):
    with server.client(None) as client:
        return client.get("/v1/stats", headers={"Authorization": f"Bearer {key}"}).status_code


def test_keys_come_and_go_without_a_restart_and_a_broken_file_changes_nothing(server, tmp_path):
    path = tmp_path / "keys"
    kept = path.read_text()

    added = make_key(path, "later", ["read"])
    wait_for(lambda: status(server, added) == 200)

    path.write_text(kept)
    wait_for(lambda: status(server, added) == 401)

    path.write_text(f"{kept}{added}\n")
    wait_for(lambda: status(server, added) and "keys not read" in server.log_text())
    assert status(server, server.keys["read"]) == 200
    assert status(server, added) == 401


def test_a_file_of_keys_is_its_owners_and_holds_no_key(tmp_path):
    key = make_key(tmp_path / "keys", "one", ["read", "write"])

    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o600
    assert key not in (tmp_path / "keys").read_text()
    found = Keyring(tmp_path / "keys").find(key)
    assert (found.name, found.scopes) == ("one", {"read", "write"})
    assert Keyring(tmp_path / "keys").find(key[:-1]) is None


def test_a_key_is_added_below_a_last_line_that_has_no_end(tmp_path):
    path = tmp_path / "keys"
    first = make_key(path, "one", ["read"])
    path.write_text(path.read_text().rstrip("\n"))

    second = make_key(path, "two", ["write"])

    keys = Keyring(path)
    assert [keys.find(key).name for key in (first, second)] == ["one", "two"]
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--keys FILE, or --no-auth"),
        (["--no-auth", "--host", "0.0.0.0"], "without keys the service is for this machine alone"),
        (["--no-auth", "--host", "::"], "without keys the service is for this machine alone"),
        (["--no-auth", "--keys", "k"], "--keys FILE, or --no-auth"),
        (["--keys", "none"], "cannot be read as a file of keys"),
    ],
)
def test_a_service_that_anybody_could_use_does_not_start(url, tmp_path, options, said):
    command = [sys.executable, "-m", "simhash_hbase", "serve", url, "--port", "0", *options]

    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run.returncode == 2
    assert said in run.stderr


def test_without_keys_only_this_machine_by_its_own_names_is_answered(url, tmp_path):
    with serving(url, tmp_path, auth=False) as server, server.client() as client:
        assert client.post("/v1/documents", json={"id": "a", "simhash": "0"}).status_code == 200
        assert client.get("/v1/documents?id=a", headers={"Host": "evil.example"}).status_code == 400
