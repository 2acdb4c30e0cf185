"""The file of keys under a running service, and the service without one."""

import hashlib
import json
from pathlib import Path

import pytest
from support.duplex import Duplex
from support.results import run
from support.serving import serving, wait_for

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.service.keys import Keyring, make_key


def status(server, key):
    with server.client(None) as client:
        return client.get("/v1/stats", headers={"Authorization": f"Bearer {key}"}).status_code


def logged(server, event):
    return [line for line in server.log() if line["event"] == event]


def test_a_slip_in_one_line_changes_no_other_key(server, tmp_path):
    path = tmp_path / "keys"
    kept = path.read_text()
    removed = make_key(path, "later", ["read"])
    wait_for(lambda: status(server, removed) == 200)

    path.write_text(f"some typing\n{kept}")

    wait_for(lambda: status(server, removed) == 401)
    assert status(server, server.keys["read"]) == 200
    [slip] = logged(server, "line of keys ignored")
    assert slip["reason"].startswith(f"{path}:1 is no line of a file of keys; wanted: NAME ")
    assert "typing" not in slip["reason"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (Path.unlink, "cannot be read"),
        (lambda path: path.chmod(0o620), "can be written by others"),
        (lambda path: path.chmod(0o602), "can be written by others"),
    ],
)
def test_a_file_of_keys_that_is_gone_or_open_to_others_has_no_keys_until_mended(server, tmp_path, spoil, reason):
    path = tmp_path / "keys"
    key = server.keys["read"]
    kept = path.read_text()
    assert status(server, key) == 200

    spoil(path)

    wait_for(lambda: status(server, key) == 401)
    [told] = logged(server, "no key counts")
    assert reason in told["reason"]
    path.write_text(kept)
    path.chmod(0o600)
    wait_for(lambda: status(server, key) == 200)


@pytest.mark.parametrize("left", ["", "all read {digest}\n"])
def test_a_stream_ends_with_its_key(server, tmp_path, left):
    path = tmp_path / "keys"
    others = "".join(line for line in path.read_text().splitlines(True) if not line.startswith("all "))
    digest = hashlib.sha256(server.keys["all"].encode()).hexdigest()
    with Duplex(server, "/v1/claims") as stream:
        stream.send(b'{"id":"a","simhash":"0000000000000000"}\n')
        assert stream.status() == 200
        answers = stream.lines()
        assert b'"original"' in next(answers)

        path.write_text(others + left.format(digest=digest))

        # The stream ends while it waits for its client.
        summary = json.loads(next(answers))["summary"]
    assert (summary["complete"], summary["last_line"], summary["outcomes"]) == (False, 1, {"original": 1})
    assert summary["error"]["code"] == "key_removed"
    assert not summary["error"]["retryable"]
    wait_for(lambda: [line for line in logged(server, "request") if line.get("end") == "key_removed"])


def test_a_file_of_keys_holds_digests_for_its_owner_alone(tmp_path):
    path, names = tmp_path / "keys", ["a/b, c: 新闻", "a,b", " ", "%", "\u00e9", "e\u0301"]
    key = make_key(path, "one", ["read", "write"], names)

    assert path.stat().st_mode & 0o777 == 0o600
    assert key not in path.read_text()
    found = Keyring(path).find(key)
    assert (found.name, found.scopes, found.collections) == ("one", {"read", "write"}, frozenset(names))
    assert Keyring(path).find(key[:-1]) is None
    with pytest.raises(InvalidArgument, match="the name of a collection is"):
        make_key(path, "other", ["read"], ["a\nb"])


def test_no_key_is_added_to_a_file_that_others_may_write_or_that_is_none_of_keys(tmp_path):
    shared, other = tmp_path / "shared", tmp_path / "other"
    make_key(shared, "one", ["read"])
    shared.chmod(0o606)
    other.write_text("some text\n")
    for path, said in ((shared, "can be written by others"), (other, "other:1 is no line of a file of keys")):
        before = path.read_text()
        with pytest.raises(InvalidArgument, match=said):
            make_key(path, "two", ["read"])
        assert path.read_text() == before


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
        (["--keys", "shared"], "shared can be written by others, so its keys are ignored: chmod go-w shared"),
        (["--keys", "slips"], "slips:2 is no line of a file of keys"),
    ],
)
def test_a_service_that_anybody_could_use_does_not_start(url, tmp_path, options, said):
    make_key(tmp_path / "shared", "one", ["read"])
    (tmp_path / "shared").chmod(0o664)
    (tmp_path / "slips").write_text("# no key\none read abc\n")

    done = run("serve", url, "--port", "0", *options, cwd=tmp_path)

    assert done.code == 2
    assert said in done.err


def test_without_keys_only_this_machine_by_its_own_names_is_answered(url, tmp_path):
    with serving(url, tmp_path, auth=False) as server, server.client() as client:
        assert client.post("/v1/documents", json={"id": "a", "simhash": "0000000000000000"}).status_code == 200
        assert client.get("/v1/documents?id=a", headers={"Host": "evil.example"}).status_code == 400
