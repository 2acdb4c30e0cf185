"""Many clients and a restart in the middle: what was acknowledged is in the index, and the index is whole."""

import os
import random
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.corpus import text
from support.serving import END_S, serving

from simhash_hbase import open_index

CLIENTS = 32
SECONDS = float(os.environ.get("SIMHASH_HBASE_LOAD_SECONDS", "30"))
DOCUMENTS = 40


class Client:
    """Claims, adds and removes documents of its own, near copies of each other's, and keeps what was acknowledged."""

    def __init__(self, address, name):
        self._address = address
        self._name = name
        self._random = random.Random(name)
        self.is_there = {}
        self.answers = 0

    def run(self, is_over):
        http = httpx.Client(base_url=self._address, timeout=END_S)
        while not is_over.is_set():
            at = self._random.randrange(DOCUMENTS)
            name = f"{self._name}/{at}"
            # Until it is answered, nobody knows.
            self.is_there.pop(name, None)
            try:
                answer, stays = self._change(http, name, at)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code == httpx.codes.OK:
                self.is_there[name] = stays
                self.answers += 1
            else:
                assert answer.json()["retryable"], answer.text
        http.close()
        return self

    def _change(self, http, name, at):
        document = {"id": name, "text": text(at, changed=self._random.randrange(3))}
        match self._random.randrange(4):
            case 0:
                return http.delete("/v1/documents", params={"id": name}), False
            case 1:
                return http.post("/v1/documents", json=document), True
            case _:
                return http.post("/v1/claims", json=document), True


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_under_load_loses_nothing_that_was_acknowledged(url, tmp_path, end):
    port, is_over = str(free_port()), threading.Event()
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [Client(f"http://127.0.0.1:{port}", f"client {at}/0") for at in range(CLIENTS)]
        for life in range(2):
            folder = tmp_path / str(life)
            folder.mkdir()
            with serving(url, folder, "--port", port, "--max-requests", "256", auth=False) as server:
                if not life:
                    running = [pool.submit(client.run, is_over) for client in clients]
                time.sleep(SECONDS / 2)
                if life:
                    is_over.set()
                    for client in running:
                        client.result()
                else:
                    server.process.send_signal(end)
                    assert server.process.wait(END_S) == (0 if end == signal.SIGTERM else -end)
                    before = [client.answers for client in clients]

    assert all(client.answers > least > 0 for client, least in zip(clients, before, strict=True))
    with open_index(url) as index:
        for client in clients:
            names = list(client.is_there)
            assert {name: held is not None for name, held in zip(names, index.get_many(names), strict=True)} == (
                client.is_there
            )
        assert not index.verify().wrong
    print(f"{sum(client.answers for client in clients)} acknowledged in {SECONDS:g} s")
