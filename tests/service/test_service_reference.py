"""The page of all routes: whole, for everybody, and without anything from elsewhere."""

import re

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from support.chromium import NARROW, WIDE, open_page
from support.serving import serving

from simhash_hbase.service.pages import reference_page


def test_the_page_has_every_route_parameter_status_and_schema_and_needs_no_key(server):
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


def test_what_the_description_says_is_text_never_markup():
    operation = {"operationId": "x", "summary": "<u>", "description": "<s>", "responses": {}}
    description = {
        "info": {"title": "<b>", "summary": "a & b", "version": "1"},
        "paths": {"/<i>": {"get": operation}},
        "components": {"schemas": {"A": {"properties": {"<q>": {"enum": ["<em>"], "default": "<kbd>"}}}}},
    }

    page = reference_page(description)

    for tag in ("b", "i", "u", "s", "q", "em", "kbd"):
        assert f"<{tag}>" not in page
        assert f"&lt;{tag}&gt;" in page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_page_fits_its_window_and_has_no_barrier_that_axe_finds(browser, url, tmp_path, size, dark):
    with serving(url, tmp_path, auth=False) as server, open_page(browser, size=size, dark=dark) as page:
        page.goto(f"{server.address}/docs")

        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
