"""A real browser for the tests of pages: the system's Chromium, headless, driven through its debugging protocol."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.gates import absent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
# A sandbox cannot be had as root; the rest keeps it from calling home.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


# What a page says in Latin letters, without what users brought: words of the program are in it, too.
IN_LATIN = """
() => {
  const found = [], nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const others = "script, style, noscript, bdi, textarea, code, time, .row, .id, .title, .data, "
    + ":is(#refused-records, #pulls, #hottest, #regions) td";
  while (nodes.nextNode()) {
    const text = nodes.currentNode.data.trim();
    if (/[a-z]{2}/i.test(text) && !nodes.currentNode.parentElement.closest(others)) found.push(text);
  }
  return found.concat([...document.querySelectorAll("[aria-label], [placeholder]")].map(
    (node) => node.ariaLabel ?? node.placeholder));
}
"""


@contextmanager
def launch() -> Iterator["Browser"]:
    """Start the system's Chromium; without one the test is skipped, but never in CI."""
    # Tests without a browser run without Playwright.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        absent("no Chromium here: apt-get install chromium, as root")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def open_page(
    browser: "Browser", *, size: dict[str, int] = WIDE, dark: bool = False, locale: str = "en-US"
) -> Iterator["Page"]:
    """Open an empty page that fails the test for any error it prints, throws, or cannot load."""
    scheme = "dark" if dark else "light"
    page = browser.new_page(viewport=size, color_scheme=scheme, locale=locale)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(f"could not load {request.url}"))
    yield page
    page.close()
    assert errors == []
