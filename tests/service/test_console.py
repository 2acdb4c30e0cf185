"""The console in a real browser: its answers are the library's, it runs on keys alone, and it takes nothing for markup."""

import re
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Decimal

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from corpus import near_copies, text
from serving import serving

from simhash_hbase import create_index, open_index
from simhash_hbase.differences import word_differences
from tests.chromium import NARROW, WIDE, open_page

PATIENCE_MS = 60_000
HOSTILE_ID = "<img src=x onerror=window.pwned=1>\"'&</li>"
HOSTILE = f"{text(77)} <script>window.pwned=2</script> <b onclick='pwned()'>bold</b> &amp; &lt;"
KEPT = text(50, count=100)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Return the address of an index with originals, duplicates, and things that look like markup."""
    address = f"file:{tmp_path_factory.mktemp('console') / 'some.index'}"
    with create_index(address, analyzer="shingle") as index:
        documents = near_copies(12, 3)
        entries = index.analysis.texts([d["id"] for d in documents], [d["text"] for d in documents]).entries
        index.dedup_entries(entries, index.deduplicator())
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
    """Return the service that asks for keys."""
    with serving(url, tmp_path_factory.mktemp("guarded"), "--timeout", "120") as running:
        yield running


@contextmanager
def console(browser, server, **options):
    """Open the page and wait for its figures."""
    with open_page(browser, **options) as page:
        page.set_default_timeout(PATIENCE_MS)
        page.goto(server.address)
        page.wait_for_selector("#charts figure")
        yield page


def look_up(page, words):
    page.fill("#text", words)
    page.click("#query-form button.main")
    settled(page, "verdict")


def settled(page, status):
    """Wait until a line says more than that it is being worked on."""
    page.wait_for_function(f"!['', '…'].includes(document.getElementById('{status}').textContent)")


def shown_matches(page):
    return page.locator("#matches > li").evaluate_all(
        "all => all.map(li => [li.querySelector('h3').firstChild.textContent, li.querySelector('.gauge span').textContent,"
        " li.querySelector('.badge') !== null])"
    )


def percent(share):
    """Write a share as the page's script does: of the number's exact value, halves upwards."""
    return f"{Decimal(100 * share).quantize(Decimal('0.1'), ROUND_HALF_UP)} %"


def as_shown(answer):
    return [[m.id, f"distance {m.distance}, similarity {percent(round(m.similarity, 4))}", m.exact] for m in answer.matches]


def marked(page, side):
    """Return the pieces of one text as they are marked."""
    return page.locator(f"#marked-{side}").evaluate(
        "box => [...box.childNodes].map(node => [node.className ?? 'same', node.textContent])"
    )


def pieces(a, b, side):
    """Return what is to be marked."""
    return [[piece.kind, getattr(piece, side)] for piece in word_differences(a, b) if getattr(piece, side)]


@pytest.mark.parametrize("words", [text(3, changed=1), text(5), "nothing like it is in the index, not at all"])
def test_a_text_gets_the_answer_of_the_library(browser, server, url, words):
    with console(browser, server) as page:
        look_up(page, words)

        with open_index(url) as index:
            answer = index.query(words, limit=50)
        assert shown_matches(page) == as_shown(answer)
        count = len(answer.matches)
        verdict = f"Seen: {count} near-duplicate{'s' if count > 1 else ''}." if count else "Not seen: no near-duplicate."
        assert page.text_content("#verdict").startswith(verdict)


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
        page.wait_for_selector("#marked-right")

        assert marked(page, "left") == pieces(a, b, "left")
        assert marked(page, "right") == pieces(a, b, "right")
        compared = httpx.post(f"{server.address}/v1/comparisons", json={"a": a, "b": b}, timeout=60).json()
        assert f"Distance {compared['distance']} of 64 bits" in page.text_content("#compared")
        assert page.locator(".bit").count() == 64
        assert page.locator(".bit.differs").count() == compared["distance"]


def test_a_text_that_is_kept_in_the_metadata_is_compared_at_once(browser, server):
    asked = f"{KEPT} !"
    with console(browser, server) as page:
        look_up(page, asked)
        page.click("button[aria-label='Compare with kept']")
        page.wait_for_selector("#marked-right")

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

    assert (numbers["documents"], numbers["duplicates"]) == (str(stats.documents), str(stats.states["duplicate"]))
    assert tables["Documents over time"] == [[day.date, str(day.documents), str(day.duplicates)] for day in stats.days]
    assert {int(bits): int(n) for bits, n in tables["Distances of duplicates"] if n != "0"} == stats.distances
    assert tables["Hottest prefixes"] == [[f"{hot.table} · {hot.segment}", str(hot.rows)] for hot in stats.hottest]
    assert [row[1].replace(",", "") for row in tables["Crowding"]] == [str(n) for n in stats.rows_per_prefix.values()]


def test_what_looks_like_markup_is_shown_as_text(browser, server):
    with console(browser, server) as page:
        look_up(page, HOSTILE)
        assert shown_matches(page)[0][0] == HOSTILE_ID
        page.locator("#matches button", has_text="Compare").first.click()
        page.wait_for_selector("#marked-right")
        page.fill("#left", HOSTILE + "<script>window.pwned=4</script>")
        page.click("#compare-form button.main")
        settled(page, "compared")
        page.wait_for_selector("#marked-left mark")

        assert HOSTILE_ID in page.text_content("#right-label")
        assert "<svg onload=window.pwned=3>" in page.text_content("#matches .more")
        assert "".join(words for _, words in marked(page, "right")) == HOSTILE
        assert page.locator("main img, main script, main i, main b:not(.gauge b), main [onload], main [onclick]").count() == 0
        assert page.evaluate("window.pwned") is None


def focused(page):
    return page.evaluate(
        "(() => { const e = document.activeElement;"
        " return {id: e.id, label: e.getAttribute('aria-label'), outline: getComputedStyle(e).outlineStyle}; })()"
    )


def tab_to(page, **wanted):
    """Press Tab until something has the focus, which must be seen at every step."""
    for _ in range(60):
        page.keyboard.press("Tab")
        here = focused(page)
        assert here["outline"] != "none", here
        if all(here[name] == value for name, value in wanted.items()):
            return
    raise AssertionError(f"Tab never comes to {wanted}")


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
        page.wait_for_function("document.activeElement.id === 'right'")
        page.keyboard.insert_text(b)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#marked-right")
        assert marked(page, "right") == pieces(a, b, "right")

        tab_to(page, id="refresh")
        page.keyboard.press("Enter")
        page.wait_for_selector("#charts figure")
        page.focus("input[value=text]")
        page.keyboard.press("ArrowDown")
        tab_to(page, id="id")
        page.keyboard.type("copy 2")
        page.keyboard.press("Enter")
        page.wait_for_function("document.getElementById('verdict').textContent.startsWith('Seen')")


def test_the_page_asks_for_a_key_and_keeps_it_for_the_tab_alone(browser, guarded):
    with open_page(browser) as page:
        page.set_default_timeout(PATIENCE_MS)
        page.goto(guarded.address)
        assert page.text_content("#counted") == "Figures come with a key."
        look_up(page, text(3))
        assert page.text_content("#verdict") == "A key is needed: type it in at the top."
        assert focused(page)["id"] == "key"

        page.keyboard.type(guarded.keys["read"])
        page.keyboard.press("Enter")
        page.wait_for_selector("#charts figure")
        page.reload()
        page.wait_for_selector("#charts figure")
        look_up(page, text(3))

        assert len(shown_matches(page)) > 1
        assert page.evaluate("JSON.stringify([Object.values(sessionStorage), localStorage.length])") == (
            f'[["{guarded.keys["read"]}"],0]'
        )
        assert page.context.cookies() == []
        assert guarded.keys["read"] not in page.url + page.content()
        page.click("#key-button")
        assert page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize(("key", "words"), [("shk_wrong", "This key is not known."), ("write", "has not the scope read.")])
def test_a_key_that_will_not_do_is_said_in_a_sentence(browser, guarded, key, words):
    # Chromium itself prints an error for every answer with such a status, so the page is watched for thrown ones alone.
    page, thrown = browser.new_page(), []
    page.on("pageerror", lambda error: thrown.append(str(error)))
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
    page.wait_for_function("document.getElementById('verdict').textContent === 'The service does not answer.'")
    page.close()


def test_nothing_comes_from_elsewhere_and_nothing_inline_runs(browser, server):
    asked = []
    with open_page(browser) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.address)
        page.wait_for_selector("#charts figure")
    page_itself = httpx.get(server.address)
    others = [httpx.get(f"{server.address}/console.{ending}") for ending in ("css", "js")]

    assert {httpx.URL(address).copy_with(path="/") for address in asked if not address.startswith("data:")} == {
        httpx.URL(server.address).copy_with(path="/")
    }
    for answer in (page_itself, *others):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]* src=)", page_itself.text)
    assert "innerHTML" not in others[1].text


def test_the_page_is_where_no_key_is_asked_for_and_its_description_is_not_in_openapi(guarded):
    assert httpx.get(guarded.address).status_code == 200
    assert not {"/", "/console.js", "/console.css"} & set(httpx.get(f"{guarded.address}/openapi.json").json()["paths"])


@pytest.mark.parametrize(("name", "size", "dark"), [("wide", WIDE, False), ("narrow", NARROW, False), ("dark", WIDE, True)])
def test_the_page_fits_its_window_and_has_no_barrier_that_axe_finds(browser, server, screenshots, name, size, dark):
    with console(browser, server, size=size, dark=dark) as page:
        look_up(page, text(3, changed=1))
        page.locator("#matches button", has_text="Compare").first.click()
        page.wait_for_function("document.activeElement.id === 'right'")
        page.fill("#right", text(3, changed=0))
        page.click("#compare-form button.main")
        page.wait_for_selector("#marked-right")
        page.evaluate("window.scrollTo(0, 0)")
        screenshots.mkdir(exist_ok=True)
        page.screenshot(path=screenshots / f"console-{name}.png", full_page=True)

        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
