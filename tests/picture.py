"""A picture of a report, as a browser shows it: ``./scripts/picture``."""

import sys
from pathlib import Path

from tests.chromium import WIDE, launch, open_page


def take(browser, report, path):
    """Take a picture of the whole page."""
    with open_page(browser, size=WIDE) as page:
        page.goto(f"file://{Path(report).resolve()}")
        page.screenshot(path=path, full_page=True)


def main(report, path):
    """Start a browser of its own."""
    with launch() as browser:
        take(browser, report, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
