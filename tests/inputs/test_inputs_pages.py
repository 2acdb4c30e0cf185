"""Web pages become their main text, in whatever encoding they come."""

import gzip
import json
from itertools import combinations
from random import Random
from time import process_time

import pytest
from lxml.etree import XPath
from lxml.html import fromstring
from support.crawls import read_bytes
from support.notices import ARTICLES, CONSENTS, ENGLISH_NOTICE, NOTICE, TERMS
from support.sites import LAYOUTS, Site

from simhash_hbase.inputs import Document, InputOptions, Page, Reject, extract, read, scan
from simhash_hbase.inputs.html import layout_tables, main_text
from simhash_hbase.inputs.options import PAGE_BYTES
from simhash_hbase.inputs.prose import is_sentence
from simhash_hbase.inputs.remainder import remainders_differ, sketch_remainder

CHINESE = "今天的天气很好，我们和孩子们去公园散步，大家都很高兴。"
TRADITIONAL = "今天的天氣很好，我們和孩子們去公園散步，大家都很高興。"
JAPANESE = "今日は天気がいいので、公園へ散歩に行きました。"
RUSSIAN = "Сегодня хорошая погода, и мы пошли гулять в парк."
KOREAN = "오늘은 날씨가 좋아서 공원에 산책을 갔습니다."
FRENCH = "Le café était très agréable, voilà l’été."


def page(text, head=""):
    return f"<html><head>{head}<title>t</title></head><body><p>{text}</p></body></html>"


def read_page(folder, content):
    (record,) = read_bytes(folder, content, "a.html")
    return record


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("utf-8", "utf-8", CHINESE),
        ("GB18030", "gb18030", CHINESE + "𠀀"),
        # Labels mean more than their names say: 镕 and the euro are not in GB 2312, nor “ in ISO 8859-1.
        ("gb2312", "gbk", CHINESE + "朱镕基"),
        ("gbk", "gb18030", CHINESE + "𠀀"),
        ("big5", "big5hkscs", TRADITIONAL + "嘅啲"),
        ("shift_jis", "cp932", JAPANESE + "①髙"),
        ("euc-jp", "euc_jp", JAPANESE),
        ("euc-kr", "cp949", KOREAN + "똠"),
        ("windows-1251", "cp1251", RUSSIAN),
        ("koi8-r", "koi8_r", RUSSIAN),
        ("iso-8859-1", "cp1252", FRENCH + " “oui”"),
    ],
)
def test_a_page_is_read_as_it_declares(tmp_path, label, codec, text):
    content = page(text, f'<meta http-equiv="Content-Type" content="text/html; charset={label}">').encode(codec)
    assert read_page(tmp_path, content).text == text


@pytest.mark.parametrize(("codec", "text"), [("utf-8", CHINESE), ("gb18030", CHINESE), ("cp1252", FRENCH)])
@pytest.mark.parametrize("head", ["", "<meta charset=utf-8>", "<meta charset=base64>", "<meta charset=klingon>"])
def test_a_page_that_declares_nothing_or_wrongly_is_detected(tmp_path, codec, text, head):
    script = "<script>" + "var x = 'plain';\n" * 10_000 + "</script>"
    assert read_page(tmp_path, page(text, head + script).encode(codec)).text == text


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        *(("gbk", codec) for codec in ("utf-8-sig", "utf-16", "utf-32")),
        *((label, "utf-8") for label in ("utf-16", "UTF-16LE", "utf-16be", "utf-32")),
    ],
)
def test_a_byte_order_mark_wins_over_a_declaration(tmp_path, label, codec):
    assert read_page(tmp_path, page(CHINESE, f"<meta charset={label}>").encode(codec)).text == CHINESE


def test_an_encoding_that_is_named_is_for_pages_that_declare_none(tmp_path):
    (tmp_path / "a.html").write_bytes(page(RUSSIAN).encode("koi8_r"))
    (tmp_path / "b.html").write_bytes(page(RUSSIAN, "<meta charset=utf-8>").encode())
    got = read([str(tmp_path)], InputOptions(encoding="koi8-r"))

    assert [record.text for record in got] == [RUSSIAN, RUSSIAN]


def test_a_few_bytes_that_are_no_characters_do_not_cost_the_page(tmp_path):
    content = page(CHINESE * 20, "<meta charset=utf-8>").encode()
    cut = content.replace("高兴".encode(), "高".encode() + b"\xe5\x85", 1)
    assert read_page(tmp_path, cut).text == (CHINESE * 20).replace("高兴", "高\ufffd", 1)


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_frame_of_a_site_is_left_out(tmp_path, lang, layout):
    words = {"zh": TRADITIONAL, "en": "It rained all day and nobody went out to see the river rise."}[lang]
    lines = [f"{words * 4} {number}" for number in range(10)]
    content = Site(layout, lang).page("\n".join(lines), "Some title").encode()
    # Also of a page whose text has come before.
    texts = [read_page(tmp_path, content).text for _ in range(5)]

    assert len(content.decode()) > 9 * len("".join(lines))
    for text in texts:
        assert [line for line in text.splitlines() if line != "Some title"] == lines


def test_title_and_address_are_metadata(tmp_path):
    content = Site(1, "zh").page(CHINESE * 5, "出 游").encode()
    (found,) = read_bytes(tmp_path, content, "a.html")
    (chosen,) = read_bytes(tmp_path, content, "a.html", metadata_fields=("url", "author"))

    assert found.metadata["title"].startswith("出 游 - ")
    assert found.metadata == {"title": found.metadata["title"], "url": "https://site1.example/出游"}
    assert chosen.metadata == {"url": "https://site1.example/出游"}


@pytest.mark.parametrize(
    ("title", "path", "metadata"),
    [
        (" Rain  again ", "", {"title": "Rain again", "url": "https://a.example/"}),
        ("汉" * 300, "x" * 300, {"title": "汉" * 199 + "…", "url": "https://a.example/" + "x" * 300}),
        ("汉" * 200, "x" * 500, {"title": "汉" * 200}),
    ],
    ids=["for those who share it", "a long title is cut", "a long address is left out"],
)
def test_the_title_and_address_that_a_page_gives_to_others_are_preferred(tmp_path, title, path, metadata):
    head = f'<meta property="og:title" content="{title}"><meta property="og:url" content="https://a.example/{path}">'
    assert read_page(tmp_path, page(CHINESE, head).encode()).metadata == metadata


NO_TAG = "the page is not HTML: its first 50 characters name no html, and it has at most one element"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the page is not HTML: it is empty"),
        (b'{"id": 1}', NO_TAG),
        (b"%PDF-1.4 and so on", NO_TAG),
        (b"&amp;" * 700_000, NO_TAG),
        (b"<p>" + b"&amp;" * 700_000, NO_TAG),
        (b"<html><body><script>x()</script></body></html>", "the text is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0" * 100, "NUL"),
        (b"<p>x</p>" * (PAGE_BYTES // 8 + 1), f"longer than {PAGE_BYTES:,} bytes"),
    ],
)
def test_what_is_no_page_is_refused_by_name(tmp_path, content, reason):
    (tmp_path / "a.html").write_bytes(content)
    (tmp_path / "b.html").write_text(page(CHINESE))
    first, second = read([str(tmp_path)])

    assert isinstance(first, Reject)
    assert reason in first.reason
    assert (first.id, first.raw) == ("a.html", content[:PAGE_BYTES])
    assert isinstance(second, Document)


def test_a_page_of_very_many_elements_or_entities_is_taken_whole(tmp_path):
    words = [f"word{number}" for number in range(21_000)]
    rows = "".join(f"<p>{word}</p>" for word in words)

    assert read_page(tmp_path, f"<body><nav>Menu</nav>{rows}</body>".encode()).text.split() == ["Menu", *words]
    assert read_page(tmp_path, b"<html><body>" + b"&amp;" * 700_000).text == "&" * 700_000


def test_nothing_is_extracted_until_it_is_asked_for(tmp_path):
    path = tmp_path / "a.html.gz"
    path.write_bytes(gzip.compress(page(CHINESE).encode()))
    (found,) = scan([str(path)], InputOptions(keep_raw=True))

    assert isinstance(found, Page)
    assert found.content == found.raw == page(CHINESE).encode()
    assert extract(found).text == CHINESE


def test_a_folder_of_mixed_files_is_read_in_order_without_hidden_ones(tmp_path):
    files = {
        "b.txt": "one\ntext", "a.html": page(CHINESE), ".hidden": "x", ".git/config": "x",
        "sub/e.json": '{"text": "一"}',
        "c.jsonl": '{"id": "c", "text": "line"}\n{"text": "line 2"}\n', "sub/d.csv": "id,text\nd,row\n",
        "sub/f.htm": page(RUSSIAN),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    got = [(record.id, record.text) for record in read([str(tmp_path)])]

    assert got == [
        ("a.html", CHINESE), ("b.txt", "one\ntext"), ("c", "line"), (f"{tmp_path}/c.jsonl:2", "line 2"), ("d", "row"),
        (f"{tmp_path}/sub/e.json:1", "一"), ("sub/f.htm", RUSSIAN),
    ]  # fmt: skip


@pytest.mark.parametrize("tag", ["font", "b", "div", "table><td", "span", "article"])
def test_nothing_behind_unclosed_tags_is_lost(tag):
    paragraphs = [f"Paragraph {number} says {number * 7919} things." for number in range(900)]
    text = main_text("<html><body>" + "".join(f"<{tag}><p>{paragraph}</p>" for paragraph in paragraphs)).text
    assert [paragraph for paragraph in paragraphs if paragraph not in text] == []


@pytest.mark.parametrize(
    "between", ["</body></html>", "</html>", "</html><!-- x -->\n<!doctype html><html><body class=x>"]
)
def test_nothing_behind_the_end_of_html_is_lost(between):
    first, second = ("".join(f"<p>{line}{n}</p>" for n in range(9)) for line in (CHINESE, JAPANESE))
    text = main_text(
        f"<html><head><title>t</title></head><body>{first}{between}{second}</body></html><p>{RUSSIAN}"
    ).text
    assert text.splitlines() == [*(f"{CHINESE}{n}" for n in range(9)), *(f"{JAPANESE}{n}" for n in range(9)), RUSSIAN]


def test_a_page_that_is_one_aside_has_its_text():
    assert main_text(f"<html><body><aside><p>{CHINESE * 3}</p></aside></body></html>").text == CHINESE * 3


@pytest.mark.parametrize("end", ["</div>", "</body>", "</html>"])
def test_an_end_tag_in_json_ld_does_not_cut_an_article(end):
    graph = json.dumps({"@type": "Article", "articleBody": f"{CHINESE}{end}{JAPANESE}"})
    page = f'<html><head><script type="application/ld+json">{graph}</script></head><body><p>。</p></body></html>'
    assert main_text(page).text == CHINESE + JAPANESE


@pytest.mark.parametrize("tag", ["font", "div", "span", "table", "section", "select"])
@pytest.mark.parametrize("depth", [2_010, 100_000])
def test_a_page_that_is_nested_without_end_is_refused(tmp_path, tag, depth):
    # Faults before it must not hide the one that matters.
    record = read_page(tmp_path, f"<html><body>{'</i>' * 300}{f'<{tag}>' * depth}words".encode())
    assert isinstance(record, Reject)
    assert record.reason == "the page is nested more than 2,000 levels deep"


@pytest.mark.parametrize("end", ["\n<p>", "<p>", ">\n<p>"])
def test_a_doctype_of_very_many_slashes_takes_linear_time(end):
    # trafilatura alone takes hours.
    assert CHINESE in main_text(f"<!DOCTYPE html {'/' * 2_000_000}{end}{CHINESE}</p>").text


@pytest.mark.parametrize("start", ["\x01<!", "<\x0c!", "<!\ufffe"])
def test_a_doctype_of_very_many_slashes_among_control_characters_takes_linear_time(start):
    assert CHINESE in main_text(f"{start}DOCTYPE html {'/' * 2_000_000}\n<p>{CHINESE}</p>").text


@pytest.mark.parametrize(("count", "refused"), [(1_000, False), (1_001, True), (300_000, True)])
def test_a_page_with_a_tag_of_too_many_attributes_is_refused(tmp_path, count, refused):
    # In quotes, or a comment, a bracket ends no tag; the parser itself would take minutes for the longest of these.
    attributes = " ".join(f"a{number}='>'" for number in range(count))
    record = read_page(tmp_path, f"<html><body><!--><p>{CHINESE}</p><div {attributes}><p>{CHINESE}</p>".encode())

    assert isinstance(record, Reject) == refused
    assert not refused or record.reason == "a tag of the page has more than 1,000 attributes"


@pytest.mark.slow
@pytest.mark.parametrize("start", [b"<", b"<script ", b"<style ", b"<style></script><"])
def test_the_encoding_of_a_page_with_unended_markup_is_found_in_linear_time(tmp_path, start):
    # With the square of their number this takes hours.
    content = CHINESE.encode("gb18030") * 20 + start * (2_000_000 // len(start))
    assert isinstance(read_page(tmp_path, content), Document | Reject)


def test_the_tables_to_be_opened_are_those_of_the_definition():
    definition = XPath("//table[.//td//p or .//td//h1 or .//td//h2 or .//td//table]")
    tags = ["table", "/table", "tr", "/tr", "td", "/td", "th", "/th", "p", "h1", "div", "/div"]
    chance = Random(7)
    for _ in range(500):
        body = "".join(f"<{chance.choice(tags)}>x" for _ in range(40))
        tree = fromstring(f"<html><body>{body}</body></html>")

        found = list(layout_tables(tree))

        assert len(found) == len(set(found))
        assert set(found) == set(definition(tree))


@pytest.mark.parametrize("notice", [NOTICE, ENGLISH_NOTICE], ids=["zh", "en"])
@pytest.mark.parametrize(
    "frame", ["<div id=cookie-consent>{}</div>", "<div class=banner>{}</div>", "<section>{}</section>"]
)
@pytest.mark.parametrize(
    "around",
    ["<aside>{}</aside>", "<div class=comments>{}</div>", "<div id=sidebar>{}</div>", "<div class=related>{}</div>"],
)
def test_an_article_beside_a_cookie_notice_is_the_main_text(notice, frame, around):
    for article in ARTICLES:
        story = around.format("".join(f"<p>{line}</p>" for line in article))
        for body in (frame.format(notice) + story, story + frame.format(notice)):
            text = main_text(f"<html><head><title>t</title></head><body>{body}</body></html>").text
            assert [line for line in article if line not in text] == []


@pytest.mark.parametrize(
    "graph", ['{{"@type":"NewsArticle","articleBody":{}}}', '{{"@graph":[{{"a":1}},{{"articleBody":{}}}]}}']
)
@pytest.mark.parametrize("shown", [NOTICE, ENGLISH_NOTICE, "<p>Please enable scripts to read this page.</p>", ""])
def test_an_article_in_json_ld_is_the_main_text_where_none_is_shown(graph, shown):
    for article in ARTICLES:
        script = graph.format(json.dumps(" ".join(article)))
        head = f'<script type="application/ld+json">{script}</script><script type="application/ld+json">{{no</script>'
        text = main_text(f"<html><head><title>t</title>{head}</head><body><div>{shown}</div></body></html>").text
        assert text == " ".join(article)


@pytest.mark.parametrize("notice", CONSENTS, ids=["de", "fr", "es", "ja", "ru"])
@pytest.mark.parametrize("around", ["<aside>{}</aside>", "<div class=comments>{}</div>"])
def test_an_article_beside_a_notice_of_consent_is_the_main_text(notice, around):
    for article in ARTICLES:
        story = around.format("".join(f"<p>{line}</p>" for line in article))
        for frame in ("<div class=banner>{}</div>", "<section>{}</section>"):
            text = main_text(f"<html><body>{frame.format(notice * 2)}{story}</body></html>").text
            assert [line for line in article if line not in text] == []


@pytest.mark.parametrize("notice", [ENGLISH_NOTICE, *CONSENTS])
def test_an_article_about_consent_stays_the_main_text_of_its_page(notice):
    article = f"<article><h1>News</h1>{notice * 2}</article>"
    text = main_text(f"<html><body>{article}<div class=comments><p>Thanks for this!</p></div></body></html>").text
    assert "Thanks" not in text


@pytest.mark.parametrize(
    "graph",
    [
        '{{"@type":["NewsArticle"],"articleBody":{}}}',
        '{{"@type":"https://schema.org/NewsArticle","https://schema.org/articleBody":{}}}',
        '{{"@type":"schema:BlogPosting","schema:articleBody":[{}]}}',
        '{{"@graph":[{{"mainEntity":{{"@type":"BlogPosting","articleBody":{{"@value":{}}}}}}}]}}',
    ],
)
@pytest.mark.parametrize("kind", ["application/ld+json", "application/ld+json; charset=utf-8", "Application/LD+JSON"])
def test_json_ld_names_an_article_in_several_ways(graph, kind):
    (article, *_) = ARTICLES
    script = f'<script type="{kind}">{graph.format(json.dumps(" ".join(article)))}</script>'
    text = main_text(
        f"<html><head>{script}</head><body><p>Please enable scripts to read this page.</p></body></html>"
    ).text
    assert text == " ".join(article)


@pytest.mark.parametrize(
    "graph",
    [
        '{{"@type":"Review","reviewBody":{}}}',
        '{{"@type":"SocialMediaPosting","text":{}}}',
        '{{"@type":["https://schema.org/DiscussionForumPosting"],"schema:text":{}}}',
    ],
)
@pytest.mark.parametrize("shown", [NOTICE, ENGLISH_NOTICE])
def test_reviews_and_postings_in_json_ld_are_the_main_text_where_none_is_shown(graph, shown):
    for article in ARTICLES:
        script = f'<script type="application/ld+json">{graph.format(json.dumps(" ".join(article)))}</script>'
        assert main_text(f"<html><head>{script}</head><body>{shown}</body></html>").text == " ".join(article)


@pytest.mark.parametrize(
    "part",
    [
        {"@type": "Product", "review": [{"@type": "Review", "reviewBody": JAPANESE * 9}]},
        {"@type": "SocialMediaPosting", "sharedContent": {"@type": "SocialMediaPosting", "text": JAPANESE * 9}},
    ],
)
def test_a_review_or_a_posting_in_json_ld_is_not_the_main_text_of_a_short_page(part):
    script = f'<script type="application/ld+json">{json.dumps(part)}</script>'
    described = f"<h1>{CHINESE[:6]}</h1><p>{CHINESE}</p>"
    text = main_text(f"<html><head>{script}</head><body><main>{described}</main></body></html>").text
    assert CHINESE in text
    assert JAPANESE not in text


def test_the_answers_of_a_list_of_questions_in_json_ld_are_not_its_main_text():
    answers = [{"@type": "Question", "acceptedAnswer": {"@type": "Answer", "text": JAPANESE * 30}}]
    script = f'<script type="application/ld+json">{json.dumps({"mainEntity": answers})}</script>'
    article = [f"{number}：{CHINESE}" for number in range(8)]
    story = "".join(f"<p>{line}</p>" for line in article)
    text = main_text(f"<html><head>{script}</head><body><article>{story}</article></body></html>").text
    assert text.splitlines() == article


@pytest.mark.parametrize("notice", [NOTICE, ENGLISH_NOTICE, *CONSENTS])
def test_an_article_for_browsers_without_scripts_is_the_main_text_beside_a_notice(notice):
    for article in ARTICLES:
        story = "".join(f"<p>{line}</p>" for line in article)
        text = main_text(f"<html><body><div>{notice}</div><noscript>{story}</noscript></body></html>").text
        assert [line for line in article if line not in text] == []


def test_an_article_that_is_shown_goes_before_the_one_in_json_ld():
    article = "".join(f"<p>{CHINESE}{number}</p>" for number in range(30))
    script = f'<script type="application/ld+json">{json.dumps({"articleBody": JAPANESE * 20})}</script>'
    text = main_text(f"<html><head>{script}</head><body><article>{article}</article></body></html>").text
    assert text.splitlines() == [f"{CHINESE}{number}" for number in range(30)]


def test_comments_beside_an_article_are_left_out_though_they_are_longer():
    article = "".join(f"<p>{CHINESE}{number}</p>" for number in range(30))
    comments = "".join(f"<p>{TRADITIONAL}{number}</p>" for number in range(200))
    body = f"<article>{article}</article><div class=comments>{comments}</div><footer>{ENGLISH_NOTICE}</footer>"
    assert main_text(f"<html><body>{body}</body></html>").text.splitlines() == [f"{CHINESE}{n}" for n in range(30)]


def test_a_small_part_of_a_page_is_not_its_main_text():
    story = "".join(f"<p>{CHINESE}{number}</p>" for number in range(30))
    body = f"<div class=content><p>{TRADITIONAL * 3}</p></div><aside>{story}</aside>"
    text = main_text(f"<html><body>{body}</body></html>").text
    assert [number for number in range(30) if f"{CHINESE}{number}" not in text] == []


def test_an_article_about_privacy_and_advertisements_is_no_notice_of_consent():
    article = [
        "The network said on Tuesday that it will let people in Europe pay for a version without ads.",
        "The company does not accept that its earlier practice was unlawful, and points to decisions in Ireland.",
        "Groups that campaign for privacy called the offer a tax on a right, and announced complaints in Vienna.",
        "Other firms watch the case closely. Newspapers have sold such subscriptions for years, and courts let them.",
    ]
    teasers = [
        "A storm closed the harbour of the island on Sunday, and ferries stayed in port until the next evening.",
        "The national team lost its third match in a row, and the coach has offered to leave the whole squad.",
    ]
    pages = [
        "<html><body><article><h1>A network without ads</h1>"
        + "".join(f"<p>{paragraph}</p>" for paragraph in article)
        + "</article><aside class='related'><div class='teaser'><h3><a href='/x'>More</a></h3>"
        f"<p>{teaser}</p></div></aside></body></html>"
        for teaser in teasers
    ]

    texts = [main_text(page).text for page in pages]

    assert texts[0] == texts[1]
    assert "campaign for privacy" in texts[0]


def beside_a_notice(article, frame="<aside>{}</aside>"):
    story = frame.format("".join(f"<p>{line}</p>" for line in article))
    return f"<html><body><article>{TERMS}</article>{story}</body></html>"


def remainder_of(article, **how):
    return main_text(beside_a_notice([f"{line} {n}" for n in range(12) for line in article], **how)).remainder


def test_the_remainder_of_a_page_tells_pages_of_one_main_text_apart():
    remainders = [remainder_of(article) for article in ARTICLES]
    in_comments = [remainder_of(article, frame="<div class=comments>{}</div>") for article in ARTICLES]
    assert in_comments == remainders
    assert [remainders_differ(a, b) for a, b in combinations(remainders, 2)] == [True] * 3


OTHER_SCRIPTS = {
    "Hindi": "नाव {} आज तीस साल बाद फिर से चल रही है और लोग बच्चों के साथ आए।",
    "Urdu": "کشتی {} آج تیس سال بعد پھر چل رہی ہے اور لوگ بچوں کے ساتھ آئے۔",
    "Arabic": "هل عادت العبارة {} اليوم بعد ثلاثين عاما وجاء الناس مع أطفالهم؟",
    "Thai": "วันนี้เรือข้ามฟาก {} กลับมาวิ่งอีกครั้งหลังจากหยุดไปสามสิบปี ผู้คนพาเด็กๆ มานั่งเรือ",
    "Lao": "ມື້ນີ້ເຮືອຂ້າມຟາກ {} ກັບມາແລ່ນອີກຄັ້ງຫຼັງຈາກຢຸດໄປສາມສິບປີ ຜູ້ຄົນພາເດັກນ້ອຍມານັ່ງເຮືອ",
    "Burmese": "ယနေ့ ကူးတို့သင်္ဘော {} နှစ်သုံးဆယ်အကြာတွင် ပြန်လည်ပြေးဆွဲသည်။",
    "Khmer": "ថ្ងៃនេះ សាឡាង {} បានត្រឡប់មកវិញបន្ទាប់ពីសាមសិបឆ្នាំ។",
    "Tibetan": "དེ་རིང་གྲུ་ {} ལོ་སུམ་ཅུའི་རྗེས་སུ་ཡང་བསྐྱར་འགྲོ་བཞིན་འདུག།",
    "Armenian": "Այսօր լաստանավը {} նորից աշխատում է երեսուն տարի անց։",
    "Amharic": "ዛሬ ጀልባው {} ከሠላሳ ዓመታት በኋላ እንደገና መሥራት ጀመረ።",
}


@pytest.mark.parametrize("line", OTHER_SCRIPTS.values(), ids=OTHER_SCRIPTS)
@pytest.mark.parametrize("place", ["<div class=comments>{}</div>", "<nav>{}</nav>", "JSON-LD"])
def test_the_remainder_tells_pages_apart_in_every_script(line, place):
    notice = "".join(f"<p>{line.format('')}{number}</p>" for number in range(3))
    remainders = []
    for page in "ab":
        lines = [line.format(f"{page}{number}") for number in range(9)]
        if place == "JSON-LD":
            graph = json.dumps({"@type": "Review", "reviewBody": "".join(lines)})
            other = f'<script type="application/ld+json">{graph}</script>'
        else:
            other = place.format("".join(f"<p>{each}</p>" for each in lines))
        main = main_text(f"<html><body><article>{notice * 4}</article>{other}</body></html>")
        assert "a1" not in main.text
        remainders.append(main.remainder)
    assert remainders_differ(*remainders)


def test_rows_of_thai_letters_that_are_too_short_take_no_longer_than_shorter_ones():
    # Tried again at each letter, the longer rows take eight times as long.
    def least_s(letters):
        text, seconds = ("ก" * letters + "x") * (400_000 // (letters + 1)), []
        for _ in range(5):
            before = process_time()
            assert not is_sentence(text)
            seconds.append(process_time() - before)
        return min(seconds)

    assert least_s(39) < 4 * least_s(3)


@pytest.mark.parametrize("blank", ["", " "])
def test_forty_letters_of_thai_are_a_sentence_wherever_they_stand(blank):
    row = blank.join("ก" * 40)
    assert all(is_sentence(f"{before}{row}{after}") for before in ("", "ก  ", "x", "กก x ") for after in ("", "x", " "))
    assert not is_sentence(f"{row[1:]}x{row[1:]}")


def test_an_article_in_json_ld_that_is_not_the_main_text_is_in_the_remainder():
    body = "".join(f"第{number}天，{line}" for number in range(12) for line in ARTICLES[0])
    script = f'<script type="application/ld+json">{json.dumps({"articleBody": body})}</script>'
    assert main_text(f"<html><head>{script}</head><body><article>{TERMS}</article></body></html>").remainder


@pytest.mark.parametrize("around", ["<footer>{}</footer>", "<div>{}</div>"])
def test_a_page_of_little_beside_its_main_text_has_no_remainder(around):
    footer = around.format("<p>All rights reserved by the publisher of this page.</p>")
    assert main_text(f"<html><body><article>{TERMS}</article>{footer}</body></html>").remainder == b""


def test_remainders_that_share_half_of_their_sentences_do_not_differ():
    sentences = [f"Sentence {n}." for n in range(8)]
    assert not remainders_differ(sketch_remainder(sentences), sketch_remainder([*sentences, *sentences[:2], "A."]))
    assert remainders_differ(sketch_remainder(sentences), sketch_remainder(["A.", "B."]))
