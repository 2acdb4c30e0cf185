"""HBase's own RPC, with a server of the test that answers in every order, too late, cut, or not at all."""

import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial

import pytest
from support.certificates import make_certificate
from support.patience import END_S
from support.region_server import Cluster, failure, frame, response, serving

from simhash_hbase.errors import IndexMissing, InvalidArgument, NotAnIndex, StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import Gateway, HBaseStore
from simhash_hbase.stores.hbase.driver import AccessDenied
from simhash_hbase.stores.hbase.protobuf import bytes_field, number_field
from simhash_hbase.stores.hbase.rpc.cells import (
    DELETE_COLUMN,
    PUT,
    pack_block_rows,
    pack_cells,
    unpack_block_rows,
    unpack_cells,
)
from simhash_hbase.stores.hbase.rpc.connection import RpcConnection
from simhash_hbase.stores.hbase.rpc.driver import RpcDriver
from simhash_hbase.stores.hbase.rpc.errors import NotDone, NotSent, ServerException, connection_errors, of_exception
from simhash_hbase.stores.hbase.rpc.exchange import Connections
from simhash_hbase.stores.hbase.rpc.messages import CLIENT, RpcAnswer, RpcCall
from simhash_hbase.stores.hbase.rpc.servers import Servers
from simhash_hbase.stores.hbase.sockets import MOST_BYTES, OtherServer, UnreadableAnswer

KEYS = [bytes([n]) * 12 + b"\0" for n in (1, 2, 0xF0)]
NOT_SERVING = "org.apache.hadoop.hbase.NotServingRegionException"
SWAP = Swap(b"row", b"s", b"old", b"new")


def call(options, method="Get"):
    return RpcCall(options.gateways[0], CLIENT, method, b"")


def soon():
    return time.monotonic() + END_S


def test_answers_in_any_order_reach_the_calls_that_they_belong_to():
    def backwards(connection):
        waiting = []
        for request in connection:
            waiting.append(request)
            if len(waiting) == 40:
                for each in reversed(waiting):
                    connection.send(response(each.number, each.method.encode()))
                waiting.clear()

    with serving(backwards) as options, closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:

        def ask(name):
            numbers = connection.send([call(options, f"{name}.{at}") for at in range(5)], END_S)
            return [connection.answer(number, soon()).message.decode() for number in numbers]

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, "abcdefgh")) == [[f"{name}.{at}" for at in range(5)] for name in "abcdefgh"]
        assert connection.is_open
        assert connection.calls == 0


def test_calls_go_through_tls_whose_certificate_is_checked(tmp_path):
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def echo(connection):
        for request in connection:
            connection.send(response(request.number, request.cells))

    with serving(echo, tls=context) as options:
        trusting = replace(options, tls=True, ca_file=str(certificate))
        block = bytes(range(256)) * 4_000
        with closing(RpcConnection(trusting.gateways[0], CLIENT, trusting)) as connection:
            asked = [RpcCall(options.gateways[0], CLIENT, "Get", b"", block)] * 3
            numbers = connection.send(asked, END_S)
            assert [connection.answer(number, soon()).message == block for number in numbers] == [True] * 3
        with pytest.raises(OSError, match="certificate verify failed"):
            RpcConnection(options.gateways[0], CLIENT, replace(options, tls=True))


def test_a_connection_begins_with_its_version_before_its_user():
    greeted = []

    def note(connection):
        greeted.append((connection.greeting, connection.header))
        for request in connection:
            connection.send(response(request.number))

    with serving(note) as options, closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:
        [number] = connection.send([call(options)], END_S)
        connection.answer(number, soon())

    [(greeting, header)] = greeted
    assert greeting == b"HBas\0\x50"
    assert (header.message(1).text(1), header.text(2)) == ("me", "ClientService")
    assert header.text(3) == "org.apache.hadoop.hbase.codec.KeyValueCodec"
    assert (header.message(5).number(7), header.message(5).number(8)) == (2, 6)


UNREADABLE = {
    "which nobody made": lambda number: response(number + 1),
    "above the limit": lambda number: (MOST_BYTES + 1).to_bytes(4),
    "-1 bytes": lambda number: b"\xff\xff\xff\xff",
    "is cut off": lambda number: frame(b"\x08\x08"),
    "has no end": lambda number: frame(b"\xff\xff"),
    "another length": lambda number: frame(response(number)[4:] + b"more"),
}


@pytest.mark.parametrize("words", UNREADABLE)
def test_an_answer_that_cannot_be_right_closes_the_connection_for_all_calls(words):
    def damaged(connection):
        requests = iter(connection)
        next(requests)
        connection.send(UNREADABLE[words](next(requests).number))
        next(requests)

    with serving(damaged) as options, closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:
        first, second = connection.send([call(options), call(options)], END_S)
        with pytest.raises(UnreadableAnswer, match=words):
            connection.answer(second, soon())
        with pytest.raises(ConnectionAbortedError):
            connection.answer(first, soon())
        assert not connection.is_open


def test_a_frame_that_ends_early_is_an_error_of_the_connection():
    def cut(connection):
        connection.send(response(next(iter(connection)).number, b"whole")[:-2])

    with serving(cut) as options, closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:
        [number] = connection.send([call(options)], END_S)
        with pytest.raises(ConnectionAbortedError):
            connection.answer(number, soon())


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (failure(0xFFFFFFFF, "org.apache.hadoop.hbase.security.AccessDeniedException", "a.b.C: Kerberos"), "Kerberos"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP"),
    ],
)
def test_a_server_that_refuses_the_connection_is_an_error_at_once(refusal, words):
    def refuse(connection):
        next(iter(connection))
        connection.send(refusal)

    with serving(refuse) as options:
        with closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:
            [number] = connection.send([call(options)], END_S)
            with pytest.raises(OtherServer, match=words):
                connection.answer(number, soon())
        with pytest.raises(StoreRefused, match=words):
            Servers(options)


def test_a_server_that_does_not_know_where_meta_is_is_named_with_what_to_do():
    """A region server of HBase 2.4 has no such service, and closes the connection."""
    with (
        serving(lambda connection: next(iter(connection))) as options,
        pytest.raises(StoreUnavailable, match=r"closed the connection; in HBase 2\.4 name a master"),
    ):
        Servers(options)


def test_garbage_that_comes_while_a_large_call_is_sent_is_unreadable():
    def garbage(connection):
        connection.send(b"\0\0\0\x01\x80")
        for _ in connection:
            pass

    with serving(garbage) as options, closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:
        large = RpcCall(options.gateways[0], CLIENT, "Multi", b"", bytes(64 << 20))
        # The server may have closed the connection before the garbage is read.
        with pytest.raises((UnreadableAnswer, ConnectionError)):
            connection.send([large], END_S)
        with pytest.raises(NotSent):
            connection.send([call(options)], END_S)


def test_a_call_that_no_byte_was_sent_of_may_be_repeated():
    gateway = Gateway("127.0.0.1", 1)
    with pytest.raises(NotDone), connection_errors("Mutate", gateway, 1.0):
        raise NotSent("the server was silent for too long")
    with pytest.raises(StoreRefused, match="no name of a host"), connection_errors("connecting", gateway, 1.0):
        "x..y".encode("idna")


def test_a_child_process_leaves_the_connections_of_its_parent_open():
    def echo(connection):
        for request in connection:
            connection.send(response(request.number))

    with serving(echo) as options:
        connections = Connections(options)
        mine = connections.to(options.gateways[0], CLIENT)
        connections._process = -1  # As in a child, whose copy has the number of its parent.
        connections.close()
        assert mine.is_open
        [number] = mine.send([call(options)], END_S)
        assert mine.answer(number, soon()).message == b""
        mine.close()


def test_a_table_that_the_master_never_finishes_is_a_timeout():
    driver = RpcDriver("t", None, deadline_s=-1.0)
    waiting = driver._finished(Gateway("127.0.0.1", 1), 7)
    next(waiting)
    running = RpcAnswer(number_field(1, 1), b"")
    with pytest.raises(StoreTimeout, match="table t is not made within -1 s"):
        waiting.send([running])


def test_only_the_connection_of_a_silent_server_is_given_up():
    late = threading.Event()

    def slow(connection):
        requests = iter(connection)
        first = next(requests)
        second = next(requests)
        connection.send(response(second.number, b"second"))
        late.wait(END_S)
        connection.send(response(first.number, b"first"))
        connection.send(response(next(requests).number, b"third"))
        next(requests)
        late.clear()
        late.wait(END_S)

    with serving(slow) as options, closing(RpcConnection(options.gateways[0], CLIENT, options)) as connection:
        first, second = connection.send([call(options), call(options)], END_S)
        assert connection.answer(second, soon()).message == b"second"
        with pytest.raises(TimeoutError):
            connection.answer(first, time.monotonic() + 0.01)
        assert connection.is_open
        late.set()
        [third] = connection.send([call(options)], END_S)
        assert connection.answer(third, soon()).message == b"third"
        [fourth] = connection.send([call(options)], END_S)
        with pytest.raises(TimeoutError):
            connection.answer(fourth, time.monotonic() + 0.01)
        assert not connection.is_open
        late.set()


@pytest.mark.parametrize(
    ("java_class", "final", "error"),
    [
        (NOT_SERVING, False, NotDone),
        ("org.apache.hadoop.hbase.exceptions.RegionMovedException", False, NotDone),
        ("org.apache.hadoop.hbase.CallQueueTooBigException", False, NotDone),
        ("org.apache.hadoop.hbase.RegionTooBusyException", False, NotDone),
        ("org.apache.hadoop.hbase.exceptions.ScannerResetException", True, NotDone),
        ("org.apache.hadoop.hbase.UnknownScannerException", True, NotDone),
        ("org.apache.hadoop.hbase.regionserver.LeaseException", True, NotDone),
        ("org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException", True, NotDone),
        ("org.apache.hadoop.hbase.regionserver.RegionServerAbortedException", False, NotDone),
        ("org.apache.hadoop.hbase.ipc.CallTimeoutException", False, StoreTimeout),
        ("org.apache.hadoop.hbase.security.AccessDeniedException", True, AccessDenied),
        ("org.apache.hadoop.hbase.TableNotFoundException", True, IndexMissing),
        ("org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException", True, NotAnIndex),
        ("org.apache.hadoop.hbase.DoNotRetryIOException", False, StoreRefused),
        ("org.apache.hadoop.hbase.quotas.SomethingNew", True, StoreRefused),
        ("java.io.IOException", False, StoreUnavailable),
    ],
)
def test_an_exception_of_java_says_whether_a_call_may_be_repeated(java_class, final, error):
    made = of_exception(ServerException(java_class, f"{java_class}: why\n\tat x", final), "Get at one:1", "t")

    assert type(made) is error
    assert str(made).startswith("Get at one:1: ")


def test_a_cell_above_the_limit_of_the_server_is_a_bad_argument():
    thrown = ServerException(
        "org.apache.hadoop.hbase.DoNotRetryIOException", "x.DoNotRetryIOException: KeyValue size too large"
    )

    assert isinstance(of_exception(thrown, "Multi at one:1", "t"), InvalidArgument)


def test_cells_are_read_back_from_the_form_of_keyvaluecodec():
    cells = [Cell(b"row", b"q", b"value", 7), Cell(b"", b"", b"", 0), Cell(b"\xff" * 300, b"\0" * 200, b"v" * 1000, 1)]
    written = pack_cells("d", cells, PUT)

    assert written[:34] == (
        b"\0\0\0\x1e\0\0\0\x11\0\0\0\x05" + b"\0\x03row" + b"\x01d" + b"q" + (7).to_bytes(8) + b"\x04" + b"value"
    )
    assert unpack_cells(written, "d") == cells
    for at in range(1, 34):
        with pytest.raises(ValueError, match=r"not complete|contradict"):
            unpack_cells(written[:at], "d")
    with pytest.raises(ValueError, match="another family"):
        unpack_cells(written, "m")
    with pytest.raises(ValueError, match="kind 12"):
        unpack_cells(pack_cells("d", cells, DELETE_COLUMN), "d")


def test_block_rows_are_packed_as_other_cells_are():
    cells = [Cell(key, b"", b"", 9) for key in KEYS]
    written = pack_block_rows(KEYS, 9, PUT)

    assert written == pack_cells("b", cells, PUT)
    assert unpack_block_rows(written) == KEYS
    assert unpack_block_rows(b"") == []
    for other in (
        pack_block_rows(KEYS, 9, DELETE_COLUMN),
        pack_cells("d", cells, PUT),
        pack_cells("b", [Cell(KEYS[0][:-1], b"q", b"", 9)], PUT),
        written[:-1],
    ):
        with pytest.raises(ValueError, match="block row"):
            unpack_block_rows(other)


def scanned(request, keys, *, more=True, in_region=False, scanner=0):
    message = number_field(1, 1) * len(keys) + number_field(2, scanner) + number_field(3, more)
    return response(request.number, message + number_field(8, in_region), pack_block_rows(keys, 1, PUT))


def starts_and_numbers(cluster):
    return [(each.parameter.message(2).content(3), each.parameter.number(4)) for each in cluster.calls]


def test_a_scan_goes_on_behind_the_end_of_a_region_and_of_an_answer():
    answers = [
        # The first answer of the first region is cut by its size; the region in the middle is empty.
        dict(keys=KEYS[:1], in_region=True),
        dict(keys=KEYS[1:2]),
        dict(keys=[]),
        dict(keys=KEYS[2:]),
    ]
    cluster = Cluster(lambda request: scanned(request, **answers.pop(0)), ends=[b"\x40", b"\x80", b""])
    with cluster.up() as options, closing(Servers(options)) as servers:
        found = servers.exchange.one(partial(servers.driver.scan_keys, b"\x01", b"", 10))

    assert found == KEYS
    assert starts_and_numbers(cluster) == [(b"\x01", 10), (KEYS[0] + b"\0", 9), (b"\x40", 8), (b"\x80", 8)]
    assert all(each.parameter.number(5) == 1 for each in cluster.calls)


def test_a_scan_ends_where_its_filter_does_or_at_the_number_of_rows():
    for rows, more in ((10, False), (2, True)):
        cluster = Cluster(partial(scanned, keys=KEYS[:2], more=more), ends=[b"\x40", b""])
        with cluster.up() as options, closing(Servers(options)) as servers:
            assert servers.exchange.one(partial(servers.driver.scan_keys, b"", b"", rows)) == KEYS[:2]
        assert len(cluster.calls) == 1


def test_parts_of_rows_are_read_on_by_scanner_and_sequence():
    cells = [Cell(b"row", bytes([n]), b"v", 5) for n in range(6)]

    def answer(request):
        if request.parameter.number(5):
            return response(request.number)
        at = len(cluster.calls) - 1
        message = number_field(1, 2) + number_field(2, 77) + number_field(3, 1) + number_field(8, 1)
        return response(request.number, message, pack_cells("d", cells[2 * at : 2 * at + 2], PUT))

    cluster = Cluster(answer)
    with cluster.up() as options, closing(Servers(options)) as servers:
        found = servers.exchange.one(partial(servers.driver.scan_cells, "d", b"", b"", 3, 2))

    assert found == [cells[0:2], cells[2:4], cells[4:6]]
    later = [each.parameter for each in cluster.calls[1:]]
    assert [(each.number(3), each.number(4), each.has(6), each.number(6), each.number(5)) for each in later] == [
        (77, 2, True, 0, 0),
        (77, 1, True, 1, 0),
        (77, 0, False, 0, 1),
    ]


def result(at, cells=0, *, exists=False):
    return bytes_field(1, number_field(1, at) + bytes_field(2, number_field(2, cells) + number_field(3, exists)))


def refused(at, java_class):
    return bytes_field(1, number_field(1, at) + bytes_field(3, bytes_field(1, java_class.encode())))


def test_gets_that_an_answer_had_no_room_for_are_asked_for_again():
    keys = [(bytes([n]), b"q") for n in range(3)]
    cells = [Cell(row, b"q", b"v", 5) for row, _ in keys]
    too_large = "org.apache.hadoop.hbase.MultiActionResultTooLarge"
    answers = [
        (result(0, 1) + refused(1, too_large) + refused(2, too_large), cells[:1]),
        (result(0, 1) + result(1, 1), cells[1:]),
    ]

    def answer(request):
        message, some = answers.pop(0)
        return response(request.number, bytes_field(1, message), pack_cells("d", some, PUT))

    cluster = Cluster(answer)
    with cluster.up() as options, closing(Servers(options)) as servers:
        assert servers.exchange.one(partial(servers.driver.get, "d", keys)) == cells
    assert cluster.maps == 1


def test_a_swap_that_no_server_began_is_repeated_at_regions_that_are_read_again():
    def answer(request):
        if len(cluster.calls) == 1:
            return failure(request.number, NOT_SERVING)
        return response(request.number, number_field(2, 1))

    cluster = Cluster(answer)
    with cluster.up() as options, closing(Servers(options)) as servers:
        assert servers.exchange.hold([partial(servers.driver.swap, SWAP)], sockets=1, repeat=False) == [True]
    assert cluster.maps == 2


@pytest.mark.parametrize("lost", [b"", None])
def test_a_swap_without_an_answer_is_never_repeated(lost):
    cluster = Cluster(lambda request: lost)
    error = StoreTimeout if lost is None else StoreUnavailable
    with cluster.up(timeout_s=0.1) as options, closing(Servers(options)) as servers, pytest.raises(error):
        servers.exchange.hold([partial(servers.driver.swap, SWAP)], sockets=1, repeat=False)
    assert len(cluster.calls) == 1


def test_reads_are_repeated_until_a_server_that_stood_still_answers():
    cluster = Cluster(lambda request: None if len(cluster.calls) == 1 else scanned(request, KEYS))
    with cluster.up(timeout_s=0.2) as options, closing(Servers(options)) as servers:
        assert servers.exchange.one(partial(servers.driver.scan_keys, b"", b"", 5)) == KEYS
        assert servers.exchange.traffic().retries == 1


def test_a_server_that_stands_still_past_the_deadline_is_used_again_later():
    cluster = Cluster(lambda request: None)
    with cluster.up(timeout_s=0.1, deadline_s=0.3) as options, closing(Servers(options)) as servers:
        scan = partial(servers.driver.scan_keys, b"", b"", 5)
        with pytest.raises(StoreTimeout, match=r"tried \d+ times"):
            servers.exchange.one(scan)

        cluster.answer = lambda request: scanned(request, KEYS)
        assert servers.exchange.one(scan) == KEYS


def test_a_client_outlives_all_servers_that_it_began_with():
    def moved(request):
        return failure(request.number, NOT_SERVING)

    def answer(request):
        return scanned(request, KEYS)

    first, second, third = (Cluster(answer) for _ in range(3))
    with ExitStack() as later, third.up(), ExitStack() as sooner:
        sooner.enter_context(second.up())
        options = later.enter_context(first.up())
        # A server says of meta and of the regions that they are at its port.
        first.port = second.port
        with closing(Servers(options)) as servers:
            scan = partial(servers.driver.scan_keys, b"", b"", 5)
            assert servers.exchange.one(scan) == KEYS
            later.close()
            second.port, second.answer = third.port, moved
            assert servers.exchange.one(scan) == KEYS
            sooner.close()
            third.answer = lambda request: answer(request) if len(third.calls) > 2 else moved(request)
            assert servers.exchange.one(scan) == KEYS

    assert (len(first.calls), len(second.calls), len(third.calls)) == (0, 2, 3)


def test_writes_of_which_a_part_was_made_are_repeated_only_with_timestamps():
    cells = [Cell(b"a", b"q", b"v"), Cell(b"b", b"q", b"v")]

    def answer(request):
        done = (
            refused(1, NOT_SERVING)
            if len(cluster.calls) == 1
            else bytes_field(1, number_field(1, 1) + bytes_field(2, b""))
        )
        return response(request.number, bytes_field(1, bytes_field(1, number_field(1, 0) + bytes_field(2, b"")) + done))

    cluster = Cluster(answer)
    with cluster.up() as options, closing(Servers(options)) as servers:
        put = partial(servers.driver.put, "d", cells)
        with pytest.raises(StoreUnavailable, match="1 of 2 changes were not made"):
            servers.exchange.hold([put], sockets=1, repeat=False)
        assert len(cluster.calls) == 1

        cluster.calls.clear()
        assert servers.exchange.hold([put], sockets=1) == [None]
        assert len(cluster.calls) == 2


def test_an_address_where_nobody_listens_is_reported_at_once():
    with serving(lambda connection: None) as options:
        pass

    with pytest.raises(StoreUnavailable, match=r"is the server up\?"):
        HBaseStore.open(options)
