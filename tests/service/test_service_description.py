"""The description of all routes: requests made from it are answered as it says, and its page is whole."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from support.patience import END_S
from support.serving import new_index

from simhash_hbase.cli.commands.contents import query
from simhash_hbase.cli.commands.passages import find, passages
from simhash_hbase.service.limits import Limits
from simhash_hbase.service.routes import ROUTERS

HERE = Path(__file__).parent
HOOKS = HERE.parent / "support"
EXAMPLES = 6


@pytest.fixture
def url(tmp_path):
    return new_index(tmp_path, passages=50)


@pytest.mark.slow
def test_no_request_made_from_the_description_fails_it_or_is_answered_otherwise(server, tmp_path):
    command = [Path(sys.executable).with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml", "run"]
    command += [f"{server.address}/openapi.json", "--header", f"Authorization: Bearer {server.keys['all']}"]
    command += ["--max-examples", str(EXAMPLES), "--seed", "1", "--continue-on-failure", "--warnings", "off"]
    command += ["--request-timeout", str(Limits().request_s)]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(HOOKS), "NO_COLOR": "1"}

    run = subprocess.run(
        command, cwd=tmp_path, env=environment, timeout=END_S, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, "\n".join(line[:400] for line in run.stdout.splitlines()) + run.stderr
    statuses = {line["status"] for line in server.log() if line["event"] == "request"}
    assert statuses >= {200, 400, 401, 404, 405, 415, 422}


def test_the_examples_of_the_description_are_taken(client):
    described = client.get("/openapi.json").json()
    forms = [
        (path, media, form)
        for path, routes in described["paths"].items()
        for media, form in routes.get("post", {}).get("requestBody", {}).get("content", {}).items()
    ]
    for path, media, form in forms:
        for example in _examples(described, form):
            answer = client.post(path, content=example, headers={"Content-Type": media})
            assert answer.status_code in (200, 404), (path, example, answer.text)
            assert "malformed" not in answer.text
            assert "invalid" not in answer.text
    assert len(forms) >= 6


def test_parameters_are_described_as_the_options_of_the_same_name():
    app = FastAPI()
    for router in ROUTERS:
        app.include_router(router)
    described = app.openapi()["paths"]
    compared = []
    for path, command, names in (
        ("/v1/queries", query, {"limit", "distance", "similarity"}),
        ("/v1/clues", find, {"limit"}),
        ("/v1/passages", passages, {"at_least", "same"}),
    ):
        helps = {parameter.name: getattr(parameter, "help", None) for parameter in command.params}
        for parameter in described[path]["post"]["parameters"]:
            if (name := parameter["name"]) in names:
                compared.append(name)
                # On the command line metadata of files has to be named, too.
                assert helps[name].partition(";")[0].rstrip(".") == parameter["description"].partition(";")[0].rstrip(
                    "."
                )
    assert len(compared) == 6


def _examples(described, form):
    """Return an example as it is sent: of lines the one of the body, of JSON those of its schema."""
    if "example" in form:
        return [form["example"].encode()]
    name = form["schema"]["$ref"].rpartition("/")[2]
    return [json.dumps(example).encode() for example in described["components"]["schemas"][name]["examples"]]


def test_the_page_has_every_route_parameter_status_and_schema(server):
    with server.client(None) as client:
        answer = client.get("/docs")
        description = client.get("/openapi.json").json()

    page = answer.text
    assert answer.status_code == httpx.codes.OK
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src" in answer.headers["content-security-policy"]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            section = page.partition(f'<section id="{operation["operationId"]}"')[2].partition("</section>")[0]
            assert f"<code>{method.upper()} {path}</code>" in section
            assert all(re.search(f"<(h3|code)>{status} ", section) for status in operation["responses"])
            for parameter in operation.get("parameters", ()):
                assert f"<code>{parameter['name']}</code>" in section
    for name, schema in description["components"]["schemas"].items():
        section = page.partition(f'<section id="{name}"')[2].partition("</section>")[0]
        assert all(f"<code>{field}</code>" in section for field in schema.get("properties", {}))
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    loaded = {link for link in links if not link.startswith("#")}
    assert loaded == {"data:,", "openapi.json", "console/page.css", "console/console.css"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(re.findall(r'id="([^"]*)"', page))
    assert "<script" not in page
