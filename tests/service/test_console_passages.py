"""Clues and passages in the console: answers and marks are the library's, and nothing is taken for markup."""

import re

import pytest
from playwright.sync_api import expect
from support.chromium import IN_LATIN, NARROW, WIDE
from support.console import console, fits_and_has_no_barrier, focused, settled, tab_to
from support.corpus import text
from support.serving import new_index, serving

from simhash_hbase import open_index
from simhash_hbase.report.passages import level_of

CLUE = "线路建成以后，从东郊到市中心的时间将由七十分钟缩短到二十五分钟，沿线有十九个车站。"
FOOTER = "未经本站书面授权，任何单位和个人不得转载、摘编本页的全部或者部分内容，违者将依法追究责任。"
CROWDED = "This work is licensed under the terms of a licence that a thousand and more documents have."
HOSTILE_ID = "<img src=x onerror=window.pwned=1>\"'&</li>"
HOSTILE = "<script>window.pwned=2</script> <b onclick='pwned()'>bold</b> &amp; &lt; is a line that stands in two texts"
# Characters beyond 16 bits, before and in the passages; a stretch between two passages that is folded.
ASKED = (
    f"😀𠮷 {text(90, count=9)}。{CLUE.replace('市中心', '市𠮷心')}\n{text(91)}\n😀{CLUE} {FOOTER}{HOSTILE} {CROWDED}"
)
PIECES = (
    "all => all.flatMap(block => [...block.childNodes].map("
    "node => [node.className ?? '', node.dataset?.held ?? '', node.textContent]))"
)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Return the address of an index whose lines stand in one document, a few, and more than are read."""
    address = new_index(tmp_path_factory.mktemp("passages"), passages=30)
    with open_index(address) as index:
        index.add("metro.txt", f"{text(1, count=40)} {CLUE} {text(2, count=40)}")
        list(index.add_many((f"page {at}", f"{text(10 + at, count=40)} {FOOTER}") for at in range(12)))
        list(index.add_many((f"licensed {at}", f"{text(1_000 + at, count=9)} {CROWDED}") for at in range(1_001)))
        index.add(HOSTILE_ID, f"{text(3, count=40)} {HOSTILE}")
    return address


@pytest.fixture(scope="module")
def server(url, tmp_path_factory):
    with serving(url, tmp_path_factory.mktemp("open"), "--timeout", "120", auth=False) as running:
        yield running


def find(page, clue):
    page.fill("#clue", clue)
    page.click("#find-form button.main")
    settled(page, "clue-verdict")


def find_passages(page, words):
    page.fill("#passages-text", words)
    page.click("#passages-form button.main")
    settled(page, "passages-verdict")


def shown_documents(page):
    """Return the id of each document, its share, and the marked parts of the clue."""
    return page.locator("#clue-matches > li").evaluate_all(
        "all => all.map(li => [li.querySelector('h3 .id').textContent, li.querySelector('.figure').textContent,"
        " [...li.querySelectorAll('mark')].map(mark => mark.textContent)])"
    )


def documents_of(clue, answer):
    more = "" if answer.complete else " or more"
    return [
        [match.id, f"share {match.share:.1%}{more}", [clue[span.start : span.stop] for span in match.spans]]
        for match in answer.matches
    ]


def marked(page):
    """Return the pieces of a text: class and number of a mark, and what it says; what was folded is unfolded."""
    while (folded := page.locator("#passaged button.gap")).count():
        folded.first.click()
    return page.locator("#passaged bdi.passaged").evaluate_all(PIECES)


def passages_of(url, words, *, at_least=1):
    with open_index(url) as index:
        return index.passages(words, at_least=at_least)


@pytest.mark.parametrize(
    ("clue", "said"),
    [
        (CLUE, "Found: 1 document.Complete: every document that holds the whole clue is here."),
        (f"😀𠮷{CLUE[:24]}，别的话也在这里，没有一篇文档有这么一句。", "Found: 1 document.Complete: every"),
        (CLUE[5:25], "Found: 1 document.Not complete: the clue is short, and documents that hold it may be missing."),
        (FOOTER, "Found: 12 documents.Complete: every document that holds the whole clue is here."),
        (CROWDED, "Found: 50 documents.A limit cut this answer: there may be more."),
        (f"{CLUE}{CROWDED}", "Found: 50 documents.A limit cut this answer: there may be more."),
        ("nothing like it is in the index, not at all", "Not found: no document holds a part of it.Complete: every"),
    ],
)
def test_a_clue_gets_the_documents_of_the_library(browser, server, url, clue, said):
    with console(browser, server) as page:
        find(page, clue)

        with open_index(url) as index:
            answer = index.find(clue, limit=50)
        assert shown_documents(page) == documents_of(clue, answer)
        assert page.text_content("#clue-verdict").startswith(said)


def test_a_limit_that_leaves_parts_out_does_not_make_an_answer_incomplete(browser, server, url):
    clue = f"{CROWDED} {text(94, count=20)}"
    with console(browser, server) as page:
        page.click("#find-form summary")
        page.fill("#clue-limit", "1000")
        find(page, clue)

        with open_index(url) as index:
            answer = index.find(clue, limit=1000)
        assert (answer.truncated, answer.complete) == (True, True)
        assert page.text_content("#clue-verdict").endswith(
            "Complete: every document that holds the whole clue is here."
            " A limit was reached: documents that hold a part of it may be missing."
        )


@pytest.mark.parametrize("at_least", [1, 2])
def test_passages_are_marked_as_the_library_finds_them(browser, server, url, at_least):
    with console(browser, server) as page:
        page.click("#passages-form summary")
        page.fill("#at-least", str(at_least))
        find_passages(page, ASKED)
        folds = page.locator("#passaged button.gap").count()
        pieces = marked(page)
        rows = page.locator("table.passages tbody tr").evaluate_all(
            "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
        )

        answer = passages_of(url, ASKED, at_least=at_least)
        assert {level_of(passage) for passage in answer.passages} == ({0, 2, 4} if at_least == 1 else {2, 4})
        assert folds == 1
        assert [piece for piece in pieces if piece[0]] == [
            [
                f"held-{level_of(passage)}",
                f"{passage.documents:,}{'+' * passage.at_least}",
                ASKED[passage.start : passage.stop],
            ]
            for passage in answer.passages
        ]
        assert "".join(words for *_, words in pieces) == ASKED
        assert rows == [
            [
                f"{passage.start:,}–{passage.stop:,}",
                f"{'≥ ' * passage.at_least}{passage.documents:,}",
                passage.first,
                passage.most,
            ]
            for passage in answer.passages
        ]
        said = f"{len(answer.passages)} passages in other documents: {answer.share:.1%} of the text."
        assert page.text_content("#passages-verdict").startswith(said)
        assert ("A limit cut this answer" in page.text_content("#passages-verdict")) == answer.truncated


def test_a_text_without_passages_is_said_to_have_none(browser, server):
    with console(browser, server) as page:
        find_passages(page, FOOTER)
        find_passages(page, text(92, count=40))

        assert page.text_content("#passages-verdict") == "No passage of the text stands in other documents."
        assert page.locator("#passaged *").count() == 0


def test_what_cannot_be_asked_is_said_in_a_sentence(browser, server):
    # Chromium itself prints an error for an answer with such a status.
    page, thrown = browser.new_page(), []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    page.goto(server.address)
    page.wait_for_selector("#find:not([hidden])")
    find(page, CLUE[:5])
    assert page.text_content("#clue-verdict").startswith("The text has 5 letters, numbers and marks: 12 at least")
    find(page, " ")
    assert (page.text_content("#clue-verdict"), focused(page)["id"]) == ("Type a clue, such as a sentence.", "clue")
    find_passages(page, " ")
    assert (page.text_content("#passages-verdict"), focused(page)["id"]) == ("Paste a text.", "passages-text")
    assert thrown == []
    page.close()


def test_the_forms_are_hidden_where_the_index_keeps_no_passages(browser, server, tmp_path):
    parts = "#find, #passages, nav a[href='#find'], nav a[href='#passages']"
    with console(browser, server) as page:
        assert [part.is_visible() for part in page.locator(parts).all()] == [True] * 4
    with serving(new_index(tmp_path), tmp_path, auth=False) as other, console(browser, other, counts=False) as page:
        expect(page.locator("#counted")).to_have_text("Every row was counted.")
        assert [part.is_visible() for part in page.locator(parts).all()] == [False] * 4


def test_the_forms_and_their_answers_go_with_the_key(browser, url, tmp_path):
    with serving(url, tmp_path) as guarded, console(browser, guarded, counts=False) as page:
        assert not page.is_visible("#find")
        page.fill("#key", guarded.keys["read"])
        page.press("#key", "Enter")
        page.wait_for_selector("#charts figure")
        find(page, CLUE)
        find_passages(page, ASKED)
        assert page.locator("#clue-matches li, #passaged mark[data-held]").count() > 1

        page.click("#key-button")
        assert page.locator("#clue-matches li, #passaged *").count() == 0
        assert [page.text_content(f"#{name}-verdict") for name in ("clue", "passages")] == ["", ""]
        assert not page.is_visible("#find") and not page.is_visible("#passages")  # noqa: PT018 - one fact


def test_what_looks_like_markup_is_shown_as_text(browser, server):
    with console(browser, server) as page:
        find(page, f"{HOSTILE} <script>window.pwned=4</script> and more that is in no document")
        find_passages(page, HOSTILE)

        assert [shown[0] for shown in shown_documents(page)] == [HOSTILE_ID]
        assert page.locator("table.passages td").nth(2).text_content() == HOSTILE_ID
        assert "".join(words for *_, words in marked(page)) == HOSTILE
        assert page.locator("main img, main script, main b, main [onerror], main [onclick]").count() == 0
        assert page.evaluate("window.pwned") is None


def test_both_can_be_asked_with_the_keyboard_alone(browser, server):
    with console(browser, server) as page:
        tab_to(page, id="clue")
        page.keyboard.insert_text(CLUE)
        page.keyboard.press("Control+Enter")
        settled(page, "clue-verdict")
        tab_to(page, label="Look up metro.txt")
        tab_to(page, id="passages-text")
        page.keyboard.insert_text(ASKED)
        page.keyboard.press("Control+Enter")
        settled(page, "passages-verdict")
        fold = page.locator("#passaged button.gap")
        while fold.evaluate("node => node !== document.activeElement"):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")

        assert fold.count() == 0
        assert page.evaluate("document.activeElement.className") == "passaged"
        page.click("button[aria-label='Look up metro.txt']")
        expect(page.locator("#verdict")).to_have_text(re.compile("^Not seen"))
        assert page.input_value("#id") == "metro.txt"


def ask_both(page):
    find(page, f"{CLUE[:24]}，别的话也在这里，没有一篇文档有这么一句。")
    find_passages(page, ASKED)


def test_both_are_in_chinese_where_the_browser_asks_for_it(browser, server):
    with console(browser, server, locale="zh-CN") as page:
        said = []
        for clue in (CLUE, CLUE[5:25], CROWDED, f"{CLUE[:24]}，别的话也在这里，没有一篇文档有这么一句。", text(93)):
            find(page, clue)
            said += [page.text_content("#clue-verdict"), *page.evaluate(IN_LATIN)]
        page.click("#find-form summary")
        page.fill("#clue-limit", "1000")
        find(page, f"{CROWDED} {text(94, count=20)}")
        said.append(page.text_content("#clue-verdict"))
        find_passages(page, text(92, count=40))
        said += [page.text_content("#passages-verdict"), *page.evaluate(IN_LATIN)]
        find_passages(page, ASKED)
        said = re.sub(r"\b[0-9a-f]{8}\b", "", " ".join([*said, *page.evaluate(IN_LATIN)]))

        known = {"API", "OpenAPI", "Ctrl", "Enter", "id", "simhash", "hbase", "shingle", "verified", "distance"}
        units = {"UTC", "KB", "MB", "read"}
        # Labels of buttons have ids in them.
        ids = {"metro", "txt", "licensed", "img", "src", "onerror", "window", "pwned", "li"}
        assert set(re.findall(r"[A-Za-z]{2,}", said)) - known - units - ids == set()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_both_that_fit_their_window_have_no_barrier_that_axe_finds(browser, server, screenshots, size, dark):
    with console(browser, server, size=size, dark=dark) as page:
        ask_both(page)
        screenshots.mkdir(exist_ok=True)
        name = f"passages-{'wide' if size is WIDE else 'narrow'}-{'dark' if dark else 'light'}.png"
        page.screenshot(path=screenshots / name, full_page=True)

        fits_and_has_no_barrier(page)
