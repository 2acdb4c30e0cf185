"""`explain --html`: two texts side by side on a page."""

import re

import pytest
from support.corpus import text

A = text(1, count=60) + " <script>alert(1)</script> the old word"
B = text(1, count=60, changed=3) + " <script>alert(1)</script> the new word"


def test_a_page_shows_both_texts_their_differences_and_what_pulls_them_apart(cli, tmp_path):
    page = tmp_path / "pair.html"

    record = cli("explain", "--text", A, B, "--html", page).record

    shown = page.read_text(encoding="utf-8")
    assert "<del>old </del>" in shown
    assert "<ins>new </ins>" in shown
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert re.findall(r"<td>([\d.]+%)</td>", shown) == [f"{share:.1%}" for *_, share in record["pulls"]]
    assert record["pulls"]


def test_a_page_needs_texts(cli, tmp_path):
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    for path in paths:
        path.write_text('{"id": "x", "simhash": "00000000000000ff"}', encoding="utf-8")

    failed = cli("explain", "--simhash-field", "simhash", *paths, "--html", tmp_path / "pair.html")

    assert failed.code == 2
    assert "--html shows texts" in failed.err
    assert not (tmp_path / "pair.html").exists()


@pytest.mark.parametrize("which", ["a.txt", "b.txt"])
def test_a_page_does_not_replace_what_is_compared(cli, tmp_path, which):
    for name, words in (("a.txt", A), ("b.txt", B)):
        (tmp_path / name).write_text(words, encoding="utf-8")

    failed = cli("explain", tmp_path / "a.txt", tmp_path / "b.txt", "--html", tmp_path / which)

    assert failed.code == 2
    assert "--html" in failed.err
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == A
