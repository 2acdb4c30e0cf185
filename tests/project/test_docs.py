"""The site of the pages: all pages are in it, all names are documented, and every link leads somewhere."""

import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from support.chromium import NARROW, WIDE, open_page
from support.fresh_clone import ROOT, pages
from support.listening import folder_served

import simhash_hbase
from simhash_hbase.api import create_index
from simhash_hbase.cli.app import COMMANDS
from simhash_hbase.service import create_app

pytestmark = pytest.mark.slow

NAVIGATION = tomllib.loads((ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
GENERATED = {"reference/commands.md", "reference/library.md", "reference/http.md"}


class Page(HTMLParser):
    """What a page links to, and the places in it that have a name."""

    def __init__(self, text):
        super().__init__()
        self.links, self.names = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.names |= {values.get("id", "")}
        self.links += [values[name] for name in ("href", "src") if values.get(name)]


def named(entries):
    """Return the pages of a navigation."""
    for value in (value for entry in entries for value in entry.values()):
        yield from named(value) if isinstance(value, list) else [value]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as ./scripts/docs does."""
    folder = tmp_path_factory.mktemp("docs")
    # mkdocstrings looks for the package from the folder of the configuration.
    (folder / "x" / "y").mkdir(parents=True)
    (folder / "simhash_hbase").symlink_to(ROOT / "simhash_hbase")
    built = folder / "x" / "y"
    subprocess.run([sys.executable, ROOT / "docs" / "pages.py", built], check=True)
    words = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", built / "zensical.toml"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return built / "site"


def test_every_page_is_in_the_navigation_once_and_nothing_else():
    assert sorted(named(NAVIGATION)) == sorted({*GENERATED, *map(str, pages())})


def test_every_link_of_the_site_leads_to_a_file_and_a_place_in_it(site):
    parsed = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    links = [(path, link, urlsplit(link)) for path, page in parsed.items() for link in page.links]
    wrong = []
    for path, link, parts in links:
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        is_there = target.exists() and (target not in parsed or unquote(parts.fragment) in parsed[target].names)
        if not (parts.scheme or parts.netloc or is_there):
            wrong.append((str(path.relative_to(site)), link))

    assert len(parsed) >= len(pages())
    assert wrong == []


def test_nothing_is_loaded_from_elsewhere(site):
    loaded = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(?:https?:)?//')
    assert [str(path) for path in site.rglob("*.html") if loaded.search(path.read_text(encoding="utf-8"))] == []


def test_every_public_name_every_command_and_every_route_is_documented(site):
    library, commands, http = (
        (site / "reference" / page / "index.html").read_text(encoding="utf-8")
        for page in ("library", "commands", "http")
    )
    with create_index("memory:", analyzer="shingle") as index:
        paths = create_app(index, keys=None).openapi()["paths"]

    # mkdocstrings calls a name by the module that has it.
    names = {*simhash_hbase.__all__, "Index.query", "Index.claim_many", "Index.stats"} - {"__version__"}
    assert {name for name in names if not re.search(rf'id="simhash_hbase\.(?:\w+\.)*{name}"', library)} == set()
    assert [name for name in COMMANDS if f'id="{name}"' not in commands] == []
    assert "--keep" in commands
    assert [path for path in paths if path not in http] == []


@pytest.fixture(scope="module")
def address(site):
    """Serve the site, since a browser loads no module from a file."""
    with folder_served(site) as served:
        yield served


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("page", ["", "reference/library", "reference/http", "tests/bench"])
def test_a_page_opens_in_a_browser_without_an_error(address, browser, screenshots, page, size):
    with open_page(browser, size=size) as tab:
        tab.goto(f"{address}/{page}")
        tab.locator("article h1").first.wait_for()
        screenshots.mkdir(exist_ok=True)
        tab.screenshot(path=screenshots / f"docs-{page.replace('/', '-') or 'start'}-{size['width']}.png")
