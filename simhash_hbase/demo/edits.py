"""Small edits of a text, as reposting and copying make them."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

Chance = Callable[[], float]  # Gives numbers from 0 up to 1, such as ``random.Random(7).random``.

SENTENCE = re.compile(r".*?(?:[。！？；]”?|[.!?](?=\s)|\n\s*\n|\Z)\s*", re.DOTALL)
REWORDED = 3
WORDS = {
    "en": {
        "also": "in addition", "must be": "has to be", "returns": "gives back", "may be": "can be",
        "should": "ought to", "used": "employed", "value": "quantity", "when": "whenever", "specified": "given",
        "are": "will be", "the": "this", "is": "becomes",
    },
    "zh-Hans": {
        "可以": "能够", "没有": "并无", "因为": "由于", "如果": "倘若", "应当": "应该", "大约": "大概",
        "以后": "之后", "以前": "之前", "忽然": "突然", "已经": "早已", "一个": "某个", "其中": "当中", "不是": "并非",
    },
    "zh-Hant": {
        "可以": "能夠", "沒有": "並無", "因為": "由於", "如果": "倘若", "應該": "應當", "大約": "大概",
        "以後": "之後", "以前": "之前", "忽然": "突然", "已經": "早已", "其中": "當中", "不是": "並非",
    },
}  # fmt: skip
"""Replacements of words by language, rare words first."""
FRAMES = {
    "en": ("Reposted from the manual.\n\n", "\n\nAll rights reserved by the authors."),
    "zh-Hans": ("【转载】原文如下：\n", "\n责任编辑：小林"),
    "zh-Hant": ("【轉載】原文如下：\n", "\n責任編輯：小林"),
}


def reworded(text: str, lang: str, chance: Chance) -> str:
    """Replace a few words.

    Examples
    --------
    >>> reworded("It should end.", "en", lambda: 0.5)
    'It ought to end.'
    """
    left = REWORDED
    for word, other in WORDS[lang].items():
        pattern = rf"\b{word}\b" if lang == "en" else word
        places = [match.start() for match in re.finditer(pattern, text)]
        if places and left:
            at = _pick(places, chance)
            text = text[:at] + other + text[at + len(word) :]
            left -= 1
    return text


def moved(text: str, lang: str, chance: Chance) -> str:
    """Move a sentence to another place.

    Examples
    --------
    >>> moved("雨停了。风小了。", "zh-Hans", lambda: 0.0)
    '风小了。雨停了。'
    """
    sentences = _sentences(text)
    taken = sentences.pop(_pick(range(len(sentences)), chance))
    # One place further than where it was, at least, so that the text changes.
    rest = [at for at in range(len(sentences) + 1) if [*sentences[:at], taken, *sentences[at:]] != _sentences(text)]
    at = _pick(rest, chance) if rest else 0
    return "".join([*sentences[:at], taken, *sentences[at:]])


def removed(text: str, lang: str, chance: Chance) -> str:
    """Remove a sentence; a text of one sentence stays.

    Examples
    --------
    >>> removed("First. Second.", "en", lambda: 0.0)
    'Second.'
    """
    sentences = _sentences(text)
    if len(sentences) > 1:
        del sentences[_pick(range(len(sentences)), chance)]
    return "".join(sentences)


def framed(text: str, lang: str, chance: Chance) -> str:
    r"""Add a header, a footer, or both.

    Examples
    --------
    >>> framed("雨停了。", "zh-Hans", lambda: 0.9)
    '雨停了。\n责任编辑：小林'
    """
    header, footer = FRAMES[lang]
    return "".join(_pick([(header, text), (header, text, footer), (text, footer)], chance))


def copied(text: str, lang: str, chance: Chance) -> str:
    """Change nothing: the copy differs in its id."""
    return text


EDITS: dict[str, Callable[[str, str, Chance], str]] = {
    "copied": copied,
    "reworded": reworded,
    "moved": moved,
    "removed": removed,
    "framed": framed,
}
"""By name; each takes the text, its language, and chance."""


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in SENTENCE.findall(text) if sentence]


def _pick(items: Sequence[T], chance: Chance) -> T:
    return items[int(chance() * len(items))]
