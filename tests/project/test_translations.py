"""The Chinese pages: their commands are those of the English pages, and they say which text of those they translate."""

import re
from hashlib import blake2b
from pathlib import Path

import pytest
from support.fresh_clone import ROOT, blocks, pages, split, translations

ORIGINALS = pages()
TRANSLATIONS = translations()
FIRST = Path("README.zh-CN.md")
SEAL = re.compile(r"^<!-- translates ([0-9a-f]{32}) -->$", re.MULTILINE)
BLOCK = re.compile(r"(?:<!-- (\w+) -->\n)?```console\n(.*?)```", re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"\]\(([^)\s]+)\)")
COMMENT = re.compile(r" +# .*")
# What a page says of the program: options, commands with what follows them, fields, files.
WORD = re.compile(r"`([^`\n]+)`")

each = pytest.mark.parametrize("page", TRANSLATIONS, ids=str)


def original_of(page):
    return page.with_name(page.name.replace(".zh-CN.md", ".md"))


def without_comments(block):
    return {COMMENT.sub("", command): shown for command, shown in split(block).items()}


def targets(page):
    return [target for target in TARGET.findall(FENCED.sub("", TRANSLATIONS[page])) if "://" not in target]


@each
def test_a_translation_is_of_its_original_as_it_is(page):
    digest = blake2b(ORIGINALS[original_of(page)].encode(), digest_size=16).hexdigest()
    assert SEAL.findall(TRANSLATIONS[page]) == [digest], (
        f"{original_of(page)} has changed: carry the change over into {page}, then write its digest there"
    )


@each
def test_its_commands_and_what_they_show_are_those_of_an_english_page(page):
    originals = [found for text in ORIGINALS.values() for found in BLOCK.findall(text)]
    nameless = [without_comments(block) for name, block in originals if not name]
    found = BLOCK.findall(TRANSLATIONS[page])

    for name, block in found:
        if name:
            assert without_comments(block) == without_comments(blocks()[name]), name
        else:
            assert without_comments(block) in nameless


def test_the_first_page_leads_through_a_corpus_to_hbase():
    names = [name for page in TRANSLATIONS for name, _ in BLOCK.findall(TRANSLATIONS[page])]
    assert {"first", "tour", "hbase", "upkeep", "plan", "pair"} <= set(names)


@each
def test_it_is_linked_with_the_first_one_as_with_its_original(page):
    folder = ROOT / page.parent
    led_to = {(folder / target.partition("#")[0]).resolve() for target in targets(page)}

    assert page == FIRST or str(page) in {target.partition("#")[0] for target in targets(FIRST)}
    assert page == FIRST or ROOT / FIRST in led_to
    assert ROOT / original_of(page) in led_to
    assert FIRST.name in ORIGINALS[Path("README.md")].splitlines()[2]


@each
def test_every_link_of_it_leads_to_a_file_and_a_heading_in_it(page):
    everything = {**ORIGINALS, **TRANSLATIONS}
    wrong = []
    for target in targets(page):
        name, _, place = target.partition("#")
        path = (ROOT / page.parent / name).resolve() if name else ROOT / page
        text = everything.get(path.relative_to(ROOT), "")
        headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
        places = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        if not path.exists() or (place and place not in places):
            wrong.append(target)
    assert wrong == []


@each
def test_the_words_of_the_program_in_it_are_in_an_english_page(page):
    english = "\n".join(ORIGINALS.values())
    named = set(WORD.findall(FENCED.sub("", TRANSLATIONS[page])))

    assert {word for word in named if word.isascii() and word not in english} == set()
