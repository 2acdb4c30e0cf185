"""The console of a service in a browser, as its tests open and use it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from support.chromium import open_page
from support.serving import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_MS = 60_000


@contextmanager
def console(browser: "Browser", server: Server, *, counts: bool = True, **options: Any) -> Iterator["Page"]:
    """Open the console of a service; with `counts` its figures are waited for."""
    with open_page(browser, **options) as page:
        page.set_default_timeout(PATIENCE_MS)
        page.goto(server.address)
        if counts:
            page.wait_for_selector("#charts figure")
        yield page


def settled(page: "Page", status: str) -> None:
    """Wait until a line says more than that it is being worked on."""
    expect(page.locator(f"#{status}")).to_have_text(re.compile(r"[^…]{2}"), timeout=PATIENCE_MS)


def focused(page: "Page") -> dict[str, str]:
    """Return what has the focus, and whether that can be seen."""
    element: dict[str, str] = page.evaluate(
        "(() => { const e = document.activeElement;"
        " return {id: e.id, label: e.getAttribute('aria-label'), outline: getComputedStyle(e).outlineStyle}; })()"
    )
    return element


def tab_to(page: "Page", **wanted: str) -> None:
    """Press Tab until something has the focus, which must be seen at every step."""
    for _ in range(60):
        page.keyboard.press("Tab")
        here = focused(page)
        assert here["outline"] != "none", here
        if all(here[name] == value for name, value in wanted.items()):
            return
    raise AssertionError(f"Tab never comes to {wanted}")


def fits_and_has_no_barrier(page: "Page") -> None:
    """Check a page for barriers that axe finds, and for a part that is wider than its window."""
    assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
