"""Spans of requests and of operations of an index: which are below which, and what they hold."""

import asyncio
from contextlib import asynccontextmanager, contextmanager
from threading import Event

import httpx
import pytest
from opentelemetry import trace
from support.corpus import near_copies
from support.serving import NDJSON, come_true, ndjson
from support.spans import everything, is_below, named, recorded

from simhash_hbase import create_index
from simhash_hbase.client.greenlets import carried_out
from simhash_hbase.client.http import HttpClient
from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.index.operations import OPERATIONS
from simhash_hbase.service import create_app
from simhash_hbase.service.operations import Batcher

TRACE, CALLER = 0xABC, 0xDEF
TRACEPARENT = {"traceparent": f"00-{TRACE:032x}-{CALLER:016x}-01"}
TEXT = "The council has approved the new metro line through the old town."

pytestmark = pytest.mark.anyio


@pytest.fixture
def index():
    with create_index("memory:", analyzer="shingle", passages=50) as made:
        yield made


@asynccontextmanager
async def client_of(index):
    app = create_app(index, keys=None)
    served = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60)
    async with app.router.lifespan_context(app), served as client:
        yield client


async def test_a_request_has_a_span_between_its_clients_and_the_indexs(index):
    with recorded() as spans:
        async with client_of(index) as client:
            sent = await client.post("/v1/claims", json={"id": "secret-id", "text": TEXT}, headers=TRACEPARENT)
            await client.get("/v1/documents", params={"id": "secret-id"})
            await client.get("/healthz")
        made = spans()

    request, operation = named(made, "POST /v1/claims"), named(made, "index claim")
    assert (request.context.trace_id, request.parent.span_id) == (TRACE, CALLER)
    assert is_below(operation, request)
    assert request.kind is trace.SpanKind.SERVER
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "url.scheme": "http",
        "url.path": "/v1/claims",
        "http.route": "/v1/claims",
        "http.response.status_code": 200,
        "http.response.header.x-request-id": (sent.headers["X-Request-ID"],),
    }
    assert dict(operation.attributes) == {"simhash_hbase.documents": 1}
    assert is_below(named(made, "index get"), named(made, "GET /v1/documents"))
    assert not [span for span in made if "healthz" in span.name]
    assert all(word not in everything(made) for word in ("secret-id", "council"))


async def test_a_span_has_the_class_of_an_error_without_its_sentence(index, monkeypatch):
    def fail(*_, **__):
        raise StoreUnavailable(f"no answer for {TEXT}")

    monkeypatch.setattr(index.store, "get", fail)
    with recorded() as spans:
        async with client_of(index) as client:
            await client.post("/v1/lookups", content=b'{"id":"a"}\n', headers=NDJSON)
            await client.get("/v1/documents", params={"id": "a"})
            await client.get(f"/{TEXT}")
        made = spans()

    failed = [span for span in made if span.name == "index get"]
    assert [span.attributes["error.type"] for span in failed] == ["simhash_hbase.errors.StoreUnavailable"] * 2
    assert all(span.status.status_code is trace.StatusCode.ERROR and not span.events for span in failed)
    request = named(made, "GET /v1/documents")
    assert (request.attributes["error.type"], request.attributes["http.response.status_code"]) == ("503", 503)
    unknown = named(made, "GET")
    assert unknown.attributes["http.response.status_code"] == 404
    assert "error.type" not in unknown.attributes
    assert "council" not in everything(made)


async def test_requests_of_one_batch_are_linked_to_that_below_which_the_batch_is(index, monkeypatch):
    answer, arrived, begun, gate = Batcher.answer, [], Event(), Event()
    add_entries = index.add_entries

    async def noted(self, operation, item):
        arrived.append(item)
        return await answer(self, operation, item)

    def slow(entries):
        begun.set()
        gate.wait()
        return add_entries(entries)

    monkeypatch.setattr(Batcher, "answer", noted)
    monkeypatch.setattr(index, "add_entries", slow)
    documents = near_copies(4, 1)
    with recorded() as spans:
        async with client_of(index) as client:
            tasks = [asyncio.create_task(client.post("/v1/documents", json=document)) for document in documents]
            await asyncio.to_thread(begun.wait)
            await come_true(lambda: len(arrived) == len(documents))
            gate.set()
            await asyncio.gather(*tasks)
        made = spans()

    requests = {span.context.span_id: span for span in made if span.name == "POST /v1/documents"}
    operations = [span for span in made if span.name == "index add"]
    first = {span.parent.span_id for span in operations}
    assert len(requests) == len(documents)
    assert sum(span.attributes["simhash_hbase.documents"] for span in operations) == len(documents)
    for number, request in requests.items():
        linked = {link.context.span_id for link in request.links}
        assert linked <= first
        assert len(linked) == (number not in first)


async def test_a_stream_has_one_span_with_its_batches_below(index):
    with recorded() as spans:
        async with client_of(index) as client:
            await client.post("/v1/documents", content=ndjson(near_copies(5, 2)), headers=NDJSON)
        made = spans()

    batches = [span for span in made if span.name == "index add"]
    assert sum(span.attributes["simhash_hbase.documents"] for span in batches) == 10
    assert all(is_below(span, named(made, "POST /v1/documents")) for span in batches)


def use(index):
    """Do each operation once."""
    for name in ("a", "b"):
        index.claim(name, TEXT, batch="crawl")
    index.add("c", TEXT)
    index.query(TEXT)
    index.find(TEXT[:40])
    index.passages(TEXT)
    index.items(TEXT)
    index.get("a")
    index.copies("a")
    index.batches_after(None, pages=1)
    index.remove_batch_after("crawl", None, pages=1)
    index.remove("c")


def test_each_operation_of_an_index_has_a_span(index):
    with recorded() as spans:
        use(index)
        made = spans()

    assert {span.name for span in made} >= {f"index {operation.name}" for operation in OPERATIONS}
    assert "council" not in everything(made)


def test_the_span_of_answers_is_not_active_while_the_caller_works_on_one(index):
    index.add("a", TEXT)
    tracer = trace.get_tracer("test")
    with recorded() as spans:
        with tracer.start_as_current_span("caller"):
            for _ in index.query_many([("q", TEXT), ("r", TEXT)]):
                with tracer.start_as_current_span("between"):
                    pass
        # The reader of the first answer wants no more.
        answers = index.query_many([("q", TEXT), ("r", TEXT)])
        next(answers)
        answers.close()
        made = spans()

    between = [span for span in made if span.name == "between"]
    assert len(between) == 2
    assert all(is_below(span, named(made, "caller")) for span in between)
    queries = [span for span in made if span.name == "index query"]
    assert [span.parent and span.parent.span_id for span in queries] == [named(made, "caller").context.span_id, None]
    assert not any("error.type" in span.attributes for span in queries)


class Noting:
    """Notes the headers of requests in the place of a transport."""

    def __init__(self, url, proxy):
        self.headers = []

    @staticmethod
    def check(url):
        """Take every address."""

    @contextmanager
    def response(self, request):
        self.headers.append(request.headers)
        raise StoreUnavailable("nobody listens")
        yield

    def sleep(self, seconds):
        """Wait for nothing."""

    def close(self):
        """Close nothing."""


async def test_a_client_names_the_active_span_to_the_service_also_from_an_event_loop():
    client = HttpClient("http://127.0.0.1:1", key=None, patience_s=0.01, transport=Noting)

    def ask():
        with pytest.raises(StoreUnavailable):
            client.get("/v1/profile")
        return dict(client._transport.headers[-1])

    span = trace.NonRecordingSpan(trace.SpanContext(TRACE, CALLER, False, trace.TraceFlags(1)))
    assert "traceparent" not in ask()
    with trace.use_span(span):
        assert ask()["traceparent"] == TRACEPARENT["traceparent"]
        assert (await carried_out(ask))["traceparent"] == TRACEPARENT["traceparent"]
    assert "traceparent" not in ask()
