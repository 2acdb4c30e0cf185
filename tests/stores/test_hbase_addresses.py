"""Addresses of an index in HBase."""

import pytest

from simhash_hbase.errors import InvalidArgument, MissingExtra
from simhash_hbase.stores.hbase import Gateway, HBaseOptions, format_url, parse_url
from simhash_hbase.stores.hbase.thrift import kerberos

ONE = Gateway("one", 9091)


@pytest.mark.parametrize(
    ("url", "gateways", "table"),
    [
        ("hbase://one:9091/simhash", (ONE,), "simhash"),
        ("hbase://one:9091,two:1/news:simhash.v2-a_b", (ONE, Gateway("two", 1)), "news:simhash.v2-a_b"),
        ("hbase://one/t", (Gateway("one", 9090),), "t"),
        ("hbase://[::1]:9091,[fe80::1]/t", (Gateway("::1", 9091), Gateway("fe80::1", 9090)), "t"),
    ],
)
def test_an_address_names_gateways_and_a_table(url, gateways, table):
    options = parse_url(url)

    assert (options.gateways, options.table) == (gateways, table)
    assert (options.version, options.transport, options.protocol) == (None, "buffered", "binary")
    assert parse_url(format_url(options)) == options


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ("version=1&transport=framed&protocol=compact", {"version": 1, "transport": "framed", "protocol": "compact"}),
        ("tls=1", {"tls": True}),
        ("tls=0", {"tls": False}),
        ("tls=1&kerberos=hbase", {"tls": True, "kerberos": "hbase"}),
    ],
)
def test_settings_follow_a_question_mark(settings, fields):
    options = parse_url(f"hbase://one:9091/t?{settings}")

    assert options == HBaseOptions(gateways=(ONE,), table="t", **fields)
    assert format_url(options) == f"hbase://one:9091/t?{settings}".removesuffix("?tls=0")
    assert parse_url(format_url(options)) == options


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("hbase:one:9091/t", "no address of an HBase"),
        ("file:one", "no address of an HBase"),
        ("hbase://one:9091/t#x", "no address of an HBase"),
        ("hbase://one:9091", "no name of a table"),
        ("hbase://one:9091/", "no name of a table"),
        ("hbase://one:9091/a/b", "no name of a table"),
        ("hbase://one:9091/a:b:c", "no name of a table"),
        ("hbase://one:9091/.t", "no name of a table"),
        ("hbase://:9091/t", "is no host:port"),
        ("hbase:///t", "is no host:port"),
        ("hbase://one:9091,/t", "is no host:port"),
        ("hbase://me:secret@one:9091/t", "has no user and no password"),
        ("hbase://one:/t", "ends without a port"),
        ("hbase://one:0/t", "no address of a gateway"),
        ("hbase://one:65536/t", "no address of a gateway"),
        ("hbase://one:9091/t?version=3", "version is '3'"),
        ("hbase://one:9091/t?version=", "version is ''"),
        ("hbase://one:9091/t?transport=http", "transport is 'http'"),
        ("hbase://one:9091/t?protocol=json", "protocol is 'json'"),
        ("hbase://one:9091/t?tls=yes", "tls is 'yes': wanted 0 or 1"),
        ("hbase://one:9091/t?kerberos=a%40b", "kerberos is 'a@b': wanted a service"),
        ("hbase://one:9091/t?kerberos=hbase&transport=framed", "kerberos goes with buffered transport"),
        ("hbase://one:9091/t?regions=3", "'regions' is no setting"),
        ("hbase://one:9091/t?version=1&version=2", "version is given twice"),
    ],
)
def test_an_address_of_another_form_is_refused_with_the_reason(url, words):
    with pytest.raises(InvalidArgument, match=words):
        parse_url(url)


def test_options_out_of_range_are_refused():
    patience = [{name: 0} for name in ("timeout_s", "connect_timeout_s", "idle_s", "max_connections")]
    for wrong in (*patience, {"deadline_s": -1}, {"gateways": ()}):
        with pytest.raises(InvalidArgument):
            HBaseOptions(**{"gateways": (ONE,), "table": "t", **wrong})


def test_kerberos_without_its_library_names_the_extra(monkeypatch):
    monkeypatch.setattr(kerberos, "gssapi", None)

    with pytest.raises(MissingExtra, match=r"pip install 'simhash-hbase\[kerberos\]'"):
        kerberos.authenticated(None, ONE, "hbase")
