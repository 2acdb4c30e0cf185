"""The service's answers while its store can be read and not written to."""

import os
import random
import resource
import subprocess

import pytest
from support.corpus import SYLLABLES
from support.gates import absent
from support.serving import NDJSON, lines, ndjson, new_index, serving

from simhash_hbase.client import RemoteIndex
from simhash_hbase.errors import StoreReadonly
from simhash_hbase.service.keys import make_key

ROOM = 1 << 20
NO_ROOM = "no space is left where the store keeps its data"
READABLE = "the store can be read and not written to"


def document(number):
    text = " ".join(random.Random(number).choices(SYLLABLES, k=40))
    return {"id": f"group {number} copy 0", "text": text, "metadata": {"m": "x" * 900}}


def refused(response):
    body = response.json()
    return response.status_code, body["code"], body["detail"], body["retryable"], response.headers.get("Retry-After")


@pytest.fixture
def readonly(tmp_path):
    """Return the address of an index on a file system that is mounted for reading."""
    url = new_index(tmp_path)
    folder = url.removeprefix("file:")
    for options in (["--bind", folder], ["-o", "remount,ro,bind"]):
        if subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode:
            absent("this user may not mount a folder for reading")
    yield url
    subprocess.run(["umount", folder], check=True)


def test_a_readonly_folder_refuses_only_writes(readonly, tmp_path):
    with serving(readonly, tmp_path) as server, server.client() as client:
        for path in ("/v1/claims", "/v1/documents"):
            [line] = lines(client.post(path, content=ndjson([document(1)]), headers=NDJSON))

            assert refused(client.post(path, json=document(1))) == (503, "store_readonly", READABLE, False, None)
            assert line["summary"]["error"] == {"code": "store_readonly", "detail": READABLE, "retryable": False}
        assert client.post("/v1/queries", json={"text": "some words"}).json()["matches"] == []
        ready = client.get("/readyz")
        assert refused(ready) == (503, "store_readonly", f"not ready for writes: {READABLE}", False, None)
        with RemoteIndex(server.address, key=server.keys["all"]) as index, pytest.raises(StoreReadonly, match=READABLE):
            index.claim("group 1 copy 0", "some words")


def test_a_readonly_folder_is_ready_where_no_key_may_write(readonly, tmp_path):
    keys = {"all": make_key(tmp_path / "keys", "reader", ["read"])}
    with serving(readonly, tmp_path, keys=keys) as server, server.client() as client:
        assert client.get("/readyz").status_code == 200
        assert client.post("/v1/claims", json=document(1)).status_code == 403


def test_a_full_disk_refuses_claims_and_readiness_until_there_is_room(url, server, client):
    data = os.path.join(url.removeprefix("file:"), "data.mdb")
    assert client.post("/v1/claims", json=document(0)).status_code == client.get("/readyz").status_code == 200
    limits = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (os.path.getsize(data), -1))

    ready = client.get("/readyz")
    answers = [client.post("/v1/claims", json=document(number)) for number in range(1, 60)]
    assert refused(ready) == (503, "store_full", f"not ready for writes: {NO_ROOM}", False, None)
    assert {refused(answer) for answer in answers[-3:]} == {(507, "store_full", NO_ROOM, False, None)}
    assert client.get("/readyz").status_code == 503
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)

    assert client.get("/readyz").status_code == 200
    assert client.post("/v1/claims", json=document(0)).json()["status"] == "original"
