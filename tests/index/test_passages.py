"""Clues are found in long texts, and spans of texts that stand in other documents; brute force says which."""

import random
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from support.cost import peak_bytes
from support.plain_schema import normalized

from simhash_hbase import EmptyDocument, InvalidArgument, create_index
from simhash_hbase.index import passages as passages_module
from simhash_hbase.index.answers import Span

LENGTH, GRAM = 20, 12
SENTENCE = "延安西路的老房子，进门左边第三棵树，有一个一百三十年前的门牌，里面住着一位老人。"


def text(seed, *, count=300):
    chosen = random.Random(seed)
    return "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(count))


@pytest.fixture
def index():
    """Return an index of three documents, of which two hold the sentence."""
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as made:
        made.add("a", text(1) + SENTENCE + text(2), metadata={"site": "x"})
        made.add("b", SENTENCE + text(3), metadata={"site": "y"})
        made.add("c", text(4), metadata={"site": "x"})
        yield made


def found(answer):
    return [(match.id, match.share) for match in answer.matches]


@pytest.mark.parametrize("clue", [SENTENCE, f"“{SENTENCE}”", SENTENCE.replace("，", " \n"), SENTENCE[6:-4]])
def test_all_documents_that_hold_a_clue_are_found(index, clue):
    answer = index.find(clue)
    assert (found(answer), answer.complete, answer.truncated) == ([("a", 1.0), ("b", 1.0)], True, False)


def test_a_clue_with_an_edit_is_found_with_a_smaller_share(index):
    answer = index.find(SENTENCE.replace("树", "花"))
    names, shares = zip(*found(answer), strict=True)
    assert (set(names), list(shares)) == ({"a", "b"}, sorted(shares, reverse=True))
    assert all(0.3 < share < 1 for share in shares)
    for match in answer.matches:
        assert all("花" not in SENTENCE.replace("树", "花")[span.start : span.stop] for span in match.spans)


def test_the_document_with_more_of_the_clue_comes_first(index):
    clue = SENTENCE + text(3)[:60]
    assert [name for name, _ in found(index.find(clue))] == ["b", "a"]
    limited = index.find(clue, limit=1)
    assert ([match.id for match in limited.matches], limited.truncated, limited.complete) == (["b"], True, False)


def test_a_clue_shorter_than_passages_is_not_complete(index):
    answer = index.find("进门左边第三棵树，有一个一百三十年前的")
    assert (found(answer)[0][0], answer.complete) == ("a", False)


def test_a_clue_that_cannot_be_found_is_refused(index):
    with pytest.raises(InvalidArgument, match="the text has 8 letters, numbers and marks: 12 at least are found"):
        index.find("进门左边 第三棵树")
    with pytest.raises(EmptyDocument):
        index.find("……")
    with create_index("memory:", analyzer="shingle") as other, pytest.raises(InvalidArgument, match="no passages"):
        other.find(SENTENCE)


def test_removed_and_changed_documents_and_other_collections_hold_no_clue(index):
    index.remove("a")
    index.add("b", text(5))
    index.in_collection("news").add("d", SENTENCE + text(6))
    assert found(index.find(SENTENCE)) == []
    assert found(index.in_collection("news").find(SENTENCE)) == [("d", 1.0)]


def test_texts_of_one_fingerprint_are_told_apart():
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as index:
        first, second = text(1, count=3_000), text(1, count=3_000)
        cut = 1_400
        second = second[:cut] + text(9, count=30) + second[cut + 30 :]
        index.add("first", first)
        index.add("second", second)
        assert found(index.find(first[cut - 5 : cut + 35]))[0] == ("first", 1.0)
        assert dict(found(index.find(first[cut : cut + 30]))) == {"first": 1.0}


def test_a_passage_names_its_span_with_its_documents(index):
    asked = "“引言”" + text(7) + SENTENCE + text(8)
    answer = index.passages(asked)

    [passage] = answer.passages
    span = asked[passage.start : passage.stop]
    assert span in SENTENCE
    assert len(normalized(SENTENCE)) - len(normalized(span)) <= 2 * (LENGTH - GRAM)
    assert (passage.documents, passage.at_least, passage.first) == (2, False, "a")
    # Which runs of the sentence each of them has kept depends on the text around it.
    assert passage.most in {"a", "b"}
    assert 0 < answer.share < 0.1
    assert index.passages(asked, at_least=3).passages == []


def test_passages_of_a_document_count_only_others_of_its_site(index):
    whole = text(1) + SENTENCE + text(2)
    [passage] = index.passages(whole, document_id="a").passages
    assert (passage.documents, passage.first) == (1, "b")
    assert index.passages(whole, document_id="a", metadata={"site": "x"}, same="site").passages == []
    assert index.passages(whole, document_id="a", metadata={"site": "y"}, same="site").passages == [passage]
    with pytest.raises(InvalidArgument, match="has no metadata 'site'"):
        index.passages(whole, document_id="a", same="site")
    # As a service says it, which sees the text before the index.
    with pytest.raises(EmptyDocument):
        index.passages("……", same="site")


def test_spans_are_in_characters_of_the_text_as_it_came():
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as index:
        index.add("a", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        asked = (
            "İ ① ㎡ — " + " ".join("ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ０１２３４５６７８９") + " ﬃ"
        )
        [passage] = index.passages(asked).passages
        span = asked[passage.start : passage.stop]
        assert normalized(span) in "abcdefghijklmnopqrstuvwxyz0123456789"
        assert len(normalized(span)) >= 36 - 2 * (LENGTH - GRAM)


def test_a_line_of_many_documents_is_counted_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(passages_module, "PASSAGE_DOCUMENTS", 5)
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as index:
        for number in range(20):
            index.add(f"d{number}", text(number) + SENTENCE)
        rare = text(3)[:60]

        answer = index.passages(SENTENCE + text(99))
        [passage] = answer.passages
        assert (passage.at_least, answer.truncated) == (True, True)
        assert passage.documents >= 5
        # The rare part of a clue finds its document, whatever the other part has.
        assert index.find(rare + SENTENCE).matches[0].id == "d3"
        assert (index.find(SENTENCE).complete, index.find(SENTENCE).truncated) == (False, True)
        monkeypatch.setattr(passages_module, "MOST_ROWS", 8)
        assert index.find(rare + SENTENCE).matches[0].id == "d3"


letters = st.text("天地玄黄宇宙", min_size=1, max_size=90)
marked = st.lists(letters | st.sampled_from(["，", " ", "\u0301"]), max_size=6).map("".join)


def shared_runs(a, b, length):
    """Yield where the maximal runs of so many characters or more that stand in both texts start and stop in `a`."""
    for start in range(len(a) - length + 1):
        for other in range(len(b) - length + 1):
            if start and other and a[start - 1] == b[other - 1]:
                continue
            size = 0
            while start + size < len(a) and other + size < len(b) and a[start + size] == b[other + size]:
                size += 1
            if size >= length:
                yield start, start + size


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(marked, min_size=1, max_size=3), marked)
@example(["\u0301\u0301" + "地" * 10], "地\u0301\u0301" + "地" * 10)
def test_brute_force_finds_no_other_passages(texts, asked):
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as index:
        index.add_many([])
        kept = {f"d{at}": each for at, each in enumerate(texts) if normalized(each)}
        for name, each in kept.items():
            index.add(name, each)
        plain = normalized(asked)
        if len(plain) < GRAM:
            assert not plain or (index.passages(asked).passages, index.items(asked).items) == ([], [])
            return
        answer = index.passages(asked)
        spans = [(len(normalized(asked[: p.start])), len(normalized(asked[: p.stop]))) for p in answer.passages]

        for other in map(normalized, kept.values()):
            for start, stop in shared_runs(plain, other, LENGTH):
                # A span has at least a hashed run of each run of enough characters.
                assert any(min(stop, b) - max(start, a) >= GRAM for a, b in spans), (plain, other)
        for (a, b), passage in zip(spans, answer.passages, strict=True):
            assert b - a >= GRAM
            # A span begins with the letter of its first marks, which the document may lack.
            marks = len(plain[a + 1 :]) - len(plain[a + 1 :].lstrip("\u0301"))
            begins = range(a, a + 1 + marks)
            assert any(plain[at : at + GRAM] in normalized(each) for each in kept.values() for at in begins)
            # A span ends behind the marks of its last letter, which the document may lack.
            ends = {b, len(plain[:b].rstrip("\u0301"))}
            assert any(plain[end - GRAM : end] in normalized(each) for each in kept.values() for end in ends)
            assert {passage.first, passage.most} <= kept.keys()
        holders = {match.id for match in index.find(asked).matches if match.share == 1.0}
        assert {name for name, each in kept.items() if len(plain) >= LENGTH and plain in normalized(each)} <= holders
        items = {item.id: item for item in index.items(asked, at_share=1e-6).items}
        for name, other in ((name, normalized(each)) for name, each in kept.items()):
            runs = {plain[at : at + GRAM] for at in range(len(plain) - GRAM + 1)}
            # All runs of the text are looked up: an item that stands in it whole has all its passages there.
            if len(other) >= GRAM and other in plain:
                assert items[name].share == 1.0
            # Every long run that it shares with the text has a passage of the item, and no passage is there by chance.
            shared = sum(other[at : at + GRAM] in runs for at in range(len(other) - GRAM + 1))
            assert name in items or not any(shared_runs(plain, other, LENGTH))
            assert shared or name not in items


def test_a_text_that_shares_too_much_with_others_says_that_it_was_not_asked_whole(index, monkeypatch):
    monkeypatch.setattr(passages_module, "MOST_HELD", 8)

    found_clue, repeated = index.find(SENTENCE), index.passages(SENTENCE)

    assert (len(found_clue.matches), found_clue.truncated, found_clue.complete) == (1, True, False)
    assert (repeated.truncated, [each.at_least for each in repeated.passages]) == (True, [True])


def test_a_text_that_repeats_a_passage_is_cut_before_its_spans_fill_the_memory(monkeypatch):
    line = text(1, count=60)
    asked = "".join(line + text(seed, count=40) for seed in range(2, 12))
    monkeypatch.setattr(passages_module, "MOST_SPANS", 25)
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as made:
        list(made.add_many((f"d{number}", line + text(-number, count=10)) for number in range(4)))
        answer, items = made.find(asked), made.items(asked)

    assert [len(match.spans) for match in answer.matches] == [10, 10]
    assert [len(item.spans) for item in items.items] == [10, 10]
    assert (answer.truncated, answer.complete, items.truncated) == (True, False, True)


def test_a_passage_that_is_repeated_counts_at_each_place(monkeypatch):
    line = text(1, count=60)
    asked = "".join(line + text(seed, count=40) for seed in range(2, 12))
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as made:
        list(made.add_many((f"d{number}", line + text(-number, count=10)) for number in range(4)))
        places = passages_module.Clue(made.profile, made.collection, asked).places
        monkeypatch.setattr(passages_module, "MOST_HELD", len(places))
        assert not made.find(line).truncated
        assert made.find(asked).truncated


def test_a_long_text_takes_memory_by_what_it_shares_with_documents():
    shared = [text(seed, count=LENGTH) for seed in range(1_000)]
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as made:
        list(made.add_many((f"d{number}", text(-number, count=40) + part) for number, part in enumerate(shared)))
        long = "".join(shared)

        assert len(made.passages(long).passages) == len(shared)
        # Some 6,000 hashes, of which each of 1,000 documents has a few: 6 MB as a table of them.
        assert peak_bytes(lambda: made.passages(long)) < 4_000_000


def overlaps(spans):
    return [(a, b) for a, b in pairwise(spans) if b.start < a.stop]


def test_spans_of_a_match_do_not_overlap(index):
    [match, *_] = index.find(text(1)[100:250] + SENTENCE + text(3)[40:200]).matches
    assert all(isinstance(span, Span) and span.start < span.stop for span in match.spans)
    assert overlaps(match.spans) == []


def test_spans_of_a_document_whose_runs_meet_do_not_overlap():
    lengths = set()
    for seed in range(24):
        clue = text(seed, count=36)
        pieces = [clue[at : at + GRAM] for at in range(0, 24, 10)]
        # Which runs the document keeps depends on the text around them, so each is there several times.
        apart = "".join(piece + text(100 * at + seed, count=9) for at, piece in enumerate(pieces * 9))
        with create_index("memory:", analyzer="shingle", passages=LENGTH) as made:
            made.add("pieces", apart)
            for match in made.find(clue).matches:
                assert overlaps(match.spans) == []
                lengths.update(span.stop - span.start for span in match.spans)
    # Two runs of which each begins in the other.
    assert 10 + GRAM in lengths


def test_passages_of_documents_that_share_nothing_do_not_overlap():
    chosen = random.Random(5)
    for seed in range(25):
        whole = text(seed, count=120)
        with create_index("memory:", analyzer="shingle", passages=LENGTH) as made:
            for name in "abcd":
                at = chosen.randrange(80)
                made.add(name, text(seed + 100) + whole[at : at + chosen.randrange(20, 45)])
            for at_least in (1, 2):
                answer = made.passages(whole, at_least=at_least)
                assert overlaps(answer.passages) == []
                assert answer.mark(whole).replace("⟦", "").replace("⟧", "") == whole


def test_passages_that_meet_in_one_character_of_the_text_do_not_overlap():
    first, second = (text(seed, count=LENGTH - 9) for seed in (1, 2))
    phrase = "صلى الله عليه وسلم"  # 18 characters of which one is made: ﷺ.
    asked = f"{first}\ufdfa{second}"
    with create_index("memory:", analyzer="shingle", passages=LENGTH) as made:
        made.add("a", f"{text(3)}{first}{phrase[:9]}{text(4)}")
        made.add("b", f"{text(5)}{phrase[9:]}{second}{text(6)}")
        [passage] = made.passages(asked).passages
        assert passage.documents == 2
        assert overlaps(made.find(asked).matches[0].spans) == []


def test_all_runs_of_a_short_clue_are_asked(index):
    whole = text(1)
    clues = [whole[at : at + 14] + "某" + whole[at + 15 : at + 29] for at in range(0, 270, 3)]
    hits = sum("a" in dict(found(index.find(clue))) for clue in clues)
    # The hashes that winnowing keeps of such a clue alone find fewer.
    assert hits >= 0.65 * len(clues)


def test_the_share_is_that_of_the_characters_in_spans(index):
    asked = text(7, count=80) + SENTENCE + text(8, count=80) + text(4)[50:120]
    answer = index.passages(asked)
    inside = sum(len(normalized(asked[passage.start : passage.stop])) for passage in answer.passages)
    assert len(answer.passages) == 2
    assert answer.share == round(inside / len(normalized(asked)), 4)
