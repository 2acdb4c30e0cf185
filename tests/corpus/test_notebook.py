"""Answers, decisions and figures as notebooks show them."""

from xml.etree.ElementTree import fromstring

from simhash_hbase import Answer, Decision, Match, create_index
from simhash_hbase.index.answers import MOST_CHARACTERS, MOST_ROWS


def cells(html):
    """Return the texts of a table's cells; every tag is closed."""
    tree = fromstring(f"<div>{html}</div>")
    assert {each.tag for each in tree.iter()} <= {"div", "table", "tr", "th", "td", "p"}
    return [each.text or "" for each in tree.iter() if each.tag in ("th", "td")]


def test_a_decision_is_a_table_of_its_fields():
    shown = cells(Decision("<script>a</script>", False, "b&c", 3, 0.87654)._repr_html_())
    named = {"id": "<script>a</script>", "is_original": "no", "of": "b&c", "distance": "3", "similarity": "0.8765"}
    assert shown[:10] == [cell for pair in named.items() for cell in pair]


def test_of_many_matches_the_first_are_shown():
    matches = [Match("x" * 999, at, None, None, False, "2026-11-22T00:00:00Z") for at in range(MOST_ROWS + 5)]
    html = Answer(matches, True, False, False)._repr_html_()

    assert html.count("x…") == MOST_ROWS
    assert "x" * (MOST_CHARACTERS + 1) not in html
    assert "and 5 more" in html
    assert cells(html).count("distance") == 1


def test_an_answer_without_matches_says_so():
    assert cells(Answer([], False, True, False)._repr_html_())[:2] == ["matches", "none"]


def test_figures_of_an_index_are_shown_with_their_parts():
    with create_index("memory:", analyzer="shingle") as index:
        index.add("a", "some text of a few words")
        shown = cells(index.stats(exact=True)._repr_html_())

    assert shown[shown.index("documents") + 1] == "1"
    assert {"hottest", "segment", "rows_per_prefix"} <= set(shown)
