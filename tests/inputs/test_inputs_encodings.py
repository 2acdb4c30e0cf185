"""Pages and texts come out right, whatever encoding they are saved in and whatever they say that it is."""

import pytest
from support.crawls import Crawl, page, read_bytes, url
from support.languages import read_passages

from simhash_hbase.inputs import Reject
from simhash_hbase.inputs.encodings import checked_codec
from simhash_hbase.inputs.html import decode_page

PASSAGES = read_passages()
TEXTS = {
    "simplified": "昨天傍晚，城东的老码头又恢复了渡轮。船长说，停航三个月以来，机器全部拆开检修，甲板也换了新的木料。",
    "traditional": PASSAGES["zh-Hant"][0],
    "cantonese": "佢哋喺度食緊嘢，啲餸好好味，唔使咁快走啦。我哋聽日再嚟過，睇吓嗰間舖頭，裏面恒記嘅粧品平咗。",
    "mixed": PASSAGES["zh-mixed"][0],
    "japanese": PASSAGES["ja"][0],
    "korean": PASSAGES["ko"][0],
    "russian": PASSAGES["ru"][0],
    "russian capitals": "ВНИМАНИЕ! ЗАВТРА УТРОМ ПАРОМ НЕ ПОЙДЁТ ИЗ-ЗА СИЛЬНОГО ВЕТРА, СЛЕДИТЕ ЗА ОБЪЯВЛЕНИЯМИ",
    "french": "Le café était très agréable, voilà l’été qui s’achève : les élèves préparent déjà la rentrée à l’école.",
    "german": "Die Bäckerei öffnet früh, und Großmutter kaufte dort Äpfel für das Frühstück am nächsten Morgen.",
    "spanish": "El año pasado la panadería abrió más temprano. ¿Cuándo volverán los niños a la montaña?",
    "polish": "Piekarnia na rogu otwiera się przed szóstą, a żółte światło świeciło długo nad łódką i ciężką bramą.",
    "greek": "Ο φούρνος στη γωνία ανοίγει πριν από τις έξι το πρωί και τα πρώτα ψωμιά τελειώνουν γρήγορα.",
    "hebrew": "המאפייה בפינת הרחוב נפתחת לפני שש בבוקר, והכיכרות הראשונות נמכרות בדרך כלל עד שבע.",
    "arabic": PASSAGES["ar"][1],
    "thai": PASSAGES["th"][0],
    "vietnamese": PASSAGES["vi"][0],
}
SAVED = [
    ("simplified", "gbk", "gb2312"),
    ("simplified", "gb18030", "gb18030"),
    ("traditional", "big5hkscs", "big5"),
    ("traditional", "gb18030", "gbk"),
    ("cantonese", "big5hkscs", "big5-hkscs"),
    ("mixed", "gbk", "gbk"),
    ("japanese", "cp932", "shift_jis"),
    ("japanese", "euc_jp", "euc-jp"),
    ("japanese", "iso2022_jp", "iso-2022-jp"),
    ("korean", "cp949", "euc-kr"),
    ("russian", "cp1251", "windows-1251"),
    ("russian", "koi8_r", "koi8-r"),
    ("russian capitals", "cp1251", "windows-1251"),
    ("french", "cp1252", "iso-8859-1"),
    ("german", "cp1252", "iso-8859-1"),
    ("spanish", "cp1252", "iso-8859-1"),
    ("polish", "cp1250", "windows-1250"),
    ("greek", "cp1253", "iso-8859-7"),
    ("hebrew", "cp1255", "windows-1255"),
    ("arabic", "cp1256", "windows-1256"),
    ("thai", "cp874", "tis-620"),
    *((name, "utf-8", "utf-8") for name in TEXTS),
]
LABELS = ["none", "right", "iso-8859-1", "windows-1251", "gb2312", "big5", "utf-8", "us-ascii"]


def marked(text, label):
    head = f'<meta charset="{label}">' if label else ""
    return f"<html><head>{head}<title>t</title></head><body><p>{text}</p></body></html>"


def body_of(folder, content):
    (record,) = read_bytes(folder, content, "a.html")
    return record.reason if isinstance(record, Reject) else record.text


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(("name", "codec", "right"), SAVED)
def test_a_page_comes_out_right_whatever_it_says_of_its_encoding(tmp_path, name, codec, right, label):
    declared = {"none": "", "right": right}.get(label, label)
    text = TEXTS[name].encode(codec, "ignore").decode(codec)

    assert body_of(tmp_path, marked(text, declared).encode(codec)) == text


@pytest.mark.parametrize("label", [label for label in LABELS if label != "none"])
def test_the_header_of_a_server_may_be_wrong_as_well(tmp_path, label):
    crawl, texts = Crawl(), []
    for name, codec, right in SAVED:
        text = TEXTS[name].encode(codec, "ignore").decode(codec)
        charset = right if label == "right" else label
        for kind, body in (("text/html", page(text).decode()), ("text/plain", text)):
            crawl.answer(url(len(texts)), body.encode(codec), [("Content-Type", f"{kind}; charset={charset}")])
            texts.append(text)

    assert [record.text for record in read_bytes(tmp_path, crawl.bytes())] == texts


@pytest.mark.parametrize("ascii_bytes", [64 << 10, 300 << 10])
@pytest.mark.parametrize("label", ["", "iso-8859-1", "utf-8"])
@pytest.mark.parametrize(("name", "codec"), [("simplified", "gbk"), ("traditional", "big5hkscs"), ("korean", "cp949")])
def test_the_text_of_a_page_may_begin_behind_much_that_is_ascii(tmp_path, name, codec, label, ascii_bytes):
    script = "<script>" + "var x = 'plain';\n" * (ascii_bytes // 17) + "</script>"
    content = marked(TEXTS[name], label).replace("<title>", script + "<title>")
    assert body_of(tmp_path, content.encode(codec)) == TEXTS[name]


@pytest.mark.parametrize("label", ["", "utf-8", "gb2312", "iso-8859-1"])
def test_one_broken_byte_does_not_change_the_encoding_of_a_page(tmp_path, label):
    text = TEXTS["simplified"]
    for codec in ("utf-8", "gbk") if label in ("", "gb2312") else ("utf-8",):
        content = marked(text, label).encode(codec)
        broken = content.replace("船".encode(codec), b"\xff", 1)
        assert body_of(tmp_path, broken) == text.replace("船", "\ufffd", 1)


@pytest.mark.parametrize(
    ("text", "label", "codec"),
    [
        ("今天", "gb2312", "gbk"), ("公告", "big5", "big5hkscs"), ("図書", "shift_jis", "cp932"),
        ("é", "iso-8859-1", "cp1252"), ("NixOS 系列", "gb2312", "gbk"), ("หน", "tis-620", "cp874"),
        ("Да", "windows-1251", "cp1251"), ("공지", "euc-kr", "cp949"), ("© 2026 × ±5 µm", "iso-8859-1", "cp1252"),
        ("Ł", "windows-1250", "cp1250"), ("駅", "utf-8", "utf-8"), ("😀", "utf-8", "utf-8"), ("ሰላም", "utf-8", "utf-8"),
    ],
)  # fmt: skip
def test_a_page_of_few_characters_is_in_the_encoding_that_it_declares(tmp_path, text, label, codec):
    assert body_of(tmp_path, marked(text, label).encode(codec)) == text


SHORT = [
    ("shift_jis euc-jp", "ｶﾀｶﾅ ﾃｽﾄ ﾗｰﾒﾝ ｱｲｳｴｵ ﾆｭｰｽ ﾄｳｷｮｳ ｺﾝﾆﾁﾊ｡ カタカナ ひらがな ニュース お知らせ 東京 会社概要 ①②③"),
    ("windows-1252 iso-8859-1", "ÁÉÍ ÀÈÌ ÄÖÜ ÁÉÍÓÚ MÉXICO ÉCOLE ÇA ÜBER ÅÄÖ ÆØÅ ÊTRE ÍNDICE é ñ café áéíóú £5 «non»"),
    ("gb2312 gbk gb18030", "今天 首页 公告 联系我们 龙 囍 赟 喆 堃 犇 鑫淼 饕餮 魑魅魍魉 朱镕基 氘氚 彳亍 鲲鹏 垚"),
    ("big5 big5-hkscs", "公告 首頁 聯絡我們 龍 囍 饕餮 魑魅魍魎 醍醐灌頂 耄耋 躊躇 彳亍 鯤鵬 臺灣 裏 恒 嘅 鑫淼 犇 堃"),
    ("euc-kr iso-2022-kr", "공지 안녕하세요 뉴스 회사 똠 펲시 쀍 갂 햏 뷁"),
    ("windows-1251 koi8-r iso-8859-5 ibm866", "Да ДА Привет ГЛАВНАЯ Новости ёж ЩЁ ЪЫЬ я"),
    ("windows-1253 iso-8859-7 windows-1255 iso-8859-8", "Αθήνα ΑΘΗΝΑ ναι ώ Ά שלום לא"),
    ("windows-1256 iso-8859-6 tis-620 windows-1258", "سلام لا ข่าว หน đ"),
    ("windows-1250 iso-8859-2 windows-1254 iso-8859-9", "Ł łódź ŻÓŁĆ ą ČESKÝ ŘÍMSA ŐŰ ığdır ŞİŞLİ ğ"),
    ("hz-gb-2312 iso-2022-jp", "今天 东京 首页"),
]  # fmt: skip
_OF_WINDOWS = {"shift_jis": "cp932", "gb2312": "gbk", "euc-kr": "cp949", "tis-620": "cp874"}
_OF_WINDOWS |= {"iso-8859-1": "cp1252", "iso-8859-9": "cp1254", "big5": "big5hkscs", "hz-gb-2312": "hz"}


@pytest.mark.parametrize(("labels", "texts"), SHORT, ids=[labels for labels, _ in SHORT])
def test_a_short_text_is_in_the_encoding_that_it_declares_where_it_decodes_in_it(labels, texts):
    for label in labels.split():
        codec = _OF_WINDOWS.get(label, label)
        for text in (text for text in texts.split() if text.encode(codec, "ignore").decode(codec) == text):
            for content in (marked(text, label), marked(f"{text} some plain words", label)):
                assert decode_page(content.encode(codec), None, "utf-8") == content


LATIN = [
    ("windows-1250", "Příliš žluťoučký kůň úpěl ďábelské ódy, a proto se včera večer nikdo z města nevydal přes řeku."),
    ("windows-1250", "Az öreg malom mellett az ősz óta űzött, hűvös őrök ülnek és a fűzfákról beszélgetnek."),
    ("windows-1250", "Čestitke za praznike: žena iz Šibenika čuva đački džemper i četiri čaše na žutoj polici."),
    ("iso-8859-2", "Árvíztűrő tükörfúrógép: az ősz óta űzött, hűvös őrök ülnek a gyűrűk és a fűzfák között."),
    ("windows-1254", "Bugün şehirde yağmur yağdı ve ırmak köprünün üstüne çıktı; İğneada'da değirmenci kapıyı açtı."),
    ("iso-8859-9", "Şişli'deki çocuklar dağın ardındaki ağaçlığa gidip gölgede şarkı söylediler, sonra eve döndüler."),
    ("windows-1257", "Šodien pilsētā visu dienu lija, un upe pacēlās virs tilta, tāpēc visi palika mājās."),
    ("iso-8859-13", "Šiandien mieste visą dieną lijo, o upė pakilo virš tilto, todėl žvejai liko namuose."),
    ("windows-1258", "Nay trơ\u0300i mưa trong tha\u0300nh phô\u0301, ngươ\u0300i dân Đông Phi đê\u0300u vê\u0300."),
]  # fmt: skip


@pytest.mark.parametrize(("label", "text"), LATIN)
@pytest.mark.parametrize("times", [1, 4])
def test_a_right_label_of_latin_letters_is_believed(label, text, times):
    codec = _OF_WINDOWS.get(label, label)
    content = marked(" ".join([text] * times), label)
    assert decode_page(content.encode(codec), None, "utf-8") == content


OF_BROWSERS = [
    ("iso-8859-8-i", "iso8859_8", "העולם"), ("logical", "iso8859_8", "אלבניה, ארמניה"), ("koi8-ru", "koi8_u", "ґрунт"),
    ("windows-949", "cp949", "세계"), ("ks_c_5601-1989", "cp949", "세계"), ("x-gbk", "gbk", "世界"),
    ("x-x-big5", "big5hkscs", "世界"), ("x-mac-cyrillic", "mac_cyrillic", "Америка"), ("x-euc-jp", "euc_jp", "世界"),
    ("iso-8859-6-i", "iso8859_6", "عالم"), ("windows-950", "cp950", "5 € 今天"),
    ("sun_eu_greek", "iso8859_7", "κόσμος"), ("unicode-1-1-utf-8", "utf-8", "é"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "codec", "text"), OF_BROWSERS)
def test_a_short_page_may_declare_each_label_that_browsers_know(label, codec, text):
    for content, header in ((marked(text, label), None), (marked(text, ""), f"text/html; charset={label}")):
        assert decode_page(content.encode(codec), header, "utf-8") == content


def test_a_declaration_behind_a_long_script_counts():
    content = marked("Şişli", "windows-1254").replace("<meta", f"<script>{'var x = 1; ' * 20_000}</script><meta")
    assert decode_page(content.encode("cp1254"), None, "utf-8") == content


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_page_in_utf_16_without_a_mark_is_read_where_its_server_or_the_user_says_so(codec):
    content = marked("昨天傍晚，老码头又恢复了渡轮", "").encode(codec)

    for header, encoding in ((f"text/html; charset={codec.replace('16-', '16')}", "utf-8"), (None, codec)):
        assert decode_page(content, header, encoding).endswith("渡轮</p></body></html>")


def test_katakana_is_not_taken_for_cyrillic_capitals_among_small_letters():
    content = marked("アルバニア, アルメニア, アンゴラ", "euc-jp")
    assert decode_page(content.encode("euc_jp"), None, "utf-8") == content


SEVEN_BITS = [("simplified", "hz"), ("korean", "iso2022_kr"), ("japanese", "iso2022_jp")]


@pytest.mark.parametrize(("name", "codec"), SEVEN_BITS)
@pytest.mark.parametrize("label", LABELS)
def test_encodings_of_seven_bits_are_known_by_their_escapes_under_every_label(tmp_path, name, codec, label):
    text = TEXTS[name].encode(codec, "ignore").decode(codec)
    assert body_of(tmp_path, marked(text, {"none": "", "right": codec}.get(label, label)).encode(codec)) == text


@pytest.mark.parametrize("text", ['(format t "~{~a~^, ~}" names)', "~{item~} and ~{foobar~}", "a ~{ b ~}", "~{{x}}~}"])
def test_what_looks_like_an_escape_is_ascii(tmp_path, text):
    assert body_of(tmp_path, marked(text, "utf-8").encode()) == text


@pytest.mark.parametrize(("name", "codec"), sorted({(name, codec) for name, codec, _ in SAVED}))
def test_sixteen_foreign_characters_show_that_a_label_is_wrong(name, codec):
    text = TEXTS[name].encode(codec, "ignore").decode(codec)
    end = next((at for at in range(len(text)) if len([c for c in text[:at] if c > "\x7f"]) > 15), len(text))
    for label in LABELS[2:]:
        content = marked(text[:end], label)
        assert decode_page(content.encode(codec), None, "utf-8") == content


@pytest.mark.parametrize(
    "content", [marked("\ufffd" * 20 + " 2026", "utf-8").encode(), marked("\ufffd文" * 9, "").encode()]
)
def test_a_page_full_of_characters_that_are_lost_is_refused(tmp_path, content):
    reason = body_of(tmp_path, content)

    assert reason.startswith("the page is garbled: ")
    assert "U+FFFD" in reason


@pytest.mark.parametrize("encoding", ["big5", "Big5", "auto"])
def test_big5_has_the_characters_that_are_used_with_it(tmp_path, encoding):
    text = TEXTS["cantonese"]
    for name, content in (("a.txt", text), ("a.jsonl", f'{{"text":"{text}"}}'), ("a.html", marked(text, "big5"))):
        (found,) = read_bytes(tmp_path, content.encode("big5hkscs"), name, encoding=encoding)
        assert found.text == text


@pytest.mark.parametrize(("name", "codec"), sorted({(name, codec) for name, codec, _ in SAVED}))
def test_auto_detects_a_file_of_text(tmp_path, name, codec):
    text = TEXTS[name].encode(codec, "ignore").decode(codec)
    (found,) = read_bytes(tmp_path, text.encode(codec), "a.txt", encoding="auto")
    assert found.text == text


@pytest.mark.parametrize(
    ("label", "codec"),
    [("x-gbk", "gbk"), ("CSGB2312", "gbk"), ("cn-big5", "big5hkscs"), ("x-cp1251", "cp1251"), ('"gb2312', "gb2312")],
)
def test_labels_of_browsers_are_known(label, codec):
    assert checked_codec(label) == codec
