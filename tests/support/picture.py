"""A picture of a report or of the console, as a browser shows it: ``./scripts/picture``."""

import sys
from pathlib import Path

from support.chromium import WIDE, launch, open_page
from support.console import settled


def take(browser, report, path, words=""):
    """Take a picture of a report in which words were searched for."""
    with open_page(browser, size=WIDE) as page:
        page.goto(f"file://{Path(report).resolve()}")
        if words:
            page.fill("#search", words)
            page.locator("#status", has_text="match").wait_for()
            page.locator("#search").blur()
        page.screenshot(path=path, full_page=True)


def take_console(browser, address, path, text):
    """Take a picture of the console of a service that has looked up a text, its first sentence and its passages."""
    with open_page(browser, size=WIDE) as page:
        page.goto(address)
        page.fill("#text", text)
        page.click("#query-form button.main")
        page.locator("#matches li").first.wait_for()
        if page.locator("#clue").is_visible():
            page.fill("#clue", text.partition("。")[0])
            page.click("#find-form button.main")
            page.fill("#passages-text", text)
            page.click("#passages-form button.main")
            for verdict in ("clue-verdict", "passages-verdict"):
                settled(page, verdict)
        page.locator("#charts svg").first.wait_for()
        page.screenshot(path=path, full_page=True)


def main(report, path, words=""):
    """Start a browser of its own; the text for a console comes from standard input."""
    with launch() as browser:
        if report.startswith("http:"):
            take_console(browser, report, path, sys.stdin.read())
        else:
            take(browser, report, path, words)


if __name__ == "__main__":
    main(*sys.argv[1:])
