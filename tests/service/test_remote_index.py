"""An index by the address of its service: the answers are those of the index, whatever happens on the way."""

import random
import shutil
import signal
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import httpx
import pytest
from support.certificates import make_certificate
from support.corpus import near_copies, text
from support.faulty_proxy import Chaos, FaultyProxy
from support.listening import free_port
from support.patience import END_S
from support.remote_servers import JsonHandler, served
from support.serving import new_index, serving, wait_for

from simhash_hbase import Index, create_index, open_index, open_local_index
from simhash_hbase.client import RemoteIndex
from simhash_hbase.client.http import READ_S
from simhash_hbase.client.index import PIECE_LINES
from simhash_hbase.errors import (
    EmptyDocument,
    IndexClosed,
    InvalidArgument,
    InvalidInput,
    NotAnIndex,
    StoreRefused,
    StoreTimeout,
    StoreUnavailable,
    Unsupported,
)
from simhash_hbase.stores.addresses import open_store, table_of

COPIES = near_copies(40, 3)
PAIRS = [(record["id"], record["text"]) for record in COPIES]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("SIMHASH_HBASE_API_KEY", raising=False)
    monkeypatch.delenv("SIMHASH_HBASE_API_KEY_FILE", raising=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a service for tests that need no empty index."""
    folder = tmp_path_factory.mktemp("shared")
    with serving(new_index(folder), folder) as running:
        yield running


@pytest.fixture
def remote(shared):
    with RemoteIndex(shared.address, key=shared.keys["all"]) as index:
        yield index


@pytest.fixture
def own(server):
    """Return an index that was empty."""
    with RemoteIndex(server.address, key=server.keys["all"]) as index:
        yield index


@pytest.fixture
def twin():
    """Return an index of the same kind, which the tests ask the same."""
    with create_index("memory:", analyzer="shingle") as index:
        yield index


def test_rule_copied_is_asked_of_a_service(tmp_path):
    def prose(seed):
        return "".join(random.Random(seed).choices([chr(point) for point in range(0x4E00, 0x9FA5)], k=300))

    url, reposts = f"file:{tmp_path / 'posts.index'}", [prose("head") + prose(n) for n in range(2)]
    with create_index(url, analyzer="shingle", passages=50) as index:
        index.add("article", prose(0))
    with serving(url, tmp_path) as server, RemoteIndex(server.address, key=server.keys["all"]) as remote:
        rule = remote.rule(match="copied")
        answers = [answer for _, answer in remote.query_many(zip("ab", reposts, strict=True), rule=rule)]
        assert [[match.id for match in answer.matches] for answer in answers] == [["article"], []]
        assert remote.query(reposts[0]).matches == []


def test_every_method_answers_as_the_index_behind_it_does(own, twin, url):
    asked = [("", "…"), ("", text(7, changed=2)), ("group 3 copy 1", text(3))]
    added = [(f"added {at}", text("a", changed=at), {"source": f"{at}"}) for at in range(5)]
    assert own.add("a", text("a"), metadata={"from": "here"}) == twin.add("a", text("a"))
    assert list(own.add_many([*added, ("none", " ")])) == list(twin.add_many([*added, ("none", " ")]))
    assert own.claim("b", text("a", changed=1), metadata={"n": 1}) == twin.claim("b", text("a", changed=1))
    assert list(own.claim_many(PAIRS)) == list(twin.claim_many(PAIRS))
    assert list(own.claim_many([("none", "…")])) == [("none", None)]

    with open_index(url) as writing:
        writing.note_backup("2026-11-21T09:30:00Z")
    with open_index(url, readonly=True) as behind:
        rules = [None, behind.rule(distance=8), behind.rule(match="verified", similarity=0.9)]
        for rule in rules:
            assert own.query(text("a"), rule=rule, limit=1) == behind.query(text("a"), rule=rule, limit=1)
            assert own.query_id("a", rule=rule, limit=1) == behind.query_id("a", rule=rule, limit=1)
            assert list(own.query_many(asked, rule=rule)) == list(behind.query_many(asked, rule=rule))
        assert len(own.query(text("a")).matches) > 1
        assert own.query(text("a"), since="1d") == behind.query(text("a"), since="1d")
        assert own.query(text("a"), since="2100-01-01") == behind.query(text("a"), since="2100-01-01")
        assert own.query_id("b") == behind.query_id("b")
        assert own.query_id("nobody") is None
        assert own.query_simhash(12345) == behind.query_simhash(12345)
        names = ["a", "nobody", "b", "added 2"]
        assert own.get_many(names) == behind.get_many(names)
        assert own.get("a") == behind.get("a")
        assert [own.copies(name) for name in "ab"] == [behind.copies(name) for name in "ab"]
        assert own.copies("nobody") is None
        assert own.stats() == behind.stats()
        assert own.stats().last_backup == "2026-11-21T09:30:00.000Z"
        assert own.profile == behind.profile
    assert list(own.remove_many(["a", "nobody"])) == [("a", True), ("nobody", False)]
    assert ("b" in own, "a" in own, own.remove("b"), own.remove("b")) == (True, False, True, False)


REFUSED = [
    (EmptyDocument, "the text of 'x' has no usable words", lambda index: index.add("x", "…")),
    (EmptyDocument, "the text of 'x' has no usable words", lambda index: index.add("x", " ")),
    (InvalidArgument, "the id of a document is empty", lambda index: index.claim("", text("a"))),
    (InvalidArgument, "the text of 'x' is of type int", lambda index: index.claim("x", 5)),
    (InvalidArgument, "the metadata of 'x' takes more than 1024 bytes",
     lambda index: index.claim("x", text("a"), metadata={"long": "a" * 1024})),
    (InvalidArgument, "document 2 is of type str", lambda index: list(index.claim_many([("a", text("a")), "b"]))),
    (InvalidArgument, "limit is 0", lambda index: index.query("text", limit=0)),
    (InvalidArgument, "the fingerprint is -1: wanted an integer", lambda index: index.query_simhash(-1)),
    (InvalidArgument, "the ids are one string", lambda index: list(index.remove_many("abc"))),
]  # fmt: skip
REFUSED_BY_A_SERVICE = [
    (
        InvalidInput,
        "^the document 'x' is too long for the service: the line is longer than 4,194,304 bytes",
        lambda index: list(index.claim_many([("x", "long text " * 500_000)])),
    ),
    (InvalidArgument, "a service answers with 1 to 1,000 matches", lambda index: index.query("text", limit=1001)),
    (InvalidArgument, "a service waits for 60 s", lambda index: index.claim("x", text("a"), deadline_s=1)),
]


def test_what_the_index_refuses_is_refused_with_its_errors(remote, twin):
    for index, calls in ((remote, REFUSED), (twin, REFUSED), (remote, REFUSED_BY_A_SERVICE)):
        for error, words, call in calls:
            with pytest.raises(error, match=words):
                call(index)


def test_what_needs_the_rows_is_refused_where_the_index_is_opened(shared):
    with pytest.raises(Unsupported, match="is a service, which can add, claim, query"):
        open_local_index(shared.address)


def test_a_remote_index_has_the_methods_of_the_face_alone(remote):
    public = {name for name in dir(remote) if not name.startswith("_")}
    assert public == {name for name in dir(Index) if not name.startswith("_")} | {"profile", "collection"}


def test_an_index_is_not_made_through_a_service(shared):
    with pytest.raises(Unsupported, match="is a service: an index is made where it is kept"):
        create_index(shared.address)
    for call in (create_index, table_of, open_store):
        with pytest.raises((Unsupported, InvalidArgument), match=r"^http:… is ") as failure:
            call("http://me:secret@127.0.0.1:1")
        assert "secret" not in str(failure.value)


def test_after_close_calls_fail(remote):
    remote.close()
    remote.close()

    for call in (lambda: remote.get("a"), lambda: list(remote.claim_many(PAIRS)), remote.stats):
        with pytest.raises(IndexClosed, match="this index was closed"):
            call()


def test_the_key_comes_from_a_variable_or_a_file(server, tmp_path, monkeypatch):
    advice = "a key is needed: .*; set SIMHASH_HBASE_API_KEY, or SIMHASH_HBASE_API_KEY_"
    with pytest.raises(StoreRefused, match=advice):
        open_index(server.address)
    file = tmp_path / "reader.key"
    file.write_text(server.keys["read"] + "\n")
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY_FILE", str(file))
    with open_index(server.address) as index:
        assert not index.query(text("a")).matches
        for call in (lambda: index.claim("a", text("a")), lambda: list(index.claim_many(PAIRS))):
            with pytest.raises(StoreRefused, match="this key does not have the scope write") as failure:
                call()
            assert server.keys["read"] not in str(failure.value)
            assert "SIMHASH_HBASE_API_KEY" not in str(failure.value)
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["write"])
    with open_index(server.address) as index:
        assert index.claim("a", text("a")).is_original
        with pytest.raises(StoreRefused, match="scope read"):
            index.get("a")
    for wrong, sentence in (("shk_wrong", "this key is not known"), ("two words", "one word of ASCII")):
        monkeypatch.setenv("SIMHASH_HBASE_API_KEY", wrong)
        with pytest.raises((StoreRefused, InvalidArgument), match=sentence) as failure:
            open_index(server.address)
        assert wrong not in str(failure.value)
    monkeypatch.delenv("SIMHASH_HBASE_API_KEY")
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY_FILE", str(tmp_path / "nothing"))
    with pytest.raises(InvalidArgument, match=r"SIMHASH_HBASE_API_KEY_FILE: .* cannot be read: No such file"):
        open_index(server.address)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://user:secret@127.0.0.1:1", "has no user and no password"),
        ("http://", "is no address of a service"),
        ("https://host:port", "no address of a service"),
        ("http://127.0.0.1:1/?a=1", "is no address of a service"),
        ("http://127.0.0.1:1/?key=secret", "'http://127.0.0.1:1/' is no address of a service"),
        ("http://127.0.0.1:1/#secret", "'http://127.0.0.1:1/' is no address of a service"),
        ("http://me:secret/x@127.0.0.1", "no address of a service, such as http://HOST:PORT$"),
    ],
)
def test_an_address_that_is_none_is_refused(url, sentence):
    with pytest.raises(InvalidArgument, match=sentence) as failure:
        open_index(url)
    assert "secret" not in str(failure.value)


def test_nobody_at_the_address_is_a_failure_that_may_pass():
    with pytest.raises(StoreUnavailable, match="does not answer: Connection refused"):
        open_index(f"http://127.0.0.1:{free_port()}")


def answering(answer, context=None):
    """Answer over HTTP by a function of a request and its body, which returns a status, a body and headers."""

    class Gateway(JsonHandler):
        def do_GET(self):
            self._answer(*answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0)))))

        do_POST = do_GET

    return served(Gateway, context)


def answered_by(server, request, body, under=""):
    """Have the service answer what a gateway was asked under a path."""
    headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
    url = server.address + request.path.removeprefix(under)
    answer = httpx.request(request.command, url, content=body, headers=headers, timeout=END_S)
    return answer.status_code, answer.content


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>"), (404, b"nothing"), (301, b""), (200, b'["a"]')])
def test_another_server_is_no_index(status, body):
    answer = (status, body, {"Location": "http://elsewhere/"})
    with answering(lambda request, sent: answer) as url, pytest.raises(NotAnIndex):
        open_index(url)


def test_a_gateway_that_is_not_ready_is_asked_again_when_it_says(server, twin):
    refused = []

    def answer(request, body):
        refused.append(len(refused) % 2 == 0)
        if refused[-1]:
            return (502, 503, 504, 429)[len(refused) // 2 % 4], b"<html>", {"Retry-After": "0"}
        return answered_by(server, request, body)

    with answering(answer) as url, RemoteIndex(url, key=server.keys["all"]) as index:
        assert list(index.claim_many(PAIRS)) == list(twin.claim_many(PAIRS))
        assert index.get(PAIRS[0][0]).state == "original"
    assert len(refused) >= 6


def test_a_gateway_that_stays_away_for_longer_than_the_patience_is_given_up(monkeypatch):
    monkeypatch.setattr("simhash_hbase.client.http.LONGEST_PAUSE_S", 2 * END_S)
    profile = create_index("memory:", analyzer="shingle").profile.encode()

    def answer(request, body):
        return 200 if request.path == "/v1/profile" else 503, profile, {"Retry-After": f"{2 * END_S:.0f}"}

    with answering(answer) as url, RemoteIndex(url, patience_s=END_S) as index:
        for call in (lambda: index.get("a"), lambda: index.claim("a", text("a"))):
            with pytest.raises(StoreUnavailable, match="status 503"):
                call()


def test_connections_that_are_cut_decide_everything_once(server, twin, url):
    documents = near_copies(400, 3)
    pairs = [(record["id"], record["text"]) for record in documents]
    random.Random(5).shuffle(pairs)
    with (
        closing(FaultyProxy("127.0.0.1", server.port)) as proxy,
        RemoteIndex(f"http://{proxy.address}", key=server.keys["all"]) as index,
    ):
        proxy.chaos = Chaos(5, cut=0.2, hold=0)
        claimed = list(index.claim_many(pairs))
        added = list(index.add_many((f"again {name}", text) for name, text in pairs[:200]))
        removed = [name for name, _ in index.remove_many(name for name, _ in pairs[:100])]

    assert proxy.chaos.faults > 0
    assert claimed == list(twin.claim_many(pairs))
    assert [name for name, _ in added] == [f"again {name}" for name, _ in pairs[:200]]
    assert removed == [name for name, _ in pairs[:100]]
    with open_index(url) as behind:
        assert not any(behind.get_many(removed))
        assert not behind.verify().wrong


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_in_the_middle_of_a_stream_decides_everything_once(url, tmp_path, twin, end):
    port, pairs = str(free_port()), [(record["id"], record["text"]) for record in near_copies(600, 2)]
    claimed = []

    def claim(key):
        with RemoteIndex(f"http://127.0.0.1:{port}", key=key, patience_s=END_S) as index:
            claimed.extend(index.claim_many(pairs))

    with ThreadPoolExecutor() as pool:
        with serving(url, tmp_path, "--port", port) as server:
            client = pool.submit(claim, server.keys["all"])
            wait_for(lambda: claimed or client.done())
            server.process.send_signal(end)
            server.process.wait(END_S)
            before = len(claimed)
        (tmp_path / "later").mkdir()
        shutil.copy(tmp_path / "keys", tmp_path / "later")
        with serving(url, tmp_path / "later", "--port", port, keys=server.keys):
            client.result(END_S)

    assert 0 < before < len(pairs)
    assert claimed == list(twin.claim_many(pairs))
    with open_index(url) as behind:
        assert not behind.verify().wrong


def test_a_stream_is_read_no_further_than_it_is_answered(remote):
    pulled = []

    def documents():
        for at in range(5 * PIECE_LINES):
            pulled.append(at)
            yield f"{at}", f"the number {at} and nothing else"

    for answered, _ in enumerate(remote.query_many(documents(), limit=1), 1):
        assert len(pulled) <= answered + PIECE_LINES
    assert answered == len(pulled) == 5 * PIECE_LINES


def test_threads_share_one_index(remote):
    names = [(f"{at}/{group}", group) for group in range(20) for at in range(4)]
    with ThreadPoolExecutor(4) as pool:
        claimed = list(pool.map(lambda name: remote.claim(name[0], text(name[1])), names))

    assert [decision.is_original for decision in claimed].count(True) == 20


def test_certificates_are_checked(shared, tmp_path, monkeypatch):
    monkeypatch.setenv("SIMHASH_HBASE_API_KEY", shared.keys["all"])
    certificate, key = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    with answering(partial(answered_by, shared), context) as url:
        with pytest.raises(StoreRefused, match=r"TLS fails: .*certificate"):
            open_index(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with open_index(url) as index:
            assert index.claim("a", text("a")).is_original


def test_a_service_may_be_under_a_path(shared):
    gateway = partial(answered_by, shared, under="/near")
    with answering(gateway) as url, RemoteIndex(f"{url}/near/", key=shared.keys["all"]) as index:
        assert index.profile.analyzer == "shingle"


def test_answers_beyond_the_memory_for_them_are_asked_for_in_parts(own, monkeypatch):
    monkeypatch.setattr("simhash_hbase.client.http.ANSWER_BYTES", 2_000)
    list(own.add_many(PAIRS))

    answers = list(own.query_many(PAIRS))

    assert [name for name, _ in answers] == [name for name, _ in PAIRS]
    assert all(len(answer.matches) >= 2 for _, answer in answers)


@pytest.mark.parametrize("patience", [{"patience_s": 0.5}, {}], ids=["when asked to", "soon at opening"])
def test_a_listener_that_never_answers_is_given_up(monkeypatch, patience):
    if not patience:
        monkeypatch.setattr("simhash_hbase.client.http.SOON_S", 0.5)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(StoreTimeout, match="not answered in time"):
        RemoteIndex(f"http://127.0.0.1:{silent.getsockname()[1]}", **patience)
    assert time.monotonic() - began < READ_S


def test_a_body_that_came_too_late_is_refused_for_good():
    problem = b'{"code": "request_timeout", "detail": "the body did not arrive", "retryable": false}'
    refused = pytest.raises(StoreRefused, match="the body did not arrive")
    with answering(lambda request, body: (408, problem)) as url, refused:
        RemoteIndex(url)


def test_answers_before_an_error_that_stays_are_not_lost(server, twin):
    end = b'{"summary": {"complete": false, "error": {"code": "unauthorized", "detail": "gone", "retryable": false}}}\n'

    def answer(request, body):
        status, content = answered_by(server, request, body)
        return status, content if request.command == "GET" else b"".join(content.splitlines(keepends=True)[:3]) + end

    claimed = []
    with (
        answering(answer) as url,
        RemoteIndex(url, key=server.keys["all"]) as index,
        pytest.raises(StoreRefused, match="gone"),
    ):
        claimed.extend(index.claim_many(PAIRS))
    assert claimed == list(twin.claim_many(PAIRS[:3]))
