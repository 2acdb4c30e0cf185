"""A demonstration corpus that every machine has: its own Python's documentation, and a few Chinese texts.

``python examples/demo.py > corpus.jsonl`` writes it as JSON lines; ``python examples/demo.py pages`` writes some as web
pages into a folder. Copies with small edits are mixed in, so there are near-duplicates in both languages.
"""

import ast
import json
import random
import re
import sys
import sysconfig
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Chance = Callable[[], float]  # Gives numbers from 0 up to 1, such as ``random.Random(7).random``.

SEED = 7
COPIED_EN = 0.15
COPIED_ZH = 0.6
# An edit would be a large part of a shorter English text.
LEAST_EDITED = 600


class Text(NamedTuple):
    """One document."""

    id: str
    lang: str  # ``en``, ``zh-Hans`` or ``zh-Hant``.
    text: str


def documents() -> Iterator[Text]:
    """Make the corpus; the same one for one version of Python.

    `random.Random.random` is the one method whose sequence Python promises to keep for a seed.
    """
    chance = random.Random(SEED).random
    english = [*topics(), *docstrings()]
    zh = chinese()
    yield from zh
    yield from english
    yield from edited_copies(zh, COPIED_ZH, chance)
    yield from edited_copies([text for text in english if len(text.text) >= LEAST_EDITED], COPIED_EN, chance)


def edited_copies(texts: Sequence[Text], share: float, chance: Chance) -> Iterator[Text]:
    """Edit about a share of the texts, the kinds of edits in turn."""
    chosen = [text for text in texts if chance() < share]
    for at, text in enumerate(chosen):
        kind = list(EDITS)[at % len(EDITS)]
        edited = EDITS[kind](text.text, text.lang, chance)
        yield Text(f"{text.id}#{kind}", text.lang, edited)


LEAST_CHARACTERS = 200
SKIPPED = frozenset({"encodings", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tests", "turtledemo"})
"""Folders of the standard library with tests, tables and examples; ``site-packages`` is no module's name anyway."""

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def chinese() -> list[Text]:
    """Read the Chinese texts: news, articles of an encyclopedia, rules, diaries, in simplified and traditional script.

    Examples
    --------
    >>> chinese()[0].id
    '新闻-公交夜班线'
    """
    lines = Path(__file__).with_name("chinese.jsonl").read_text(encoding="utf-8").splitlines()
    return [Text(**json.loads(line)) for line in lines]


def topics() -> list[Text]:
    """Read the help topics of this Python; none where the distribution leaves them out."""
    spec = find_spec("pydoc_data")
    if spec is None or not spec.submodule_search_locations:
        return []
    source = Path(spec.submodule_search_locations[0], "topics.py")
    if not source.exists():
        return []
    tree = parse(source)
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign)] if tree else []
    texts = {name: text for table in tables for name, text in ast.literal_eval(table).items()}
    return [Text(f"topics.{name}", "en", texts[name]) for name in sorted(texts)]


def docstrings(root: Path | None = None) -> Iterator[Text]:
    """Read the docstrings of at least 200 characters of a library's sources; nothing of it is executed."""
    root = root or Path(sysconfig.get_path("stdlib"))
    seen: set[str] = set()
    for path in sorted(sources_of(root)):
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = parse(path)
        for name, docstring in docstrings_of(tree, module) if tree else ():
            # The first docstring is kept where a name is defined twice, such as by an if.
            if len(docstring) >= LEAST_CHARACTERS and name not in seen:
                seen.add(name)
                yield Text(name, "en", docstring)


def sources_of(folder: Path) -> Iterator[Path]:
    """Yield the Python files of a library."""
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name.isidentifier() and entry.name not in SKIPPED:
            yield from sources_of(entry)
        elif entry.suffix == ".py":
            yield entry


def parse(path: Path) -> ast.Module | None:
    """Return the tree of a source; None if it is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None


def docstrings_of(node: Documented, name: str) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of a tree with their names."""
    docstring = ast.get_docstring(node)
    if docstring:
        yield name, docstring
    for child in node.body:
        if isinstance(child, Documented):
            yield from docstrings_of(child, f"{name}.{child.name}")


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
            at = pick(places, chance)
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
    sentences = sentences_of(text)
    taken = sentences.pop(pick(range(len(sentences)), chance))
    # One place further than where it was, at least, so that the text changes.
    rest = [at for at in range(len(sentences) + 1) if [*sentences[:at], taken, *sentences[at:]] != sentences_of(text)]
    at = pick(rest, chance) if rest else 0
    return "".join([*sentences[:at], taken, *sentences[at:]])


def removed(text: str, lang: str, chance: Chance) -> str:
    """Remove a sentence; a text of one sentence stays.

    Examples
    --------
    >>> removed("First. Second.", "en", lambda: 0.0)
    'Second.'
    """
    sentences = sentences_of(text)
    if len(sentences) > 1:
        del sentences[pick(range(len(sentences)), chance)]
    return "".join(sentences)


def framed(text: str, lang: str, chance: Chance) -> str:
    r"""Add a header, a footer, or both.

    Examples
    --------
    >>> framed("雨停了。", "zh-Hans", lambda: 0.9)
    '雨停了。\n责任编辑：小林'
    """
    header, footer = FRAMES[lang]
    return "".join(pick([(header, text), (header, text, footer), (text, footer)], chance))


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
"""Edits by their names; each takes the text, its language, and chance."""


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, which joined are the text."""
    return [sentence for sentence in SENTENCE.findall(text) if sentence]


def pick(items: Sequence[T], chance: Chance) -> T:
    """Return one of the items."""
    return items[int(chance() * len(items))]


EVERY = 16  # One of so many unedited English texts becomes a page: extraction takes a while.
SITES = {
    "harbour": ["Home", "News", "Culture", "Opinion", "Weather", "Tide tables", "Subscribe", "Sign in"],
    "lighthouse": ["首页", "新闻", "文化", "评论", "天气", "专题", "订阅", "登录"],
    "ferry": ["Start", "Today", "Archive", "Guides", "Shop", "Jobs", "Help", "Contact"],
}
PAGE = """<!DOCTYPE html>
<html lang="{lang}"><head><meta charset="utf-8"><title>{title} - {site}</title></head><body>
<header><nav><ul>{menu}</ul></nav></header>
<main><article><h1>{title}</h1>
{paragraphs}
</article></main>
<aside><h2>{site}</h2><ul>{menu}</ul></aside>
<footer><p>{site}: {menu_text}. All rights reserved. Nothing on this site may be copied.</p></footer>
</body></html>
"""


def write_pages(texts: Iterable[Text], folder: str) -> int:
    """Write all Chinese texts, all edited ones with their originals, and a few others."""
    known = list(texts)
    copied = {text.id.partition("#")[0] for text in known if "#" in text.id}
    chosen = [t for i, t in enumerate(known) if "#" in t.id or t.id in copied or t.lang != "en" or i % EVERY == 0]
    names = list(SITES)
    for at, text in enumerate(chosen):
        site = names[at % len(names)]
        path = Path(folder, site, f"{text.id.replace('#', '-')}.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page_of(text, site), encoding="utf-8")
    return len(chosen)


def page_of(text: Text, site: str) -> str:
    """Return a text as a page of a site."""
    menu = SITES[site]
    lines = [f"<p>{escape(part)}</p>" for part in text.text.split("\n\n") if part.strip()]
    return PAGE.format(
        lang=text.lang,
        title=escape(text.id.partition("#")[0]),
        site=site,
        menu="".join(f'<li><a href="/{n}">{escape(word)}</a></li>' for n, word in enumerate(menu)),
        menu_text=escape(", ".join(menu)),
        paragraphs="\n".join(lines),
    )


def main() -> None:
    """Write the corpus to standard output, or some of it as pages into the folder that is named."""
    parser = ArgumentParser("python examples/demo.py", description="Write a made corpus as JSON lines.")
    parser.add_argument("folder", nargs="?", help="write some of it as web pages into this folder instead")
    if folder := parser.parse_args().folder:
        print(f"{write_pages(documents(), folder)} pages in {folder}")
        return
    for text in documents():
        sys.stdout.buffer.write(json.dumps(text._asdict(), ensure_ascii=False).encode() + b"\n")


if __name__ == "__main__":
    main()
