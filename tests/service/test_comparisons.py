"""Two texts compared over HTTP: as the library compares them."""

import json

from support.corpus import text
from support.serving import serving

from simhash_hbase import open_index
from simhash_hbase.index.jsonforms import plain
from simhash_hbase.report.differences import word_differences
from simhash_hbase.report.explain import ComparedDocument, compare
from simhash_hbase.service.schemas import LONGEST_COMPARED

PAIRS = [
    (text(1), text(1, changed=2)),
    ("如果雨停了，我们就出发。", "倘若雨停了，我们就马上出发。"),
    ("same", "same"),
    ("nothing alike", "完全不同的两段文字"),
    ("<b>& 'quotes' \"\u2028\t𠮷", "<i>& 'quotes' \"\u2028 𠮷👍🏽"),
]


def test_a_comparison_is_the_library_s(client, url):
    for a, b in PAIRS:
        answer = client.post("/v1/comparisons", json={"a": a, "b": b}).json()

        with open_index(url) as index:
            sides = [ComparedDocument.of_text(name, words, index.analysis) for name, words in (("a", a), ("b", b))]
            expected = compare(sides[0], sides[1], index.profile)
        pieces = [piece._asdict() for piece in word_differences(a, b)]
        widths = [13, 13, 13, 13, 12]
        assert answer == json.loads(json.dumps(plain({**expected, "pieces": pieces, "block_widths": widths})))
        assert "".join(piece["left"] for piece in answer["pieces"]) == a
        assert "".join(piece["right"] for piece in answer["pieces"]) == b


def test_texts_as_long_as_may_be_are_compared(url, tmp_path):
    long = (text(1) * 100)[:LONGEST_COMPARED]

    with serving(url, tmp_path, "--timeout", "900") as server, server.client() as client:
        answer = client.post("/v1/comparisons", json={"a": long, "b": long.replace("a", "b", 5)}, timeout=900)
        longer = client.post("/v1/comparisons", json={"a": "x", "b": f"{long}y"})

    assert answer.status_code == 200
    assert (longer.status_code, "200001 characters" in longer.json()["detail"]) == (422, True)
