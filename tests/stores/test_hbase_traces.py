"""Spans of calls of HBase: one for calls that are sent together, by every way to HBase."""

from contextlib import closing
from functools import partial
from types import SimpleNamespace

import pytest
from opentelemetry import trace
from support.hbase_server import hbase_options, tables
from support.region_server import Cluster, failure, response
from support.spans import is_below, named, recorded

from simhash_hbase import LocalIndex, Profile
from simhash_hbase.errors import StoreRefused, StoreUnavailable
from simhash_hbase.stores.base import Swap
from simhash_hbase.stores.hbase import Gateway, HBaseOptions, HBaseStore
from simhash_hbase.stores.hbase.exchange import Exchange
from simhash_hbase.stores.hbase.protobuf import number_field
from simhash_hbase.stores.hbase.rpc.servers import Servers

SWAP = Swap(b"row", b"s", b"old", b"new")
GATEWAYS = Gateway("one", 1), Gateway("two", 2)


def traced_header(request):
    """Return what a call says of its trace."""
    return {pair.text(1): pair.text(2) for pair in request.header.message(2).messages(3)}


def sampled(request):
    """Return whether a call tells the server to keep its trace."""
    return bool(int(traced_header(request)["traceparent"][-2:], 16) & 1)


def test_a_call_without_a_gateway_names_its_own_span_to_the_server():
    cluster = Cluster(lambda request: response(request.number, number_field(2, 1)))
    with cluster.up() as options, closing(Servers(options)) as servers:
        with recorded() as spans:
            with trace.get_tracer("test").start_as_current_span("caller"):
                assert servers.exchange.one(partial(servers.driver.swap, SWAP))
            made = spans()
        servers.exchange.one(partial(servers.driver.swap, SWAP))

    [call, untraced] = cluster.calls
    span = named(made, f"{call.method} t")
    assert is_below(span, named(made, "caller"))
    assert span.kind is trace.SpanKind.CLIENT
    assert dict(span.attributes) == {
        "db.system.name": "hbase",
        "db.operation.name": call.method,
        "db.collection.name": "t",
        "db.namespace": "default",
        "server.address": "127.0.0.1",
        "server.port": options.gateways[0].port,
    }
    named_there = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-"
    assert traced_header(call)["traceparent"].startswith(named_there)
    assert sampled(call)
    assert not sampled(untraced)


def test_a_call_that_a_server_refuses_has_the_class_of_the_error():
    refused = "org.apache.hadoop.hbase.DoNotRetryIOException"
    cluster = Cluster(lambda request: failure(request.number, refused, "a sentence with a text", final=True))
    with cluster.up() as options, closing(Servers(options)) as servers, recorded() as spans:
        with pytest.raises(StoreRefused):
            servers.exchange.one(partial(servers.driver.swap, SWAP))
        [failed] = [span for span in spans() if "error.type" in span.attributes]

    assert failed.attributes["error.type"].startswith("simhash_hbase.")
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert not failed.events
    assert "sentence" not in failed.to_json()


class Answering(Exchange):
    """Gives each question the next outcome: answers, or an error to raise in it."""

    def __init__(self, options, *outcomes):
        super().__init__(options)
        self._outcomes = list(outcomes)

    def hold(self, tasks, **_):
        conversation = self._traced(tasks)[0]()
        calls = next(conversation)
        for outcome in self._outcomes:
            try:
                calls = conversation.throw(outcome) if isinstance(outcome, Exception) else conversation.send(outcome)
            except StopIteration as finished:
                return [finished.value]
        conversation.close()
        return [calls]


def ask(*sizes):
    """Return a conversation that asks so many things together, one after the other, and goes on after errors."""

    def task():
        heard = []
        for size in sizes:
            try:
                heard.append((yield [SimpleNamespace(method=f"ask{size}")] * size))
            except StoreUnavailable as error:
                heard.append(str(error))
        return heard

    return task


def test_questions_of_a_conversation_have_a_span_each_whatever_becomes_of_them():
    options = HBaseOptions(gateways=GATEWAYS, table="space:t")
    with recorded() as spans:
        assert Answering(options, ["yes"], StoreUnavailable("cut"), [1, 2]).one(ask(1, 3, 2)) == [
            ["yes"],
            "cut",
            [1, 2],
        ]
        Answering(options).one(ask(4))
        made = spans()

    assert [(span.name, span.attributes.get("db.operation.batch.size")) for span in made] == [
        ("ask1 space:t", None),
        ("ask3 space:t", 3),
        ("ask2 space:t", 2),
        ("ask4 space:t", 4),
    ]
    errors = [span.attributes.get("error.type") for span in made]
    assert errors == [None, "simhash_hbase.errors.StoreUnavailable", None, "abandoned"]
    # Which of several gateways answers is not known before.
    assert all(span.attributes["db.namespace"] == "space" and "server.address" not in span.attributes for span in made)


def test_a_step_without_calls_has_no_span():
    with recorded() as spans:
        assert Answering(HBaseOptions(gateways=GATEWAYS, table="t"), [], ["yes"]).one(ask(0, 1)) == [[], ["yes"]]
        assert [span.name for span in spans()] == ["ask1 t"]


@pytest.mark.hbase
@pytest.mark.parametrize("way", [1, 2, "rpc"])
def test_calls_of_a_claim_are_below_the_claim(way):
    options = hbase_options(way, tables().take())
    with closing(HBaseStore.open(options)) as store:
        index = LocalIndex.create(store, Profile.resolve(analyzer="shingle"))
        with recorded() as spans:
            index.claim("a", "The council has approved the new metro line through the old town.")
            made = spans()

    claim = named(made, "index claim")
    calls = [span for span in made if span.kind is trace.SpanKind.CLIENT]
    assert calls
    assert all(is_below(call, claim) and call.attributes["db.system.name"] == "hbase" for call in calls)
    assert all(
        call.attributes["db.collection.name"] == hbase_options(way, store.url.rpartition("/")[2]).table
        for call in calls
    )
