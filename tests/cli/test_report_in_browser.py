"""The report in a real browser: its figures, marks, search, links and keys; pictures of it to look at."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from demo import documents
from playwright.sync_api import expect
from support.chromium import IN_LATIN, NARROW, WIDE, open_page
from support.corpus import near_copies, write_jsonl
from support.picture import take
from support.results import run

from simhash_hbase.report.differences import word_differences

# Opens every pair of the page and every passage that waits behind a button.
OPEN_ALL = """
async () => {
  const more = document.getElementById("pair-more");
  while (!more.hidden) more.click();
  for (const entry of document.querySelectorAll("#pair-list > details")) {
    if (entry.open) continue;
    const toggled = new Promise((done) => entry.addEventListener("toggle", done, { once: true }));
    entry.open = true;
    await toggled;
  }
  document.querySelectorAll("button.gap").forEach((button) => button.click());
  const all = (entry, selector) => [...entry.querySelectorAll(selector)].map((element) => element.textContent);
  return [...document.querySelectorAll("#pair-list > details")].map((entry) => ({
    ids: all(entry, ".head bdi"),
    left: all(entry, ".row > :first-child").join("\\n"),
    right: all(entry, ".row > :last-child").join("\\n"),
    del: all(entry, "del"),
    ins: all(entry, "ins"),
    gaps: all(entry, "p.gap"),
  }));
}
"""

# Every kind of mark is in twelve opened pairs; axe would go through all of them for half a minute.
LEAVE_TWELVE = "document.querySelectorAll('#pair-list > details:nth-child(n + 13)').forEach((pair) => pair.remove())"


def squeezed(text):
    return "".join(text.split())


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    """Return the folder of a run over the quickstart's corpus, with two records that are refused."""
    folder = tmp_path_factory.mktemp("quickstart")
    records = [{"id": text.id, "text": text.text} for text in documents()]
    write_jsonl(folder / "corpus.jsonl", [*records, {"id": "blank", "text": " "}, {"id": "none"}])
    return decided(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return the folder of a small run, to press keys in."""
    folder = tmp_path_factory.mktemp("plain")
    write_jsonl(folder / "corpus.jsonl", near_copies(20, 3))
    return decided(folder, "--analyzer", "shingle", "--agree", "site")


def decided(folder, *more):
    url, report = f"file:{folder / 'index'}", folder / "report.html"
    done = run("dedup", url, folder / "corpus.jsonl", "--create", "--report", report, *more)
    assert done.code in {0, 3}, done.err
    (folder / "decisions.jsonl").write_bytes(done.out)
    return folder


@pytest.fixture
def page(browser, plain):
    """Return the report of the small run in a browser."""
    with open_page(browser) as opened:
        show(opened, plain)
        yield opened


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def show(page, folder, anchor=""):
    page.goto(f"file://{folder / 'report.html'}{anchor}")


def test_the_marks_are_the_words_that_differ(browser, quickstart):
    texts = {record["id"]: record.get("text") for record in lines_of(quickstart / "corpus.jsonl")}
    duplicates = {line["id"]: line["of"] for line in lines_of(quickstart / "decisions.jsonl") if line["of"]}
    with open_page(browser) as page:
        show(page, quickstart)
        pairs = page.evaluate(OPEN_ALL)

    assert {pair["ids"][1]: pair["ids"][0] for pair in pairs} == duplicates
    whole = [pair for pair in pairs if not any("left out" in gap for gap in pair["gaps"])]
    assert len(whole) > len(pairs) / 3
    for pair in whole:
        kept, copy = (texts[name] for name in pair["ids"])
        assert (squeezed(pair["left"]), squeezed(pair["right"])) == (squeezed(kept), squeezed(copy))
        changes = [piece for piece in word_differences(kept, copy) if piece.kind != "same"]
        assert list(map(squeezed, pair["del"])) == [squeezed(piece.left) for piece in changes if piece.left]
        assert list(map(squeezed, pair["ins"])) == [squeezed(piece.right) for piece in changes if piece.right]


@pytest.mark.parametrize(
    ("name", "size", "dark"), [("wide", WIDE, False), ("narrow", NARROW, False), ("dark", WIDE, True)]
)
def test_the_page_fits(browser, quickstart, screenshots, name, size, dark):
    screenshots.mkdir(exist_ok=True)
    with open_page(browser, size=size, dark=dark) as page:
        show(page, quickstart)
        for anchor in ("figures", "clusters", "pairs"):
            page.evaluate("(anchor) => document.getElementById(anchor).scrollIntoView()", anchor)
            page.screenshot(path=screenshots / f"report-{name}-{anchor}.png")

        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        left, right = (page.locator(f".row.differs > :{at}-child").first.bounding_box() for at in ("first", "last"))
        assert (left["y"] == right["y"]) == (name != "narrow")
        assert left["width"] > 0.4 * size["width"]
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(("name", "size", "dark"), [("wide", WIDE, False), ("narrow", NARROW, True)])
def test_the_page_is_in_chinese_where_the_browser_asks_for_it(browser, quickstart, screenshots, name, size, dark):
    screenshots.mkdir(exist_ok=True)
    with open_page(browser, size=size, dark=dark, locale="zh-CN") as page:
        show(page, quickstart)
        page.evaluate(OPEN_ALL)
        said = " ".join(page.evaluate(IN_LATIN))
        page.screenshot(path=screenshots / f"report-chinese-{name}.png")

        known = {"Jaccard", "UTC", "KB", "corpus", "jsonl", "id", "file", "rejects", "FILE", "simhash", "hbase"}
        profile = {"verified", "learned"}
        assert {word for word in re.findall(r"[A-Za-z]{2,}", said.replace(str(quickstart), ""))} <= known | profile | {
            "index"
        }
        assert page.evaluate("document.documentElement.lang") == "zh-Hans"
        assert re.search(r"占 8\.\d%，分成 195 组", page.text_content("#duplicates"))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.evaluate(LEAVE_TWELVE)
        assert page.locator("#pair-list > details[open] :is(del, ins)").count() > 12
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_the_field_about_which_near_copies_agree_is_named_in_chinese(browser, plain):
    with open_page(browser, size=WIDE, locale="zh-CN") as page:
        show(page, plain)
        assert "方案 5x2，字段 site 须一致）；近重复的几篇里留下" in page.text_content("body")


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_of_passages_in_chinese_is_accessible(browser, tmp_path, dark):
    line = "本页的这一行字在许多文档里都有，一个字也没有改动过，读者可以自己去比较。"
    texts = [{"id": str(number), "text": f"第{number}篇的开头。" * 9 + line} for number in range(12)]
    write_jsonl(tmp_path / "texts.jsonl", [*texts, {"id": "blank", "text": " "}])
    index = f"file:{tmp_path / 'p.index'}"
    run("create", index, "--analyzer", "shingle", "--passages", 20)
    run("add", index, tmp_path / "texts.jsonl")
    asked = ("passages", index, tmp_path / "texts.jsonl", "--report", tmp_path / "report.html")
    run(*asked)
    with open_page(browser, size=NARROW if dark else WIDE, dark=dark, locale="zh-CN") as page:
        show(page, tmp_path)
        said = " ".join(page.evaluate(IN_LATIN)).replace(str(tmp_path), "")
        assert set(re.findall(r"[A-Za-z]{2,}", said)) <= {"UTC", "simhash", "hbase", "file", "texts", "jsonl", "index"}
        assert page.locator("mark[data-held='11']").count() == 12
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_the_pages_of_explain_and_stats_are_in_chinese(browser, plain, tmp_path, size, dark):
    # Words and an id that the page itself has, too, are not translated.
    a, b = tmp_path / "documents", tmp_path / "duplicates"
    line = "本页的这一行字一个字也没有改动过。\n" * 900
    a.write_text("duplicates and rows " * 99 + f"\n{line}documents")
    b.write_text("duplicates\n" + line + "documents prefixes " * 99)
    pages = {name: tmp_path / f"{name}.html" for name in ("explain", "stats")}
    run("explain", a, b, "--html", pages["explain"])
    index = f"file:{plain / 'index'}"
    pages["stats"].write_bytes(run("stats", index, "--format", "html").out)
    with open_page(browser, size=size, dark=dark, locale="zh-CN") as page:
        for name, title in (("explain", "两篇文档对照"), ("stats", "索引统计")):
            page.goto(f"file://{pages[name]}")
            said = " ".join(page.evaluate(IN_LATIN)).replace(index, "")
            known = {"simhash", "hbase", "UTC", "Region", "shingle", "verified"}
            assert set(re.findall(r"[A-Za-z]{2,}", said)) <= known
            assert (page.title(), page.evaluate("document.documentElement.lang")) == (title, "zh-Hans")
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            if name == "explain":
                assert set(page.locator(".head bdi").all_inner_texts()) == {str(a), str(b)}
                assert {"duplicates", "prefixes"} <= set(page.locator("#pulls td:first-child").all_inner_texts())


def test_a_picture_for_a_manual_is_taken(browser, quickstart, screenshots):
    screenshots.mkdir(exist_ok=True)

    take(browser, quickstart / "report.html", screenshots / "report.png")

    assert (screenshots / "report.png").read_bytes().startswith(b"\x89PNG")


def test_links_lead_from_a_cluster_to_its_pair_and_back(page):
    page.click("#cluster-1 summary")
    page.click("#cluster-1 a >> nth=1")

    opened = page.locator("#pair-list > details[open]:has(summary:focus)")
    expect(opened.locator(".head bdi")).to_have_text(["group 1 copy 0", "group 1 copy 2"])
    assert opened.evaluate("(entry) => entry.contains(document.activeElement)")
    assert 0 <= opened.bounding_box()["y"] < WIDE["height"]

    opened.locator("a").click()
    assert page.url.endswith("#cluster-1")
    assert page.locator("#cluster-1").evaluate("(entry) => entry.contains(document.activeElement)")


def test_a_link_leads_to_a_pair_that_the_search_had_hidden(page):
    page.click("#cluster-1 summary")
    href = page.locator("#cluster-1 a").first.get_attribute("href")
    page.fill("#search", "group 19")
    expect(page.locator("#pair-list > details")).to_have_count(2)

    page.evaluate("(href) => { location.hash = href; }", href)

    page.wait_for_selector(f"{href}[open] .sides")
    assert page.input_value("#search") == ""


def test_an_address_with_a_pair_opens_it(browser, plain):
    with open_page(browser) as page:
        show(page, plain, "#pair-39")

        assert page.locator("#pair-39[open] .sides").is_visible()


def test_the_search_finds_ids_and_words_of_texts(page, plain):
    records = lines_of(plain / "corpus.jsonl")
    word = max(records[13]["text"].split(), key=len)
    page.fill("#search", "copy GROUP 14")
    expect(page.locator("#cluster-list > details")).to_have_count(1)

    assert page.locator("#cluster-list summary").inner_text().startswith("group 14 copy 0")
    assert page.inner_text("#status") == "1 of 20 clusters, 2 of 40 pairs in this page match"

    page.fill("#search", word.upper())
    expect(page.locator("#pair-list > details")).to_have_count(pairs_with(records, word))

    page.fill("#search", f"{word} nowhere-else")
    expect(page.locator("#pair-list > details")).to_have_count(0)
    assert page.locator("#pair-more").is_hidden()


def pairs_with(records, word):
    """Count the pairs of which one text has a word."""
    groups = [[word in record["text"] for record in records[at : at + 3]] for at in range(0, len(records), 3)]
    return sum(first or copy for first, *copies in groups for copy in copies)


def test_pairs_can_be_filtered_or_ordered(page, plain):
    duplicates = [line for line in lines_of(plain / "decisions.jsonl") if line["of"]]
    most = max(line["distance"] for line in duplicates)
    page.select_option("#distance", str(most))
    wanted = sum(line["distance"] == most for line in duplicates)
    assert f"{wanted} of 40 pairs" in page.inner_text("#status")

    page.select_option("#distance", "")
    page.select_option("#order", "most")
    similar = [float(text.split()[1]) for text in page.locator("#pair-list .figure:nth-child(2)").all_inner_texts()]
    assert similar == sorted(similar, reverse=True)
    assert similar[0] == round(max(line["similarity"] for line in duplicates), 3)


def test_everything_can_be_done_with_the_keyboard(page):
    def focused(expression):
        return page.evaluate(f"document.activeElement.{expression}")

    page.keyboard.press("Tab")
    assert focused("textContent") == "Skip to the search box"
    assert page.locator(".skip").bounding_box()["x"] > 0
    page.keyboard.press("Enter")
    assert focused("id") == "search"
    page.keyboard.type("group 17")
    expect(page.locator("#pair-list > details")).to_have_count(2)

    for _ in range(3):
        page.keyboard.press("Tab")
    assert focused("parentElement.id") == "cluster-17"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector("#cluster-17 a")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#pair-list > details[open] > summary:focus")).to_have_count(1)
    assert focused("parentElement.id").startswith("pair-")

    page.keyboard.press("/")
    assert focused("id") == "search"
    page.keyboard.type("/")
    assert page.input_value("#search").endswith("/")


def test_more_entries_take_the_focus_when_asked_for(page):
    before = page.locator("#pair-list > details").count()
    assert before < 40
    page.focus("#pair-more")
    page.keyboard.press("Enter")

    assert page.locator("#pair-list > details").count() > before
    assert page.evaluate(
        "(at) => document.getElementById('pair-list').children[at].contains(document.activeElement)", before
    )
    while page.locator("#pair-more").is_visible():
        page.click("#pair-more")
    assert page.locator("#pair-list > details").count() == 40


def test_hostile_ids_and_texts_run_nothing(browser, tmp_path):
    evil = '</script><script>document.title = "run"</script><img src=x onerror="document.title = 1">\u202e'
    records = [{"id": f"{evil}{at}", "text": evil + record["text"]} for at, record in enumerate(near_copies(1, 2))]
    source = write_jsonl(tmp_path / "corpus.jsonl", records)
    with open_page(browser) as page:
        show(page, decided(tmp_path, "--analyzer", "shingle"))

        assert page.title() == f"Near-duplicates of {source}"
        assert page.locator("img").count() == 0
        assert page.locator("#pair-list summary bdi").all_inner_texts() == [evil + "0", evil + "1"]
        assert evil in page.locator(".row").first.text_content()


def test_without_javascript_the_figures_are_there_still(browser, plain):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    show(page, plain)

    assert page.inner_text("#duplicates .number").startswith("40")
    assert page.locator("#distances svg").is_visible()
    assert page.get_by_text("need JavaScript").is_visible()
    context.close()


def test_only_ids_that_are_addresses_are_links(browser, tmp_path):
    ids = ["https://example.org/a", "javascript:alert(1)", "http://example.org/b?c=d", "not https://example.org/"]
    records = [{**document, "id": name} for name, document in zip(ids, near_copies(1, 4), strict=True)]
    write_jsonl(tmp_path / "corpus.jsonl", records)
    with open_page(browser) as page:
        show(page, decided(tmp_path, "--analyzer", "shingle"))
        page.locator("#cluster-list summary").first.click()

        links = page.locator("a[target=_blank]").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
        assert set(links) == {"https://example.org/a", "http://example.org/b?c=d"}
        # A link inside of a summary would take its clicks.
        assert page.locator("summary a").count() == 0
