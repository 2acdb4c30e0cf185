"""An index of a service in an event loop: what only an event loop does; its answers are compared in test_faces."""

import asyncio
import re
import ssl
from contextlib import contextmanager
from inspect import iscoroutinefunction, signature
from threading import Event, Lock

import pytest
from support.certificates import make_certificate
from support.corpus import near_copies, text
from support.fresh_clone import blocks
from support.listening import free_port
from support.patience import END_S
from support.remote_servers import JsonHandler, served
from support.results import python

from simhash_hbase import Index, Profile, create_index, open_async_index
from simhash_hbase.client import AsyncIndex, RemoteIndex
from simhash_hbase.client.http import CONNECTIONS
from simhash_hbase.errors import (
    IndexClosed,
    InvalidArgument,
    ProfileMismatch,
    StoreRefused,
    StoreUnavailable,
    Unsupported,
)

pytestmark = pytest.mark.anyio
PAIRS = [(record["id"], record["text"]) for record in near_copies(6, 3)]
# What takes chunks that were read and analysed, and what a service has no part in.
INNER = {"added", "claimed", "answered", "found", "repeated", "held", "analysis", "write_groups", "expiry_warning"}


def test_it_has_the_methods_of_every_index_with_their_parameters():
    face, awaited = ({name for name in dir(kind) if not name.startswith("_")} for kind in (Index, AsyncIndex))
    assert awaited == face - INNER | {"open", "profile", "collection"}
    for name in sorted(awaited - {"open", "profile", "collection", "address"}):
        here, there = (signature(getattr(kind, name)).parameters.values() for kind in (AsyncIndex, RemoteIndex))
        assert [(each.name, each.kind) for each in here] == [(each.name, each.kind) for each in there], name
        many = name.endswith("_many") and name != "get_many"
        assert iscoroutinefunction(getattr(AsyncIndex, name)) is not (
            many or name in ("remove_batch", "rule", "in_collection")
        )


@contextmanager
def gateway(answer):
    """Serve a profile, and for other requests what a function of the handler returns; give the address."""
    with create_index("memory:", analyzer="shingle") as index:
        profile = index.profile.encode()

    class Gateway(JsonHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(200, *((profile,) if "/v1/profile" in self.path else answer(self)))

        do_POST = do_GET

    with served(Gateway) as url:
        yield url


async def test_documents_come_from_an_asynchronous_iterator_as_from_a_list(server):
    async def drawn():
        for pair in PAIRS:
            await asyncio.sleep(0)
            yield pair

    with create_index("memory:", analyzer="shingle") as twin:
        expected = list(twin.claim_many(PAIRS))
    async with await AsyncIndex.open(server.address, key=server.keys["all"]) as index:
        claimed = [result async for result in index.claim_many(drawn())]
        again = [result async for result in index.in_collection("other").claim_many(PAIRS)]
        with pytest.raises(InvalidArgument, match="the ids are one string"):
            [result async for result in index.remove_many("abc")]
    assert claimed == again == expected


async def test_the_crawler_and_the_pipeline_of_the_page_decide_pages(server, monkeypatch, capsys):
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["all"])
    names = {}
    exec(blocks("python")["awaited"], names)
    await names["crawl"](server.address)
    first, second, third, counts = capsys.readouterr().out.splitlines()
    assert ("is_original=True" in first, "of='http://site/0'" in second, "of='http://site/0'" in third) == (True,) * 3
    assert counts == "[1, 1, 1]"

    exec(blocks("python")["pipeline"].replace("http://127.0.0.1:8080", server.address), names)
    pipeline, item = names["OriginalsPipeline"](), {"url": "a", "text": text("a")}
    await pipeline.open_spider()
    assert await pipeline.process_item(item) is item
    with pytest.raises(names["DropItem"], match="near-duplicate of a"):
        await pipeline.process_item({**item, "url": "b"})
    await pipeline.close_spider()


async def test_an_index_is_opened_as_a_caller_names_it(server, monkeypatch):
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["all"])
    async with await open_async_index(server.address, collection="news") as index:
        await index.add("a", text("a"))
        assert repr(index) == f"<AsyncIndex {server.address} (collection news)>"
        assert await index.in_collection(None).get("a") is None
    with pytest.raises(IndexClosed):
        await index.get("a")
    with pytest.raises(ProfileMismatch):
        await open_async_index(server.address, profile=Profile.resolve(analyzer="shingle", shingle=9))
    with pytest.raises(Unsupported, match="only an index behind a service"):
        await open_async_index("memory:")
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["read"])
    async with await open_async_index(server.address) as index:
        with pytest.raises(StoreRefused, match="does not have the scope write"):
            await index.claim("a", text("a"))


async def test_calls_beyond_the_connections_wait_for_one():
    together, most, lock, enough = 0, [0], Lock(), Event()

    def answer(_):
        nonlocal together
        with lock:
            together += 1
            most[0] = max(most[0], together)
            if together == CONNECTIONS:
                enough.set()
        enough.wait(END_S)
        with lock:
            together -= 1
        return ({"exact": True, "documents": 0},)

    with gateway(answer) as url:
        async with await AsyncIndex.open(url) as index:
            figures = await asyncio.gather(*(index.stats() for _ in range(3 * CONNECTIONS)))
    assert len(figures) == 3 * CONNECTIONS
    assert most == [CONNECTIONS]


async def test_a_cancelled_call_gives_its_connection_back():
    asked, let = asyncio.Event(), Event()
    loop = asyncio.get_running_loop()

    def answer(_):
        loop.call_soon_threadsafe(asked.set)
        let.wait(END_S)
        return ({"exact": True, "documents": 0},)

    with gateway(answer) as url:
        async with await AsyncIndex.open(url) as index:
            for _ in range(CONNECTIONS + 1):
                asked.clear()
                task = asyncio.create_task(index.stats())
                await asked.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            let.set()
            assert (await index.stats()).documents == 0


async def test_the_event_loop_goes_on_while_a_call_waits():
    let = Event()

    def answer(_):
        let.wait(END_S)
        return ({"exact": True, "documents": 0},)

    with gateway(answer) as url:
        async with await AsyncIndex.open(url) as index:
            task = asyncio.create_task(index.stats())
            await asyncio.sleep(0.01)
            let.set()
            assert (await task).documents == 0


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with served(JsonHandler, context) as url, pytest.raises(StoreRefused, match="TLS fails"):
        await AsyncIndex.open(url)


@pytest.mark.parametrize("url", ["http://user:secret@127.0.0.1:1", "https://host:port", "http://me:secret/x@127.0.0.1"])
async def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InvalidArgument, match="address of a service") as failure:
        await AsyncIndex.open(url)
    assert "secret" not in str(failure.value)


async def test_nobody_at_the_address_is_a_failure_that_may_pass():
    with pytest.raises(StoreUnavailable, match="does not answer: "):
        await AsyncIndex.open(f"http://127.0.0.1:{free_port()}", patience_s=0.2)


@pytest.mark.parametrize("package", ["greenlet", "httpx2", "urllib3"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(package):
    opening = "s.open_index('http://x')" if package == "urllib3" else "asyncio.run(s.open_async_index('http://x'))"
    done = python(f"import asyncio, sys, simhash_hbase as s; sys.modules[{package!r}] = None; {opening}")
    assert re.search(rf"needs {package}; .*: pip install 'simhash-hbase\[client\]'\n$", done.err)
