"""The README pages: the first is short and leads to all others, and the files that they name are there."""

import re
import tomllib
from pathlib import Path

import pytest
from support.fresh_clone import ROOT, pages

from docs.chart import THEMES, chart
from simhash_hbase.profile.profile import FORMAT

PAGES = pages()
FIRST = Path("README.md")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(
    r"`((?:\./)?(?:[\w.*-]+/)*[\w.*-]+\.(?:py|rb|json|yml|yaml|lock|toml)|(?:\./)?scripts/[\w-]+)(?= |`)"
)
TARGET = re.compile(r'\]\(([^)\s]+)\)|<img src="([^"]+)"')


def targets(page):
    """Return the links of a page, without those into the web."""
    found = ["".join(pair) for pair in TARGET.findall(FENCED.sub("", PAGES[page]))]
    return [target for target in found if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_file_of_the_project_that_a_page_names_is_there(page):
    folders = (ROOT, ROOT / page.parent)
    named = set(NAMED.findall(FENCED.sub("", PAGES[page])))
    assert {name for name in named if not any(any(folder.glob(name)) for folder in folders)} == set()


def test_the_format_that_a_page_names_is_that_of_new_indexes():
    named = [number for page in PAGES.values() for number in re.findall(r'"format": (\d+)', page)]
    assert named == [str(FORMAT)]


def test_the_table_of_folders_has_them_all_each_above_what_it_imports():
    package = Path("simhash_hbase")
    table = PAGES[package / "README.md"].partition("\n## Folders\n")[2]
    cells = re.findall(r"^\| ([`\[].*?) \|", table, re.MULTILINE)
    found = [name for cell in cells for name in re.findall(r"\b(\w+)(?:\.py)?[`\]]", cell)]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract.get("containers") == ["simhash_hbase"]]
    height = {name: number for number, layer in enumerate(layers) for name in layer.split(" | ")}

    assert sorted(found) == sorted(height.keys() - {"__main__"})
    assert [height[name] for name in found] == sorted(height[name] for name in found)


def test_every_page_that_is_reached_from_the_first_one_leads_back():
    reached = {Path(target.partition("#")[0]) for target in targets(FIRST)}

    for page in PAGES.keys() - {FIRST}:
        assert page in reached, page
        assert any((ROOT / page.parent / target).resolve() == ROOT / FIRST for target in targets(page)), page


def test_the_first_page_is_short_with_small_pictures():
    pictures = [ROOT / target for target in targets(FIRST) if target.endswith(".png")]

    assert len(PAGES[FIRST].splitlines()) <= 200
    assert [picture.name for picture in pictures] == ["report.png", "console.png"]
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 150_000


@pytest.mark.parametrize("theme", THEMES)
def test_the_chart_of_the_first_page_is_that_of_the_measurements(theme):
    drawn = (ROOT / "docs" / "pictures" / f"peers-{theme}.svg").read_text(encoding="utf-8")
    assert drawn == chart(THEMES[theme]), "python docs/chart.py draws it anew"
