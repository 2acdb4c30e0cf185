"""The console in a real browser: answers are the library's, keys alone will do, nothing is taken for markup."""

import re
import time
from contextlib import closing
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.chromium import IN_LATIN, NARROW, WIDE, open_page
from support.console import PATIENCE_MS, console, fits_and_has_no_barrier, focused, settled, tab_to
from support.corpus import text
from support.serving import new_index, serving

from simhash_hbase import LocalIndex, open_index, report as report_package
from simhash_hbase.report.differences import word_differences
from simhash_hbase.service import pages
from simhash_hbase.stores.embedded import EmbeddedStore

FOLDER = Path(pages.__file__).parent / "console"
SHARED = Path(report_package.__file__).parent / "static"
HOSTILE_ID = "<img src=x onerror=window.pwned=1>\"'&</li>"
HOSTILE = f"{text(77, count=60)} <script>window.pwned=2</script> <b onclick='pwned()'>bold</b> &amp; &lt;"
KEPT = text(50, count=60)
NEWS = "\n".join(
    f"第{at}条 {who}应当在{at}日以前向市政府报告城市东部新地铁线路的施工情况。报告包括进度、费用和安全三个部分；"
    f"没有按时报告的，由交通局责令改正。本条自公布之日起施行。"
    for at, who in enumerate(("施工单位", "监理单位", "设计单位", "区政府") * 3, 1)
)
EDITED = NEWS.replace("交通局责令改正", "交通局通报批评", 1).replace("区政府应当", "区政府及其部门应当", 2)
DAY_MS = 86_400_000


def of_day(day):
    """Return some groups of near copies."""
    groups, copies = 1 + day * 5 % 7, 1 + day % 4
    return [
        (f"https://example.org/{day}/{group}?copy={copy}", text(1000 + 10 * day + group, changed=copy))
        for group in range(groups)
        for copy in range(copies)
    ]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Return the address of an index with originals, duplicates, and things that look like markup."""
    address = new_index(tmp_path_factory.mktemp("console"))
    today = time.time_ns() // 1_000_000
    for day in range(12):
        with closing(EmbeddedStore.open(address.removeprefix("file:"))) as store:
            index = LocalIndex(store, clock=partial(int, today - (12 - day) * DAY_MS))
            list(index.claim_many(of_day(day)))
    with open_index(address) as index:
        index.add("news/1", NEWS)
        list(index.add_many((f"copy {number}", text(3, changed=number)) for number in range(4)))
        index.add(HOSTILE_ID, HOSTILE, metadata={"<i>key</i>": "<svg onload=window.pwned=3>", "text": HOSTILE})
        index.add("kept", KEPT, metadata={"text": KEPT})
    return address


@pytest.fixture(scope="module")
def server(url, tmp_path_factory):
    """Return the service for everybody on this machine."""
    with serving(url, tmp_path_factory.mktemp("open"), "--timeout", "120", auth=False) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(url, tmp_path_factory):
    with serving(url, tmp_path_factory.mktemp("guarded"), "--timeout", "120") as running:
        yield running


def look_up(page, words):
    page.fill("#text", words)
    page.click("#query-form button.main")
    settled(page, "verdict")


def shown_matches(page):
    return page.locator("#matches > li").evaluate_all(
        "all => all.map(li => [li.querySelector('h3 .id').textContent,"
        " ...[...li.querySelectorAll('.figure')].map(figure => figure.textContent),"
        " li.querySelector('.badge') !== null])"
    )


def three_digits(share):
    """Write a share as the page's script does: of the number's exact value, halves upwards."""
    return str(Decimal(share).quantize(Decimal("0.001"), ROUND_HALF_UP))


def bits(count):
    return f"{count} bit{'' if count == 1 else 's'}"


def as_shown(answer):
    return [
        [match.id, bits(match.distance), f"similarity {three_digits(round(match.similarity, 4))}", match.exact]
        for match in answer.matches
    ]


def joined(marks):
    """Join neighbours of one kind: rows cut equal text, and what only the other side has is nothing here."""
    return [[kind, "".join(words for _, words in group)] for kind, group in groupby(marks, itemgetter(0))]


def marked(page, side):
    """Return the pieces of one text as they are marked, folded ones too."""
    while (folded := page.locator("#marked button")).count():
        folded.first.click()
    return joined(
        page.locator(f"#marked .row > .{side}").evaluate_all(
            "all => all.flatMap(cell => [...cell.childNodes].map(node => [node.className ?? 'same', node.textContent]))"
        )
    )


def pieces(a, b, side):
    return joined([[piece.kind, getattr(piece, side)] for piece in word_differences(a, b) if getattr(piece, side)])


@pytest.mark.parametrize("words", [text(3, changed=1), text(5), "nothing like it is in the index, not at all"])
def test_a_text_gets_the_answer_of_the_library(browser, server, url, words):
    with console(browser, server) as page:
        look_up(page, words)

        with open_index(url) as index:
            answer = index.query(words, limit=50)
        assert shown_matches(page) == as_shown(answer)
        count = len(answer.matches)
        seen = f"Seen: {count} near-duplicate{'s' if count > 1 else ''}."
        assert page.text_content("#verdict").startswith(seen if count else "Not seen: no near-duplicate.")


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_the_console_is_in_chinese_where_the_browser_asks_for_it(browser, server, size, dark):
    with console(browser, server, size=size, dark=dark, locale="zh-CN") as page:
        look_up(page, KEPT)
        # The id is a word of the pages, too, and stays what it is.
        assert page.text_content("#matches h3 .id") == "kept"
        assert page.text_content("#verdict") == "见过：1 篇近重复的文档。"
        page.locator("#matches li button").first.click()
        settled(page, "compared")
        # The segments of prefixes are hexadecimal.
        said = re.sub(r"\b[0-9a-f]{8}\b", "", " ".join(page.evaluate(IN_LATIN)))

        known = {"API", "OpenAPI", "Ctrl", "Enter", "id", "kept", "simhash", "hbase", "shingle", "verified", "distance"}
        units = {"UTC", "KB", "MB", "read"}
        assert set(re.findall(r"[A-Za-z]{2,}", said)) - known - units == set()
        assert page.evaluate("document.documentElement.lang") == "zh-Hans"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_a_stored_document_and_another_rule_get_the_answer_of_the_library(browser, server, url):
    with console(browser, server) as page:
        page.check("input[value=id]")
        page.fill("#id", "copy 1")
        page.click("#query-form summary")
        page.select_option("#match", "distance")
        page.fill("#distance", "2")
        page.fill("#limit", "2")
        page.click("#query-form button.main")
        settled(page, "verdict")

        with open_index(url) as index:
            answer = index.query_id("copy 1", rule=index.rule(match="distance", distance=2), limit=2)
        assert shown_matches(page) == as_shown(answer)
        assert ("A limit cut this answer" in page.text_content("#verdict")) == answer.truncated


def test_differing_words_are_marked_as_the_library_tells_them(browser, server):
    a, b = text(3), text(3, changed=2) + " 倘若雨停了，我们就马上出发。"
    with console(browser, server) as page:
        page.fill("#left", a)
        page.fill("#right", b)
        page.click("#compare-form button.main")
        page.wait_for_selector("#marked")

        assert marked(page, "left") == pieces(a, b, "left")
        assert marked(page, "right") == pieces(a, b, "right")
        compared = httpx.post(f"{server.address}/v1/comparisons", json={"a": a, "b": b}, timeout=60).json()
        told = f"Distance {bits(compared['distance'])}, similarity {three_digits(compared['similarity'])}."
        assert page.text_content("#compared").startswith(told)
        assert page.locator(".bit").count() == 64
        assert page.locator(".bit.differs").count() == compared["distance"]


def test_a_text_that_is_kept_in_the_metadata_is_compared_at_once(browser, server):
    asked = f"{KEPT} !"
    with console(browser, server) as page:
        look_up(page, asked)
        page.click("button[aria-label='Compare with kept']")
        page.wait_for_selector("#marked")

        assert (page.input_value("#left"), page.input_value("#right")) == (asked, KEPT)
        assert marked(page, "left") == pieces(asked, KEPT, "left")
        assert [kind for kind, _ in marked(page, "left")] == ["same", "left"]
        assert page.text_content("#right-label") == "Text of kept"


def test_figures_are_those_of_the_index(browser, server, url):
    with open_index(url) as index:
        stats = index.stats()
    with console(browser, server) as page:
        numbers = dict(
            page.locator("#numbers div").evaluate_all(
                "all => all.map(div => [div.querySelector('dt').textContent, div.querySelector('dd').textContent])"
            )
        )
        tables = dict(
            page.locator("#charts figure").evaluate_all(
                "all => all.map(figure => [figure.querySelector('figcaption').firstChild.textContent,"
                " [...figure.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))])"
            )
        )

    assert (numbers["Documents"], numbers["Duplicates"]) == (str(stats.documents), str(stats.states["duplicate"]))
    assert tables["Documents over time"] == [[day.date, str(day.documents), str(day.duplicates)] for day in stats.days]
    assert {int(bits): int(n) for bits, n in tables["Distances of duplicates"] if n != "0"} == stats.distances
    assert tables["Hottest prefixes"] == [[f"{hot.table} · {hot.segment}", str(hot.rows)] for hot in stats.hottest]
    assert [row[1].replace(",", "") for row in tables["Crowding"]] == [str(n) for n in stats.rows_per_prefix.values()]


def test_what_looks_like_markup_is_shown_as_text(browser, server):
    with console(browser, server) as page:
        look_up(page, HOSTILE)
        assert shown_matches(page)[0][0] == HOSTILE_ID
        page.locator("#matches button", has_text="Compare").first.click()
        page.wait_for_selector("#marked")
        page.fill("#left", HOSTILE + "<script>window.pwned=4</script>")
        page.click("#compare-form button.main")
        settled(page, "compared")
        page.wait_for_selector("#marked del")

        assert HOSTILE_ID in page.text_content("#right-label")
        assert "<svg onload=window.pwned=3>" in page.text_content("#matches .more")
        assert "".join(words for _, words in marked(page, "right")) == HOSTILE
        made = "main img, main script, main i, main b:not(.head b), main [onload], main [onclick]"
        assert page.locator(made).count() == 0
        assert page.evaluate("window.pwned") is None


def test_everything_can_be_done_with_the_keyboard_alone(browser, server):
    a, b = text(3, changed=1), text(3, changed=0)
    with console(browser, server) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert focused(page)["id"] == "look-up"
        tab_to(page, id="text")
        page.keyboard.insert_text(a)
        page.keyboard.press("Control+Enter")
        settled(page, "verdict")
        tab_to(page, label="Compare with copy 0")
        page.keyboard.press("Enter")
        expect(page.locator("#right")).to_be_focused()
        page.keyboard.insert_text(b)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#marked")
        assert marked(page, "right") == pieces(a, b, "right")

        tab_to(page, id="refresh")
        page.keyboard.press("Enter")
        page.wait_for_selector("#charts figure")
        page.focus("input[value=text]")
        page.keyboard.press("ArrowDown")
        tab_to(page, id="id")
        page.keyboard.type("copy 2")
        page.keyboard.press("Enter")
        expect(page.locator("#verdict")).to_have_text(re.compile("^Seen"))


def test_the_page_keeps_a_key_in_memory_until_told_to_forget_it(browser, guarded):
    key = guarded.keys["read"]
    with console(browser, guarded, counts=False) as page:
        assert page.text_content("#counted") == "Figures come with a key."
        look_up(page, text(3))
        assert page.text_content("#verdict") == "A key is needed: type it in at the top."
        assert focused(page)["id"] == "key"

        page.keyboard.type(key)
        page.keyboard.press("Enter")
        page.wait_for_selector("#charts figure")
        look_up(page, text(3))

        assert len(shown_matches(page)) > 1
        places = "[localStorage, sessionStorage, document.cookie, history.state, location.href]"
        kept = page.evaluate(f"JSON.stringify({places})")
        assert key not in kept + page.content() + page.input_value("#key")
        assert page.evaluate("indexedDB.databases()") == page.context.cookies() == []
        page.reload()
        assert page.text_content("#counted") == "Figures come with a key."

        page.fill("#key", key)
        page.click("#key-button")
        page.wait_for_selector("#charts figure")
        look_up(page, text(3))
        page.click("#key-button")
        assert page.locator("#matches li, #numbers div, #charts figure").count() == 0
        look_up(page, text(3))
        assert page.text_content("#verdict") == "A key is needed: type it in at the top."


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("shk_wrong", "This key is not known."),
        ("write", "does not have the scope read."),
        ("钥匙", "This key is not known."),
    ],
)
def test_a_key_that_will_not_do_is_said_in_a_sentence(browser, guarded, key, words):
    # Chromium itself prints an error for every answer with such a status, so the page is watched for thrown ones alone.
    page, thrown = browser.new_page(), []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    page.set_default_timeout(PATIENCE_MS)
    page.goto(guarded.address)
    page.fill("#key", guarded.keys.get(key, key))
    page.press("#key", "Enter")
    page.wait_for_selector("#counted.bad")

    assert page.text_content("#counted").endswith(words)
    assert thrown == []
    page.close()


def test_an_id_that_is_not_there_and_a_service_that_is_gone_are_said(browser, url, tmp_path):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    with serving(url, tmp_path, auth=False) as server:
        page.goto(server.address)
        page.check("input[value=id]")
        page.fill("#id", "nobody")
        page.press("#id", "Enter")
        page.wait_for_selector("#verdict.bad")
        assert page.text_content("#verdict") == "The index does not hold a document of this id."
    page.press("#id", "Enter")
    expect(page.locator("#verdict")).to_have_text("The service does not answer.")
    page.close()


def test_the_page_loads_nothing_from_elsewhere(browser, server):
    asked = []
    with open_page(browser) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.address)
        page.wait_for_selector("#charts figure")
    page_itself = httpx.get(server.address)
    files = [*FOLDER.iterdir(), *SHARED.iterdir()]
    parts = sorted(file.name for file in files if file.suffix in (".css", ".js"))
    others = [httpx.get(f"{server.address}/console/{name}") for name in parts]

    assert {httpx.URL(address).copy_with(path="/") for address in asked if not address.startswith("data:")} == {
        httpx.URL(server.address).copy_with(path="/")
    }
    for answer in (page_itself, *others):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]* src=)", page_itself.text)
    markup = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b")
    assert not [answer.url for answer in others if markup.search(answer.text)]
    assert {httpx.URL(address).path for address in asked} >= {f"/console/{name}" for name in parts}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_pages_that_fit_their_window_have_no_barrier_that_axe_finds(browser, server, screenshots, size, dark):
    with console(browser, server, size=size, dark=dark) as page:
        look_up(page, EDITED)
        page.click("button[aria-label='Compare with news/1']")
        expect(page.locator("#right")).to_be_focused()
        page.fill("#right", NEWS)
        page.click("#compare-form button.main")
        page.wait_for_selector("#marked button")
        look_up(page, text(3, changed=1))
        page.evaluate("window.scrollTo(0, 0)")
        screenshots.mkdir(exist_ok=True)
        name = f"console-{'wide' if size is WIDE else 'narrow'}-{'dark' if dark else 'light'}.png"
        page.screenshot(path=screenshots / name, full_page=True)

        fits_and_has_no_barrier(page)
        page.goto(f"{server.address}/docs")
        fits_and_has_no_barrier(page)
