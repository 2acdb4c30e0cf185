"""The Redis store against a real server: what is its own beside the contract."""

import importlib
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from threading import Thread

import pytest
from support.bruteforce import Written, crowd, entries, matches, written_entries
from support.listening import free_port
from support.patience import END_S
from support.places import DAY_MS
from support.redis_server import RedisServer, shared_server

from simhash_hbase.errors import (
    CorruptIndex,
    IndexExists,
    IndexMissing,
    InvalidArgument,
    MissingExtra,
    NotAnIndex,
    StoreFull,
    StoreRefused,
    StoreTimeout,
    StoreUnavailable,
    Unsupported,
)
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.redis import RedisOptions, RedisStore, parse_url, store as redis_store
from simhash_hbase.stores.redis.connection import RedisConnection
from simhash_hbase.testing.rows import LAST_SIMHASH, found_by, pairs_of, rows_of, uint64s

SECRET = "s3cret/@:"
ESCAPED = "s3cret%2F%40%3A"
BANDS = 6
TABLES = 10
DOCUMENTS = crowd(150, seed=3)
ASKED = crowd(40, seed=103) | dict(list(DOCUMENTS.items())[:20])


@pytest.fixture
def options():
    return shared_server().empty_options()


@pytest.fixture
def store(options):
    with closing(RedisStore.create(options)) as made:
        yield made


@pytest.fixture
def raw(options):
    with shared_server().raw(options.database) as client:
        yield client


@pytest.fixture
def own_server():
    """Return a function that starts a server with settings of its own."""
    with ExitStack() as servers:

        def start(*settings, port=None):
            server = RedisServer(*settings, port=port)
            servers.callback(server.stop)
            return server

        yield start


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield opened


def options_of(listener, **others):
    return RedisOptions(host="127.0.0.1", port=listener.getsockname()[1], **others)


@pytest.mark.parametrize(
    ("url", "shown", "user", "password"),
    [
        ("redis://localhost:6380/3", "redis://localhost:6380/3", None, None),
        ("redis://localhost", "redis://localhost:6379/0", None, None),
        ("redis://[::1]:7/", "redis://[::1]:7/0", None, None),
        (f"redis://me:{ESCAPED}@host/1", "redis://host:6379/1", "me", SECRET),
        (f"rediss://:{ESCAPED}@host:1/1", "rediss://host:1/1", None, SECRET),
    ],
)
def test_an_address_is_shown_without_user_or_password(url, shown, user, password):
    options = parse_url(url)

    assert (options.url, options.user, options.password) == (shown, user, password)
    assert options.tls == url.startswith("rediss")
    assert SECRET not in repr(options)


@pytest.mark.parametrize(
    "url",
    [
        "redis://", "redis:///1", f"redis://:{SECRET}@host:1", f"redis://me:{SECRET}host:x/1", f"http://a:{ESCAPED}@b",
        f"redis://:{ESCAPED}@host/one", f"redis://:{ESCAPED}@host/-1", f"redis://:{ESCAPED}@host:0/1",
        f"redis://:{ESCAPED}@host:70000", f"redis://:{ESCAPED}@host/1/2", f"redis://:{ESCAPED}@host/1?db=2",
        f"redis://:{ESCAPED}@host/1#2", f"redis://:{ESCAPED}@[host/1", f"redis://:{ESCAPED}@host/" + "9" * 5000,
    ],
)  # fmt: skip
def test_another_address_is_refused_in_a_sentence_without_the_password(url):
    with pytest.raises(InvalidArgument) as caught:
        parse_url(url)

    assert "s3cret" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_patience_is_more_than_nothing():
    for name in ("connect_timeout_s", "timeout_s", "idle_check_s"):
        with pytest.raises(InvalidArgument, match=name):
            RedisOptions(host="host", **{name: 0})


def test_without_the_client_the_import_fails_with_the_install_command(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("simhash_hbase.stores.redis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(MissingExtra, match=r"pip install 'simhash-hbase\[redis\]'"):
        importlib.import_module("simhash_hbase.stores.redis")


def test_a_database_takes_one_index(options):
    with pytest.raises(IndexMissing, match=r"^there is no index at "):
        RedisStore.open(options)
    with closing(RedisStore.create(options)), pytest.raises(IndexExists, match=options.url):
        RedisStore.create(options)


def test_an_opened_store_has_what_was_written_beside_other_keys(store, options, raw):
    raw.set("others", "1")
    store.put_rows(rows_of((7, 1)), timestamp=1)

    with closing(RedisStore.open(options)) as again:
        assert found_by(again, 7) == [(7, 1)]
    assert raw.get("others") == b"1"


def test_a_store_opened_for_reading_only_refuses_to_write(store, options):
    without_bands(store).add_entries(entries({"a": 0, "b": 0b111, "far": LAST_SIMHASH}))

    with closing(RedisStore.open(options, readonly=True)) as reader:
        assert [match.id for match in LocalIndex(reader).query_id("b").matches] == ["a"]
        for write in (
            lambda: reader.put_rows(rows_of((7, 1)), timestamp=1),
            lambda: reader.put("d", [Cell(b"row", b"s", b"v")]),
        ):
            with pytest.raises(InvalidArgument, match="reading only"):
                write()


def test_deleted_rows_and_cells_leave_no_key(store, raw):
    before = raw.dbsize()
    store.put_rows(rows_of((7, 1)), timestamp=1)
    store.put("d", [Cell(b"row", b"s", b"v", 5)])

    store.delete_rows(rows_of((7, 1)), timestamp=1)
    store.delete("d", [Cell(b"row", b"s", b"", 5)])

    assert raw.dbsize() == before + 1  # the counters
    assert store.size().rows == {"b": 0, "d": 0, "m": 0}


def test_rows_are_a_sorted_set_for_each_segment_of_a_flag(store, raw):
    store.put_rows(rows_of((0x0102030405, 9), (0x0102030405, 8), (0x0102030406, 8)), timestamp=1)

    assert sorted(raw.keys("simhash-hbase:b:*")) == [b"simhash-hbase:b:\1\2\3\4\5", b"simhash-hbase:b:\1\2\3\4\6"]
    assert raw.zrange(b"simhash-hbase:b:\1\2\3\4\5", 0, -1) == [bytes(7) + b"\x08", bytes(7) + b"\x09"]


def test_size_counts_once_what_is_written_repeatedly(store):
    for _ in range(2):
        store.put_rows(rows_of((7, 1), (7, 2), (8, 1)), timestamp=1)
        store.put("d", [Cell(bytes(4) + b"\xffrest", q, b"v", 5) for q in (b"s", b"t")])
        store.put("d", [Cell(bytes(5) + b"rest", b"s", b"v", 5)])
        store.put("m", [Cell(b"row", b"s", b"v")])
        store.delete_rows(rows_of((7, 1), (9, 9)), timestamp=1)
        store.delete("d", [Cell(bytes(4) + b"\xffrest", b"t", b"", 5)])

    size = store.size()
    assert size.rows == {"b": 2, "d": 2, "m": 1}
    store.put("d", [Cell(b"row", b"s", bytes(1 << 20), 5)])
    assert store.size().bytes - size.bytes > 1 << 20


def test_scans_and_reads_longer_than_a_script_takes_are_put_together(store, monkeypatch):
    monkeypatch.setattr(redis_store, "PREFIXES_A_CALL", 7)
    monkeypatch.setattr(redis_store, "ROWS_AN_ANSWER", 5)
    pairs = [(prefix, simhash) for prefix in range(200) for simhash in range(prefix % 12)]
    store.put_rows(rows_of(*pairs), timestamp=1)

    found = store.scan(uint64s(*range(200)), limit=9)

    assert pairs_of(found.rows) == [pair for pair in pairs if pair[1] < 9]
    assert found.truncated.tolist() == [prefix for prefix in range(200) if prefix % 12 > 9]


def test_batches_longer_than_a_script_takes_are_put_together(store):
    cells = [Cell(b"row%05d" % n, b"s", b"%d" % n, 5) for n in range(1_700)]
    store.put("d", [*cells, *(Cell(b"row00600", bytes([n]), b"v", 5) for n in range(9))])

    assert store.get("d", [(cell.row, b"s") for cell in cells[::-1]]) == cells[::-1]
    rows = store.get_rows("d", [cell.row for cell in cells], limit=3)
    assert [row for row in rows if len(row) > 1] == [[Cell(b"row00600", bytes([n]), b"v", 5) for n in range(3)]]
    assert len(rows) == 1_700
    store.delete("d", cells)
    assert store.size().rows["d"] == 9


def test_timestamps_are_kept_to_the_last_bit_or_refused(store):
    store.put("d", [Cell(b"row", b"s", b"v", (1 << 53) - 1), Cell(b"row", b"s", b"w", (1 << 53) - 2)])

    for stamp in (-1, (1 << 53) + 1):
        with pytest.raises(InvalidArgument, match="timestamp"):
            store.put("d", [Cell(b"row", b"s", b"x", stamp)])
    assert store.get("d", [(b"row", b"s")]) == [Cell(b"row", b"s", b"v", (1 << 53) - 1)]


def test_of_threads_that_write_one_cell_the_highest_timestamp_stays(store):
    def write(first):
        for stamp in range(first, 400, 4):
            store.put("d", [Cell(b"row", b"s", b"%d" % stamp, stamp)])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))

    assert store.get("d", [(b"row", b"s")]) == [Cell(b"row", b"s", b"399", 399)]
    assert store.size().rows["d"] == 1


def without_bands(store):
    return LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance"))


def answered(index):
    """Ask for all, under other ids; give each question with what was found and whether it was cut."""
    answers = index.query_entries(written_entries({f"asked {name}": one for name, one in ASKED.items()}, BANDS))
    found = [({match.id for match in answer.matches}, answer.truncated) for answer in answers]
    return list(zip(ASKED.values(), found, strict=True))


def near(one, documents, rule):
    return {name for name, other in documents.items() if matches(one, other, rule)}


def test_answers_equal_brute_force_also_for_what_was_removed_or_got_another_text(store):
    index = LocalIndex.create(store, Profile.resolve(analyzer="shingle", bands=BANDS))
    index.add_entries(written_entries(DOCUMENTS, BANDS))
    rule, names = index.profile.rule, list(DOCUMENTS)
    for one, found in answered(index):
        assert found == (near(one, DOCUMENTS, rule), False)
    assert sum(len(near(one, DOCUMENTS, rule) - near(one, DOCUMENTS, MatchRule())) for one in ASKED.values()) > 50
    moved = dict(zip(names[:50], crowd(50, seed=7).values(), strict=True))

    removed = list(index.remove_many([*names[50:100], "nobody"]))
    index.add_entries(written_entries(moved, BANDS))

    assert removed == [*((name, True) for name in names[50:100]), ("nobody", False)]
    left = moved | {name: DOCUMENTS[name] for name in names[100:]}
    for one, found in answered(index):
        assert found == (near(one, left, rule), False)


@pytest.fixture
def three(store):
    """Return an index of three documents, of which one was removed."""
    index = LocalIndex.create(store, Profile.resolve(analyzer="shingle", bands=BANDS, grace_s=0))
    documents = {"a": Written(7, 1 << 100, (1, 2, 3, 4, 5, 6)), "bare": Written(~7 % 2**64), "gone": Written(0)}
    index.add_entries(written_entries(documents, BANDS))
    list(index.remove_many(["gone"]))
    return index


def test_statistics_count_documents_and_all_rows(three):
    stats = three.stats()

    assert (stats.documents, stats.rows, stats.exact) == (2, 3 * TABLES + BANDS, True)
    assert stats.bytes > 0
    assert (stats.format, stats.profile["analyzer"], stats.last_backup) == (4, "shingle", None)
    assert sorted(stored.id for stored in three.export()) == ["a", "bare"]


def test_statistics_show_a_noted_backup(three):
    three.note_backup("2026-11-21T09:30:00Z")

    assert three.stats().last_backup == "2026-11-21T09:30:00.000Z"


def test_vacuum_takes_the_rows_of_a_removed_document(three, store):
    LocalIndex(store, clock=lambda: now_ms() + DAY_MS).vacuum()

    assert three.stats().rows == 2 * TABLES + BANDS
    assert three.verify().wrong == 0


def test_backup_is_left_to_redis_itself(store):
    with pytest.raises(Unsupported, match="Back up") as caught:
        without_bands(store).backup("somewhere")

    assert store.url in str(caught.value)


def test_a_range_of_a_wide_prefix_and_of_a_wide_row_is_read_in_pages(store, monkeypatch):
    monkeypatch.setattr(redis_store, "ROWS_A_CALL", 3)
    monkeypatch.setattr(redis_store, "PREFIXES_A_CALL", 2)
    pairs = [(7, simhash) for simhash in range(10)] + [(8, 1), (9, LAST_SIMHASH), (10, 0), (10, 1), (10, 2), (12, 5)]
    store.put_rows(rows_of(*pairs), timestamp=1)
    cells = [
        Cell(bytes([row]), bytes([at]), b"v", 1) for row, width in ((1, 1), (2, 11), (3, 4)) for at in range(width)
    ]
    store.put("d", cells)

    for page in (1, 2, 4, 100):
        pages = list(store.scan_range(0, 1 << 40, page=page))
        assert [pair for rows in pages for pair in pairs_of(rows)] == pairs
        assert all(0 < len(rows.prefixes) <= page for rows in pages)
        read = list(store.scan_cells("d", b"", None, page=page))
        assert [cell for some in read for cell in some] == cells
        assert all(0 < len(some) <= page for some in read)
    assert [pair for rows in store.scan_range(8, 11, page=2) for pair in pairs_of(rows)] == pairs[10:15]


def test_a_swap_whose_answer_is_lost_is_not_sent_again(store, monkeypatch):
    [repeating, once] = [client.connection_pool.connection_kwargs["retry"] for client in store._connection._clients]
    assert (repeating._retries, once._retries) == (1, 0)
    asked = []
    monkeypatch.setattr(store, "_connection", Noting(store._connection, asked))

    store.compare_and_set([Swap(bytes(4) + b"\xff", b"s", None, b"v")])
    store.put("d", [Cell(bytes(4) + b"\xff", b"s", b"v")])

    assert asked == [True, False]


class Noting:
    """Notes of each script whether it is sent once."""

    def __init__(self, connection, asked):
        self._behind, self._asked = connection, asked

    def run(self, script, calls, *, once=False):
        self._asked.append(once)
        return self._behind.run(script, calls, once=once)

    def close(self):
        self._behind.close()


def test_a_server_that_never_answers_is_a_timeout(listener):
    with pytest.raises(StoreTimeout, match="no answer in time"):
        RedisStore.open(options_of(listener, timeout_s=0.2))


def test_a_server_that_is_not_redis_is_told_apart(listener):
    def answer():
        with listener.accept()[0] as connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    Thread(target=answer, daemon=True).start()

    with pytest.raises(StoreRefused, match="not of the protocol of Redis"):
        RedisStore.open(options_of(listener, timeout_s=END_S))


def test_a_wrong_password_and_a_user_without_rights_to_write_are_refused(own_server):
    server = own_server("--requirepass", SECRET)
    with server.raw(password=SECRET) as raw:
        raw.execute_command("ACL", "SETUSER", "reader", "on", ">word", "~*", "+@all", "-@write")

    with closing(RedisStore.create(server.options(password=SECRET))) as store:
        assert SECRET not in store.url
    for password in (None, "s3cret-but-wrong"):
        with pytest.raises(StoreRefused, match="password") as caught:
            RedisStore.open(server.options(password=password))
        assert "s3cret" not in str(caught.value)
    with closing(RedisStore.open(server.options(user="reader", password="word"))) as store:
        assert found_by(store, 7) == []
        with pytest.raises(StoreRefused, match="has no permission for this"):
            store.put_rows(rows_of((7, 1)), timestamp=1)


def test_a_server_that_evicts_keys_is_refused(own_server):
    server = own_server("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")

    with pytest.raises(Unsupported, match="maxmemory-policy allkeys-lru"):
        RedisStore.create(server.options())


def test_a_database_that_the_server_does_not_have_is_refused(own_server):
    with pytest.raises(InvalidArgument, match="no database of this number"):
        RedisStore.create(own_server().options(100_000))


def test_a_full_server_keeps_its_rows(own_server):
    server = own_server()
    with closing(RedisStore.create(server.options())) as store, server.raw() as raw:
        store.put_rows(rows_of((7, 1)), timestamp=1)
        raw.config_set("maxmemory", "1mb")
        with pytest.raises(StoreFull, match="maxmemory"):
            store.put_rows(rows_of((8, 1)), timestamp=1)

        assert found_by(store, 7, 8) == [(7, 1)]
        store.delete_rows(rows_of((7, 1)), timestamp=1)
        assert store.size().rows["b"] == 0


def test_a_replica_is_refused_for_writing(own_server):
    server = own_server()
    with closing(RedisStore.create(server.options())) as store, server.raw() as raw:
        raw.replicaof("127.0.0.1", str(free_port()))
        with pytest.raises(StoreRefused, match="replica"):
            store.put_rows(rows_of((7, 1)), timestamp=1)


def test_keys_that_another_program_or_another_version_wrote_are_told(store, options, raw):
    raw.set(b"simhash-hbase:b:" + bytes(4) + b"\x07", "mine")
    with pytest.raises(NotAnIndex, match="another program wrote"):
        found_by(store, 7)
    raw.set("simhash-hbase:format", "2")
    with pytest.raises(CorruptIndex, match="form b'2'"):
        RedisStore.open(options)


def test_a_call_after_its_connection_was_killed_sends_forgotten_scripts_again(store, raw):
    store.put_rows(rows_of((7, 1)), timestamp=1)
    for client in raw.client_list():
        if client["cmd"] != "client|list":
            raw.client_kill_filter(_id=client["id"])
    # Scripts that the server forgot are no special case.
    raw.script_flush()

    assert found_by(store, 7) == [(7, 1)]


def test_what_was_under_way_on_a_broken_connection_is_sent_once_more(listener):
    asked = []

    def break_off_at_the_first_question():
        while len(asked) < 2:
            with listener.accept()[0] as connection:
                while data := connection.recv(1000):
                    asked.extend([b"DBSIZE"] * data.count(b"DBSIZE"))
                    if len(asked) == 1 and b"DBSIZE" in data:
                        break
                    connection.sendall(b"+PONG\r\n" * data.count(b"*"))

    server = Thread(target=break_off_at_the_first_question, daemon=True)
    server.start()

    with closing(RedisConnection(options_of(listener, timeout_s=END_S))) as connection:
        assert connection.ask("DBSIZE") == b"PONG"
    server.join(END_S)
    assert len(asked) == 2


def test_a_server_that_was_away_is_used_again(own_server):
    server = own_server()
    with closing(RedisStore.create(server.options())) as store:
        server.stop()
        with pytest.raises(StoreUnavailable, match=f"{store.url}.* cannot be reached"):
            found_by(store, 7)
        own_server(port=server.port)

        assert found_by(store, 7) == []


def test_an_idle_connection_is_tried_before_it_is_used(options):
    connection = RedisConnection(options)
    pool = connection._clients[0].connection_pool.connection_kwargs
    connection.close()

    assert pool["health_check_interval"] == options.idle_check_s
