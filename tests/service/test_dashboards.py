"""The dashboard and the alerts name metrics that the service has, and a real Prometheus understands them."""

import json
import re

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from support.corpus import near_copies
from support.listening import free_port
from support.prometheus import DOCKER, promtool, watching
from support.serving import NDJSON, ndjson, wait_for

from simhash_hbase import open_index

RULES = DOCKER / "prometheus" / "rules.yml"
CONFIG = DOCKER / "prometheus" / "prometheus.yml"
DASHBOARD = json.loads((DOCKER / "grafana" / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ALERTS = {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
# The metric of Prometheus itself, whether the service answered.
OF_PROMETHEUS = {"up"}
# Metrics of stores that are reached over a network.
OF_STORES = {"simhash_store_connections", "simhash_store_connections_limit", "simhash_store_retries_total"}
ENDINGS = ("_bucket", "_sum", "_count")


def shown():
    """Return the dashboard's expressions as Grafana sends them."""
    variables = {"$__rate_interval": "1m", "$instance": ".*"}
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    return [re.sub("|".join(map(re.escape, variables)), lambda m: variables[m[0]], expr) for expr in expressions]


def named(expression):
    """Return the metrics that an expression names."""
    return set(re.findall(r"\b(simhash_\w+|up)\b", re.sub(r'"[^"]*"', "", expression)))


def use(client):
    """Ask a bit of everything: six documents, six claims, six queries."""
    documents = near_copies(3, 2)
    client.post("/v1/documents", content=ndjson(documents), headers=NDJSON)
    claims = [{**document, "id": f"claimed {document['id']}"} for document in documents]
    client.post("/v1/claims", content=ndjson(claims), headers=NDJSON)
    for document in documents:
        client.post("/v1/queries", json={"text": document["text"]})
    client.get("/v1/documents", params={"id": "nobody"})


def test_the_metrics_of_dashboards_are_those_exported(client):
    use(client)
    metrics = text_string_to_metric_families(client.get("/metrics").text)
    exported = {sample.name: set(sample.labels) for family in metrics for sample in family.samples}
    expressions = [*shown(), *(rule["expr"] for rule in ALERTS.values())]

    for expression in expressions:
        metrics = named(expression) - OF_PROMETHEUS - OF_STORES
        assert metrics <= set(exported), expression
        for metric, labels in re.findall(r"(simhash_\w+)\{([^}]*)\}", expression):
            asked = set(re.findall(r"(\w+)(?:=|!=|=~|!~)\"", labels)) - {"instance", "job"}
            assert metric in OF_STORES or asked <= exported[metric], expression

    seen = set().union(*map(named, shown()))
    families = {re.sub("|".join(f"{ending}$" for ending in ENDINGS), "", name) for name in exported}
    families = {name for name in families if not name.endswith("_created")}
    assert {re.sub("_bucket$", "", name) for name in seen} - OF_PROMETHEUS - OF_STORES == families
    assert seen >= OF_STORES


def test_every_alert_of_the_readme_has_a_case():
    readme = (DOCKER / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(Simhash\w+)` \|", readme, re.MULTILINE)) == set(ALERTS) == set(CASES)
    assert set(re.findall(r"Simhash\w+", json.dumps(PANELS))) <= set(ALERTS)


# A series as promtool reads it: start, what is added each minute, and how often.
STEADY, SILENT = "0+600x120", "0+0x120"
REQUESTS = 'simhash_requests_total{instance="a",route="/v1/queries",method="POST",status="%s"}'
SECONDS = 'simhash_request_seconds_bucket{instance="a",route="/v1/%s",media="json",le="%%s"}'
FREE = 'simhash_store_free_bytes{instance="a"}'
BYTES = 'simhash_store_bytes{instance="a"}'
BACKUP = 'simhash_last_backup_timestamp_seconds{instance="a"}'
CONNECTIONS = {'simhash_store_connections_limit{instance="a"}': "20+0x120"}


def buckets(name, counts):
    """Return the series of a histogram, of a hundred values a minute."""
    series = 'simhash_query_rows_bucket{instance="a",le="%s"}' if name == "rows" else SECONDS % name
    return {series % bound: f"0+{count}x120" for bound, count in {**counts, "+Inf": 100}.items()}


# For each alert what the service exports when it fires, and the same when all is well.
CASES = {
    "SimhashDown": ({'up{instance="a",job="simhash"}': "0+0x120"}, {'up{instance="a",job="simhash"}': "1+0x120"}),
    "SimhashStoreFailing": (
        {REQUESTS % 200: STEADY, REQUESTS % 503: "0+7x120"},
        {REQUESTS % 200: STEADY, REQUESTS % 503: "0+5x120", REQUESTS % 404: STEADY},
    ),
    "SimhashStoreRetries": (
        {'simhash_store_retries_total{instance="a"}': "0+61x120"},
        {'simhash_store_retries_total{instance="a"}': "0+59x120"},
    ),
    "SimhashConnectionsUsedUp": (
        {'simhash_store_connections{instance="a",state="in_use"}': "19+0x120", **CONNECTIONS},
        {
            'simhash_store_connections{instance="a",state="in_use"}': "18+0x120",
            'simhash_store_connections{instance="a",state="idle"}': "2+0x120",
            **CONNECTIONS,
        },
    ),
    "SimhashSlowQueries": (buckets("queries", {"0.5": 98, "1": 100}), buckets("queries", {"0.5": 99, "1": 100})),
    "SimhashSlowClaims": (buckets("claims", {"1": 98, "2.5": 100}), buckets("claims", {"1": 99, "2.5": 100})),
    "SimhashDiskFull": ({FREE: "20000000000-15000000x120"}, {FREE: "20000000000-1000000x120"}),
    "SimhashIndexLarge": (
        {BYTES: "30000000001+0x120", FREE: "30000000000+0x120"},
        {BYTES: "29999999999+0x120", FREE: "30000000000+0x120"},
    ),
    # An alert is asked when 6,600 s have passed since the beginning.
    "SimhashBackupOld": ({BACKUP: "-168000+0x120"}, {BACKUP: "-165000+0x120"}),
    "SimhashTurnedAway": (
        {'simhash_requests_turned_away_total{instance="a"}': "0+1x120"},
        {'simhash_requests_turned_away_total{instance="a"}': "0+1x2 2+0x118"},
    ),
    "SimhashTruncatedAnswers": (
        {'simhash_answers_truncated_total{instance="a"}': "0+0x100 1+0x20"},
        {'simhash_answers_truncated_total{instance="a"}': SILENT},
    ),
    "SimhashHotPrefixes": (buckets("rows", {"1000": 85, "10000": 100}), buckets("rows", {"1000": 91, "10000": 100})),
    "SimhashUnknownKeys": ({REQUESTS % 401: "0+61x120"}, {REQUESTS % 401: "0+59x120", REQUESTS % 200: STEADY}),
}


@pytest.mark.parametrize(("free", "fires"), [("900000000+0x120", True), ("1100000000+0x120", False)])
def test_a_disk_that_is_nearly_full_is_told_of_even_if_it_does_not_fill(tmp_path, free, fires):
    check(tmp_path, "SimhashDiskFull", {FREE: free}, fires=fires)


@pytest.mark.parametrize("alert", CASES)
@pytest.mark.parametrize("fires", [True, False])
def test_an_alert_fires_only_when_it_should(tmp_path, alert, fires):
    check(tmp_path, alert, CASES[alert][0 if fires else 1], fires=fires)


def check(tmp_path, alert, series, *, fires):
    """Have promtool tell whether an alert, and no other one, fires."""
    firing = {"labels": f'{{alertname="{alert}"}}', "value": 1}
    wanted = {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": "110m",
        "exp_samples": [firing] if fires else [],
    }
    given = [{"series": name, "values": values} for name, values in series.items()]
    case = {"interval": "1m", "input_series": given, "promql_expr_test": [wanted]}
    path = tmp_path / "case.yml"
    path.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": [case]}))

    promtool("test", "rules", path)


def test_a_prometheus_of_the_shipped_configuration_reads_the_service(url, server, client, tmp_path):
    """All as in docker/, but for the address, the key's file, and the pace."""
    with open_index(url) as index:
        index.note_backup("1h")
    config = yaml.safe_load(CONFIG.read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(RULES)]
    [job] = config["scrape_configs"]
    job["static_configs"] = [{"targets": [server.address.removeprefix("http://")]}]
    job["authorization"]["credentials_file"] = str(tmp_path / "key")
    (tmp_path / "key").write_text(server.keys["metrics"])
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    use(client)

    with watching(tmp_path / "prometheus.yml", free_port(), tmp_path) as prometheus:
        wait_for(lambda: prometheus.query("count_over_time(simhash_queries_total[1m]) > 1"))

        assert [series["value"][1] for series in prometheus.query("simhash_queries_total")] == ["6"]
        assert [series["value"][1] for series in prometheus.query('up{job="simhash"}')] == ["1"]
        empty = [expression for expression in shown() if not prometheus.query(expression)]
        # The store is a folder.
        assert all(named(expression) & OF_STORES for expression in empty)
        wait_for(lambda: [rule["health"] for rule in rules_of(prometheus)] == ["ok"] * len(ALERTS))
        # On a busy machine a request may be slow for a moment, which does not fire.
        assert {rule["state"] for rule in rules_of(prometheus)} <= {"inactive", "pending"}


def rules_of(prometheus):
    return [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
