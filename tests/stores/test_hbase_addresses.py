"""Addresses of an index in HBase."""

import getpass

import pytest

from simhash_hbase.errors import InvalidArgument, MissingExtra
from simhash_hbase.stores.hbase import Gateway, HBaseOptions, format_url, kerberos, parse_url

ONE = Gateway("one", 9091)


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        ("hbase://one:9091/simhash", {"table": "simhash"}),
        (
            "hbase://one:9091,two:1/news:simhash.v2-a_b",
            {"gateways": (ONE, Gateway("two", 1)), "table": "news:simhash.v2-a_b"},
        ),
        ("hbase://one/t", {"gateways": (Gateway("one", 9090),)}),
        ("hbase://[::1]:9091,[fe80::1]/t", {"gateways": (Gateway("::1", 9091), Gateway("fe80::1", 9090))}),
        (
            "hbase://one:9091/t?version=1&transport=framed&protocol=compact",
            {"version": 1, "transport": "framed", "protocol": "compact"},
        ),
        ("hbase://one:9091/t?tls=1", {"tls": True}),
        ("hbase://one:9091/t?tls=0", {"tls": False}),
        ("hbase://one:9091/t?tls=1&kerberos=hbase", {"tls": True, "kerberos": "hbase"}),
    ],
)
def test_an_address_names_gateways_a_table_and_settings(url, fields):
    options = parse_url(url)

    assert options == HBaseOptions(**{"gateways": (ONE,), "table": "t", **fields})
    assert format_url(options).partition("?")[2] == url.partition("?")[2].removesuffix("tls=0")
    assert parse_url(format_url(options)) == options


def test_an_address_without_a_gateway_names_servers_and_who_calls_them():
    options = parse_url("hbase+rpc://one,two:16000/news:t", {"HADOOP_USER_NAME": "crawler"})
    servers = (Gateway("one", 16020), Gateway("two", 16000))
    assert options == HBaseOptions(gateways=servers, table="news:t", rpc=True, user="crawler")
    assert format_url(options) == "hbase+rpc://one:16020,two:16000/news:t"

    secure = parse_url("hbase+rpcs://one/t?ca=/etc/ca.pem")
    assert (secure.tls, secure.ca_file, secure.user) == (True, "/etc/ca.pem", getpass.getuser())
    assert parse_url(format_url(secure)) == secure


REFUSED = {
    "no address of an HBase": ["hbase:one:9091/t", "file:one", "hbase://one:9091/t#x"],
    "no name of a table": [f"hbase://one:9091{path}" for path in ("", "/", "/a/b", "/a:b:c", "/.t")],
    "is no host:port": ["hbase://:9091/t", "hbase:///t", "hbase://one:9091,/t"],
    "has no user and no password": ["hbase://me:secret@one:9091/t"],
    "ends without a port": ["hbase://one:/t"],
    "no address of a gateway": ["hbase://one:0/t", "hbase://one:65536/t"],
    "version is '3'": ["hbase://one/t?version=3"],
    "version is ''": ["hbase://one/t?version="],
    "transport is 'http'": ["hbase://one/t?transport=http"],
    "protocol is 'json'": ["hbase://one/t?protocol=json"],
    "tls is 'yes': wanted 0 or 1": ["hbase://one/t?tls=yes"],
    "kerberos is 'a@b': wanted a service": ["hbase://one/t?kerberos=a%40b"],
    "kerberos= has no value": ["hbase://one/t?kerberos=", "hbase+rpc://one/t?kerberos="],
    "kerberos goes with buffered transport": ["hbase://one/t?kerberos=hbase&transport=framed"],
    "'regions' is no setting": ["hbase://one/t?regions=3"],
    "is no setting": ["hbase+rpc://one/t?version=2", "hbase+rpc://one/t?tls=1", "hbase+rpcs://one/t?transport=framed"],
    "version is given twice": ["hbase://one/t?version=1&version=2"],
}


@pytest.mark.parametrize("words", REFUSED)
def test_an_address_of_another_form_is_refused_with_the_reason(words):
    for url in REFUSED[words]:
        with pytest.raises(InvalidArgument, match=words):
            parse_url(url)


def test_options_out_of_range_are_refused():
    options = HBaseOptions(gateways=(ONE,), table="t")
    assert (options.version, options.transport, options.protocol) == (None, "buffered", "binary")
    patience = [{name: 0} for name in ("timeout_s", "connect_timeout_s", "idle_s", "max_connections")]
    for wrong in (*patience, {"deadline_s": -1}, {"gateways": ()}):
        with pytest.raises(InvalidArgument):
            HBaseOptions(**{"gateways": (ONE,), "table": "t", **wrong})


def test_kerberos_without_its_library_names_the_extra(monkeypatch):
    monkeypatch.setattr(kerberos, "gssapi", None)

    with pytest.raises(MissingExtra, match=r"pip install 'simhash-hbase\[kerberos\]'"):
        kerberos.KerberosClient("hbase", ONE)


def test_the_default_namespace_has_no_name_without_a_gateway():
    assert parse_url("hbase+rpc://one/default:docs").table == parse_url("hbase+rpc://one/docs").table == "docs"
