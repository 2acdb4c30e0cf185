"""The site of the pages: all pages are in it, all names are documented, and every link leads somewhere."""

import re
import subprocess
import sys
import tomllib
from urllib.parse import unquote, urlsplit

import pytest
from lxml.html import fromstring
from support.fresh_clone import ROOT, pages, translations

import simhash_hbase
from simhash_hbase.api import create_index
from simhash_hbase.cli.app import COMMANDS
from simhash_hbase.service import create_app

pytestmark = pytest.mark.slow
NAVIGATION = tomllib.loads((ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
GENERATED = {"reference/commands.md", "reference/library.md", "reference/http.md"}


def parsed(path):
    """Return what a page links to, and the places in it that have a name."""
    tree = fromstring(path.read_bytes())
    return [link for link in tree.xpath("//@href | //@src") if link], {"", *tree.xpath("//@id")}


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


def test_the_navigation_has_every_page_once():
    assert sorted(named(NAVIGATION)) == sorted({*GENERATED, *map(str, pages()), *map(str, translations())})


def test_every_link_of_the_site_leads_to_a_file_and_a_place_in_it(site):
    found = {path: parsed(path) for path in site.rglob("*.html") if path.name != "404.html"}
    links = [(path, link, urlsplit(link)) for path, (links, _) in found.items() for link in links]
    wrong = []
    for path, link, parts in links:
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        is_there = target.exists() and (target not in found or unquote(parts.fragment) in found[target][1])
        if not (parts.scheme or parts.netloc or is_there):
            wrong.append((str(path.relative_to(site)), link))

    assert len(found) >= len(pages())
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
