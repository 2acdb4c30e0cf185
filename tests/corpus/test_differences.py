from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from simhash_hbase.report.differences import align, word_differences, words

# The first text that is cut loads the dictionary.
relaxed = settings(deadline=None)

ANY_TEXT = st.text(max_size=60)
# Few letters: much is equal, much is ambiguous.
LIKELY = st.text(alphabet="ab雨停了。.\n 常在", max_size=60)
ITEMS = st.lists(st.sampled_from("abcd"), max_size=30)


def sides(pieces):
    return "".join(piece.left for piece in pieces), "".join(piece.right for piece in pieces)


def longest_common(a, b):
    """Return the length of the longest common subsequence, by the table of the textbook."""
    row = [0] * (len(b) + 1)
    for item in a:
        above, row = row, [0]
        for at, other in enumerate(b):
            row.append(above[at] + 1 if item == other else max(above[at + 1], row[at]))
    return row[-1]


def equal_stretches(a, b, changes):
    next_a = next_b = 0
    for start_a, stop_a, start_b, stop_b in [*changes, (len(a), None, len(b), None)]:
        yield a[next_a:start_a], b[next_b:start_b]
        next_a, next_b = stop_a, stop_b


@given(ITEMS, ITEMS)
def test_what_is_left_unchanged_is_a_longest_common_subsequence(a, b):
    stretches = list(equal_stretches(a, b, align(a, b)))
    assert all(here == there for here, there in stretches)
    assert sum(len(here) for here, _ in stretches) == longest_common(a, b)


@given(ITEMS, ITEMS, st.integers(0, 40))
def test_of_stretches_too_long_for_the_table_the_rest_is_equal_still(a, b, cells):
    assert all(here == there for here, there in equal_stretches(a, b, align(a, b, cells=cells)))


def test_long_sequences_are_cut_at_items_that_occur_once_in_both():
    a = [str(number // 2 if number % 5 else -number) for number in range(4000)]
    b = [*a[:1000], "new", *a[1003:3000], "other", "words", *a[3000:]]
    assert align(a, b, cells=10_000) == [(1000, 1003, 1000, 1001), (3000, 3000, 2998, 3000)]


def test_long_sequences_without_such_items_are_cut_in_the_middle():
    a = [str(number % 50) for number in range(2000)]
    b = [*a[:300], "new", *a[303:1700], "end", *a[1700:]]
    changes = align(a, b, cells=10_000)

    assert all(here == there for here, there in equal_stretches(a, b, changes))
    # Three of them differ.
    assert sum(change.stop_a - change.start_a for change in changes) < 30


def test_sequences_that_can_be_cut_again_and_again_end():
    chain = [str(number) for step in range(3000) for number in (step, step + 2)]
    a, b = ["a", *chain, "b"], ["c", *chain, "d"]
    assert align(a, b, cells=50) == [(0, 1, 0, 1), (6001, 6002, 6001, 6002)]


@relaxed
@given(ANY_TEXT | LIKELY, ANY_TEXT | LIKELY)
def test_pieces_give_both_texts_back(a, b):
    pieces = word_differences(a, b)

    assert sides(pieces) == (a, b)
    assert {piece.kind for piece in word_differences(a, a)} <= {"same"}
    assert "".join(word + blanks for word, blanks in words(a)) == a


@relaxed
@given(LIKELY, LIKELY)
def test_same_pieces_have_the_same_words(a, b):
    pieces = word_differences(a, b)

    kinds = {(True, True): ("same", "changed"), (True, False): ("left",), (False, True): ("right",)}
    for kind, here, there in pieces:
        assert kind in kinds[bool(here), bool(there)] or (kind == "same" and not (here + there).strip())
    for piece in pieces:
        assert piece.kind != "same" or "".join(piece.left.split()) == "".join(piece.right.split())
    assert all((one.kind, other.kind) != ("same", "same") for one, other in pairwise(pieces))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我来到北京清华大学", ["我", "来到", "北京", "清华大学"]),
        ("Größe привет déjà", ["Größe", "привет", "déjà"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("한국어 문서", ["한국어", "문서"]),
        ("买T恤 3.5元", ["买", "T恤", "3.5", "元"]),
        ("e\u0301t\u00e9", ["e\u0301t\u00e9"]),
        ("👩\u200d🚀 ok", ["👩\u200d🚀", "ok"]),
    ],
)
def test_words_are_those_of_the_language(text, expected):
    assert [word for word, _ in words(text) if word] == expected


@pytest.mark.parametrize(
    ("a", "b", "marked"),
    [
        ("one two three", "one\n  two\u3000three\n", []),
        ("他昨天去北京了", "他今天去上海了", [("changed", "昨天", "今天"), ("changed", "北京", "上海")]),
        ("雨停了。他在等。他在看。", "雨停了。他在看。", [("left", "他在等。", "")]),
        ("The cat sat. The end.", "The cat sat. The dog ran. The end.", [("right", "", "The dog ran. ")]),
        ("The dog ran. The end.", "The end.", [("left", "The dog ran. ", "")]),
        # Both have 的, by chance.
        ("我们在大学附近的一家书店等他。", "我们上海机场的三号出发层等他。",
         [("changed", "在大学附近的一家书店", "上海机场的三号出发层")]),
    ],
)  # fmt: skip
def test_what_differs_is_marked_as_a_reader_would(a, b, marked):
    pieces = word_differences(a, b)
    assert [tuple(piece) for piece in pieces if piece.kind != "same"] == marked
    assert sides(pieces) == (a, b)


@pytest.mark.slow
def test_a_text_of_megabytes_is_compared_in_a_bounded_table():
    a = " ".join(f"word{number % 7919}" for number in range(60_000))
    b = a.replace("word77 ", "other ").replace("word500 ", "")
    pieces = word_differences(a, b)

    assert sides(pieces) == (a, b)
    assert sum(len(piece.left) for piece in pieces if piece.kind != "same") < len(a) / 100
