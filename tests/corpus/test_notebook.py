"""Answers, decisions and figures as notebooks show them."""

from html.parser import HTMLParser

from simhash_hbase import Answer, Decision, Match, create_index
from simhash_hbase.index.answers import MOST_CHARACTERS, MOST_ROWS


class Cells(HTMLParser):
    """Collects the texts of a table's cells, and whether every tag that was opened is closed."""

    def __init__(self, html):
        super().__init__()
        self.cells, self.open = [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.cells += [""] if tag in ("th", "td") else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        assert {*self.open} <= {"table", "tr", "th", "td", "p"}
        self.cells[-1] += data


def test_a_decision_is_a_row_a_field_and_ids_are_escaped():
    shown = Cells(Decision("<script>a</script>", False, "b&c", 3, 0.87654)._repr_html_()).cells
    named = {"id": "<script>a</script>", "is_original": "no", "of": "b&c", "distance": "3", "similarity": "0.8765"}
    assert shown[:10] == [cell for pair in named.items() for cell in pair]


def test_of_many_matches_the_first_are_shown_and_long_ids_are_cut():
    matches = [Match("x" * 999, at, None, None, False, "2026-11-22T00:00:00Z") for at in range(MOST_ROWS + 5)]
    html = Answer(matches, True, False, False)._repr_html_()

    assert html.count("x…") == MOST_ROWS
    assert "x" * (MOST_CHARACTERS + 1) not in html
    assert "and 5 more" in html
    assert Cells(html).cells.count("distance") == 1


def test_an_answer_without_matches_says_so():
    assert Cells(Answer([], False, True, False)._repr_html_()).cells[:2] == ["matches", "none"]


def test_figures_of_an_index_are_shown_with_their_parts():
    with create_index("memory:", analyzer="shingle") as index:
        index.add("a", "some text of a few words")
        cells = Cells(index.stats(exact=True)._repr_html_()).cells

    assert cells[cells.index("documents") + 1] == "1"
    assert {"hottest", "segment", "rows_per_prefix"} <= set(cells)
