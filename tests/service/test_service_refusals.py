"""Wrong requests get the 4xx that says what is wrong, and change nothing."""

import json
import socket
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from urllib.parse import quote

import pytest
from support.duplex import Duplex
from support.serving import JSON, NDJSON, lines, new_index, serving

from simhash_hbase import open_index

BODY_BYTES = 10_000
DOCUMENT = {"id": "a", "simhash": "00000000000000ff"}
ROUTES = [
    ("POST", "/v1/documents", "write"),
    ("GET", "/v1/documents?id=a", "read"),
    ("DELETE", "/v1/documents?id=a", "write"),
    ("POST", "/v1/claims", "write"),
    ("POST", "/v1/queries", "read"),
    ("POST", "/v1/lookups", "read"),
    ("POST", "/v1/removals", "write"),
    ("POST", "/v1/comparisons", "read"),
    ("GET", "/v1/stats", "read"),
    ("GET", "/v1/profile", "read"),
    ("GET", "/metrics", "metrics"),
]
LIMITS = ("--max-body", str(BODY_BYTES / (1 << 20)), "--timeout", "3", "--idle-timeout", "1")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    url = new_index(folder)
    with serving(url, folder, *LIMITS) as running:
        yield running
    with open_index(url) as index:
        assert index.stats().documents == 0


def told(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["request_id"] == answer.headers["x-request-id"]
    return answer.status_code, problem["code"]


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_each_route_wants_a_key_with_its_scope(server, method, path, scope):
    with server.client(None) as client:
        for header in (None, "Bearer another", "Basic YTpi", "Bearer", "Bearer a b", "Bearer " + "k" * 5000):
            answer = client.request(method, path, headers={} if header is None else {"Authorization": header})
            assert told(answer) == (401, "unauthorized"), header
            assert answer.headers["www-authenticate"] == "Bearer"
    for other in {"read", "write", "metrics"} - {scope}:
        with server.client(other) as client:
            answer = client.request(method, path)
        if (path, other) == ("/v1/profile", "write"):
            # Whoever writes needs the profile, too.
            assert answer.status_code == 200
        else:
            assert told(answer) == (403, "forbidden")
    with server.client(scope) as client:
        assert client.request(method, path).status_code not in (401, 403)


BODY = b'{"id":"a","simhash":"0000000000000000"}'
GZIP = {**JSON, "Content-Encoding": "gzip"}
BROKEN, INVALID, EMPTY = (400, "malformed_json"), (422, "invalid_document"), (422, "empty_document")


@pytest.mark.parametrize(
    ("path", "content", "expected", "words"),
    [
        ("documents", b"", BROKEN, "not JSON"),
        ("documents", b"\xff\xfe", BROKEN, "not JSON"),
        ("documents", b'{"id":"a","text":"\xff"}', BROKEN, "not UTF-8"),
        ("documents", b'{"id":' + b"[" * 5000, BROKEN, ""),
        ("documents", b"[1]", INVALID, "JSON object"),
        ("documents", b"{}", INVALID, "missing"),
        ("documents", b'{"id":"","text":"b"}', INVALID, "empty"),
        ("documents", b'{"id":"a","text":"b","simhash":"0000000000000000"}', INVALID, "give one of"),
        *(
            (
                "documents",
                b'{"id":"a","simhash":%b}' % simhash,
                INVALID,
                "the fingerprint is not 16 hex digits in a string",
            )
            for simhash in (
                b'"xyz"',
                b'"0"',
                b'"0x00000000000000"',
                b'"00000000000000000"',
                b'"000000000000000g"',
                b"7",
                b"null",
            )
        ),
        ("documents", b'{"id":"a","text":"b","metadata":3}', INVALID, "metadata"),
        ("documents", b'{"id":"a","text":"b","metadata":{"m":"%s"}}' % (b"m" * 1100), INVALID, "metadata"),
        ("documents", b'{"id":"a","text":"."}', EMPTY, "usable words"),
        ("documents", b'{"id":"a","text":"%s"}' % (b"x" * BODY_BYTES), (413, "body_too_large"), ""),
        (
            "documents",
            b'{"id":"a","simhash":"0000000000000000","metdata":{}}',
            INVALID,
            "unknown field metdata: the fields are id, ",
        ),
        ("documents", b'{"id":"a","id":"b","text":"one two"}', INVALID, "the field 'id' comes more than once"),
        ("claims", b'{"id":"a","text":"one","text":"two"}', INVALID, "the field 'text' comes more than once"),
        ("claims", b'{"id":"a","te\\u0078t":"one","text":"two"}', INVALID, "the field 'text' comes more than once"),
        (
            "queries",
            b'{"simhash":"0000000000000000","simhash":"0000000000000000"}',
            INVALID,
            "the field 'simhash' comes more than once",
        ),
        ("comparisons", b'{"a":"x","a":"y","b":"z"}', INVALID, "the field 'a' comes more than once"),
        *(("documents", b'{"id":"a","features":[["a",%b]]}' % number, BROKEN, "") for number in (b"NaN", b"-Infinity")),
        *(("documents", b'{"id":"a","text":"%b"}' % text, BROKEN, "") for text in (b"\\ud800", b"\xed\xa0\x80")),
        ("documents", b'{"id":"a","text":%b}' % (b"[" * 4_000 + b"]" * 4_000), BROKEN, "nested too deeply"),
        ("queries", b'{"simhash":%s}' % (b"9" * 5000), INVALID, "out of range"),
        ("queries", b'{"simhash":1e999}', INVALID, "out of range"),
        ("comparisons", b'{"a":"x","b":"x","c":1,"d":2}', INVALID, "unknown field c, d: the fields are a, b"),
        ("comparisons", b'{"a":"x"}', INVALID, "'b' is missing"),
        ("comparisons", b'{"a":"x","b":5}', INVALID, "'b' is not a string"),
        ("comparisons", b'{"a":" ","b":"x"}', INVALID, "empty"),
        ("comparisons", b'{"a":"x","b":"..."}', EMPTY, "the text of 'b' has no usable words"),
        ("comparisons", b'{"a":"x","b":"a\\u0000b"}', INVALID, "NUL"),
        ("comparisons", b"[]", INVALID, "JSON object"),
    ],
)
def test_a_body_that_the_route_cannot_take_is_refused_in_a_sentence(client, path, content, expected, words):
    answer = client.post(f"/v1/{path}", content=content, headers=JSON)
    assert told(answer) == expected
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "others"),
    [("documents", [{}, {"Content-Type": "text/plain"}, GZIP]), ("comparisons", [GZIP, NDJSON]), ("lookups", [JSON])],
)
def test_a_body_of_another_type_than_the_route_takes_is_refused(client, path, others):
    for headers in others:
        assert told(client.post(f"/v1/{path}", content=BODY, headers=headers)) == (415, "unsupported_media_type")


@pytest.mark.parametrize("path", ["documents", "claims", "queries", "lookups", "removals"])
def test_a_line_of_a_corpus_may_have_fields_for_others(client, path):
    answer, end = lines(client.post(f"/v1/{path}", content=BODY[:-1] + b',"lang":"zh"}', headers=NDJSON))
    assert "error" not in answer or answer["error"]["code"] == "document_missing"
    assert end["summary"]["complete"]
    # The index stays empty, whichever of these tests come later.
    client.delete("/v1/documents?id=a")


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_a_parameter_that_nothing_reads_is_refused_by_its_name(client, method, path, scope):
    answer = client.request(method, f"{path}{'&' if '?' in path else '?'}limitt=5&limitt=6")
    assert told(answer) == (422, "invalid_argument")
    assert answer.json()["detail"].startswith("unknown parameter limitt: th")


def sent_raw(server, method, path):
    """Send an address as it is, which clients would encode first; return the status and the problem."""
    with closing(HTTPConnection("127.0.0.1", server.port)) as connection:
        headers = {"Authorization": f"Bearer {server.keys['all']}", **JSON}
        connection.request(
            method, path, body='{"simhash":"0000000000000000"}' if method == "POST" else None, headers=headers
        )
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("value", ["%ff", "a%c3", "%ed%a0%80", "%zz", "100%", "a%2"])
@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_a_parameter_that_is_not_encoded_utf8_is_refused(server, method, path, scope, value):
    bare = path.partition("?")[0]
    for query in (f"id={value}", f"limit={value}", f"{value}=a"):
        status, problem = sent_raw(server, method, f"{bare}?{query}")

        assert (status, problem["code"]) == (400, "malformed_request")


@pytest.mark.parametrize(
    "address",
    [
        "GET /v1/documents?id=a&id=a",
        "DELETE /v1/documents?id=&id=b",
        "GET /v1/documents/copies?id=a&%69d=b",
        "POST /v1/queries?limit=5&since=7d&limit=6",
    ],
)
def test_a_parameter_that_comes_twice_is_refused(server, address):
    status, problem = sent_raw(server, *address.split())
    assert (status, problem["code"]) == (400, "malformed_request")
    assert "more than once" in problem["detail"]


def test_a_body_is_refused_while_it_is_sent_when_its_length_is_not_told(server):
    with Duplex(server, "/v1/documents", media="application/json") as request:
        request.send(b'{"id":"a","text":"')
        for _ in range(3):
            request.send(b"x" * (BODY_BYTES // 2))

        assert request.status() == 413


def test_a_field_that_comes_twice_is_refused_in_a_single_document(client):
    once = b'{"simhash":"0000000000000000","metadata":{"simhash":"id","id":"id"},"id":"the \\"simhash\\" \\u00e9"}'
    twice = once[:-1] + b',"simhash":"0000000000000001"}'

    assert client.post("/v1/queries", content=once, headers=JSON).json()["matches"] == []
    assert told(client.post("/v1/queries", content=twice, headers=JSON)) == INVALID
    assert [answer["matches"] for answer in lines(client.post("/v1/queries", content=twice, headers=NDJSON))[:-1]] == [
        []
    ]


def test_a_line_that_is_too_long_is_refused_in_its_place(client):
    content = b'{"id":"a","simhash":"zz"}\n{"id":"b","text":"%s"}\n{"id":"c"}' % (b"x" * BODY_BYTES)

    answers = lines(client.post("/v1/documents", content=content, headers=NDJSON))

    codes = [answer["error"]["code"] for answer in answers[:3]]
    assert codes == ["invalid_document", "line_too_long", "invalid_document"]
    assert answers[3]["summary"]["complete"]


@pytest.mark.parametrize(
    "query",
    [
        "distance=65", "distance=-1", "distance=x", "similarity=2", "similarity=nan", "limit=0", "limit=1001",
        "match=near", "match=distance&similarity=0.5", "since=yesterday",
        "collection=", "collection=%00", "collection=a%0Ab", f"collection={'x' * 129}",
    ],
)  # fmt: skip
def test_a_parameter_out_of_range_is_refused(client, query):
    answer = client.post(f"/v1/queries?{query}", json={"text": "some text"})
    assert told(answer) == (422, "invalid_argument")
    assert len(answer.text) < 500


@pytest.mark.parametrize("query", ["at_least=0", "at_least=1001", "same="])
def test_a_search_for_passages_out_of_range_is_refused(client, query):
    assert told(client.post(f"/v1/passages?{query}", json={"text": "some text"})) == (422, "invalid_argument")


@pytest.mark.parametrize("query", ["at_share=0", "at_share=1.1", "at_share=nan"])
def test_a_share_of_items_out_of_range_is_refused(client, query):
    assert told(client.post(f"/v1/items?{query}", json={"text": "some text"})) == (422, "invalid_argument")


LONGEST_ID = 16_384


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd", 404),
        ("a\x00b", 404),
        ("%2e%2e%2f", 404),
        *((letter * LONGEST_ID, 404) for letter in "x文\U0001f600"),
        *((letter * (LONGEST_ID + 1), 422) for letter in "x文\U0001f600"),
        ("", 422),
    ],
)
def test_an_id_is_never_a_path(server, name, expected):
    status, problem = sent_raw(server, "GET", f"/v1/documents?id={quote(name)}")

    assert (status, problem["code"]) == (expected, "document_missing" if expected == 404 else "invalid_argument")
    if name:
        removed = sent_raw(server, "DELETE", f"/v1/documents?id={quote(name)}")[0]
        assert removed == (200 if expected == 404 else expected)


@pytest.mark.parametrize("name", ["shk_9fJ2-xQ", "9fJ2xQ", "a" * 40, "%0a%22"])
def test_a_parameter_whose_name_may_be_a_secret_is_not_repeated(server, name):
    status, problem = sent_raw(server, "GET", f"/v1/stats?{name}")
    assert (status, problem["code"]) == (422, "invalid_argument")
    assert problem["detail"] == "unknown parameter: this route has no parameters"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/documents/../stats",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/v1/stats/",
        "/console/page.html",
        "/console/",
        "/console/%00",
        "/console/..%2f..%2fkeys.py",
    ],
)
def test_a_path_that_is_no_route_is_not_found(server, path):
    assert sent_raw(server, "GET", path)[0] == 404


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/metrics"])
def test_the_header_of_an_answer_may_be_asked_for_alone(client, path):
    answer, whole = client.head(path), client.get(path)

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == whole.headers["content-type"]
    # Metrics change from request to request.
    assert path == "/metrics" or answer.headers["content-length"] == whole.headers["content-length"]
    assert int(answer.headers["content-length"]) > 0


def test_a_method_that_a_route_has_not_is_refused_with_those_that_it_has(client):
    answer = client.put("/v1/documents")

    assert told(answer) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "DELETE, GET, POST"
    assert client.post("/metrics").headers["allow"] == "GET, HEAD"


def test_a_body_that_does_not_arrive_is_not_waited_for(server):
    with Duplex(server, "/v1/queries", media="application/json") as request:
        request.send(b'{"text":"som')

        assert request.status() == 408
        assert b"request_timeout" in request.rest()


def test_a_line_that_does_not_end_ends_its_stream_behind_the_one_before(server):
    with Duplex(server, "/v1/queries") as request:
        request.send(b'{"simhash":"0000000000000000"}\n{"sim')

        assert request.status() == 200
        answer, end = request.lines()
    assert b'"matches":[]' in answer
    assert b'"complete":false,"last_line":1,' in end
    assert b'"code":"idle"' in end


def test_who_is_refused_keeps_nobody_out(url, tmp_path):
    refused = b"POST /v1/claims HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"
    with serving(url, tmp_path, "--max-requests", "1") as server, server.client() as client, ExitStack() as strangers:
        for _ in range(20):
            # Told so, and still free to send the body that is drained for a while.
            stranger = strangers.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            stranger.sendall(refused)
            assert stranger.makefile("rb").readline().split()[1] == b"401"

            assert client.post("/v1/queries", json={"simhash": "0000000000000000"}).status_code == 200
