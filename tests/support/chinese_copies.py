"""What Chinese texts come with: copies in other characters and forms, asked of indexes of now and of 1.0.0.

Run by ``scripts/evaluate --chinese``. Two tables: copies of articles in other forms, beside indexes with the profiles
of 1.0.0; then, where the package ``opencc`` is installed, copies in traditional and in simplified characters, and one
side of listed pairs in them, beside an index that folds none.
"""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec

from evaluate import CHUNK, Recipe, add_texts

from simhash_hbase.api import create_index, resolve_profile
from simhash_hbase.features.idf import IdfTable, learn
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.profile import Profile
from simhash_hbase.stores.addresses import create_store
from support.labelled import Similarities, read_corpus

ARTICLES, LAWS = "lctt_zh_edit", "laws_tw_versions"
COPIED, LEARNED_FROM = 36, 3
"""Every so manieth article is copied, and is one that the idf of 1.0.0's `learned` is counted over."""
FIRST_RELEASE: Recipe = {
    **{"band_distance": (16, 22, 32), "fold": None, "fold_table": None, "near": None, "text_form": 1, "whole": None}
}
"""What the profile of 1.0.0 had instead of the defaults of now."""

FULL = {number: number + 0xFEE0 for number in range(0x21, 0x7F)}
ENGLISH = str.maketrans("，。：；！？（）【】、“”‘’", ",.:;!?()[],\"\"''")
RADICALS = {ord(unicodedata.normalize("NFKC", chr(point))): point for point in range(0x2F00, 0x2FD6)}
ZEROS = str.maketrans("〇零", "零〇")
ALIKE = str.maketrans("未日己人土大于千面没", "末曰已入士太干干而设")
NUMBERS = str.maketrans("0123456789", "〇一二三四五六七八九")
IDEOGRAPH = re.compile("[\u4e00-\u9fff]")


def misread(text: str, chosen: random.Random, frequent: Sequence[str]) -> str:
    """Put another frequent character in the place of one Chinese character of a hundred."""
    places = [match.start() for match in IDEOGRAPH.finditer(text)]
    letters = list(text)
    for at in chosen.sample(places, len(places) // 100):
        letters[at] = chosen.choice([other for other in frequent if other != letters[at]])
    return "".join(letters)


def kinds(texts: Sequence[str]) -> dict[str, Callable[[str], str]]:
    """Return the kinds of copies by their names."""
    frequent = [each for each, _ in Counter(c for text in texts for c in IDEOGRAPH.findall(text)).most_common(500)]
    chosen = random.Random(11)
    return {
        "a blank between all characters": " ".join,
        "U+200B between all characters": "\u200b".join,
        "a line end after every 20 characters": lambda text: re.sub("(?s)(.{20})", r"\1\n", text),
        "letters, digits and punctuation full-width": lambda text: text.translate(FULL),
        "English punctuation": lambda text: text.translate(ENGLISH),
        "radicals": lambda text: text.translate(RADICALS),
        "a variation selector behind each character": lambda text: IDEOGRAPH.sub("\\g<0>\U000e0100", text),
        "〇 and 零 exchanged": lambda text: text.translate(ZEROS),
        "OCR: one of 100 is another": lambda text: misread(text, chosen, frequent),
        "OCR: look-alikes": lambda text: text.translate(ALIKE),
        "digits as 〇, 一, 二": lambda text: text.translate(NUMBERS),
    }


def with_profile(profile: Profile, table: IdfTable | None, texts: Sequence[str]) -> LocalIndex:
    """Make an index of texts, whose numbers are their ids."""
    index = LocalIndex.create(create_store("memory:"), profile, idf=table)
    add_texts(index, texts, range(len(texts)))
    return index


def first_release(texts: Sequence[str], sample: Sequence[str] | None) -> LocalIndex:
    """Make an index with the profile that 1.0.0 would have, of `jieba` or of an idf of a sample."""
    profile, _ = resolve_profile(analyzer="jieba" if sample is None else "learned")
    profile = profile.replace(**FIRST_RELEASE, idf=None, idf_documents=None, idf_name=None)
    table = None
    if sample is not None:
        table = learn(sample, form=profile.form).idf
        profile = profile.replace(idf=table.digest(), idf_documents=table.documents)
    return with_profile(profile, table, texts)


def answers(index: LocalIndex, named: Sequence[tuple[int, str]]) -> Iterator[tuple[int, dict[int, bool]]]:
    """Ask for texts: yield the number of each and, by the numbers of what was found, whether it is an exact copy.

    A text without a usable word finds nothing.
    """
    for at in range(0, len(named), CHUNK):
        some = named[at : at + CHUNK]
        # Ids of their own: a document does not match itself.
        for (number, _), (_, answer) in zip(
            some, index.query_many((f"copy {n}", text) for n, text in some), strict=True
        ):
            yield number, {} if answer is None else {int(match.id): match.exact for match in answer.matches}


def print_forms() -> None:
    every = read_corpus(ARTICLES).texts
    texts = every[::COPIED][:200]
    old = first_release(texts, None), first_release(texts, every[::LEARNED_FROM])
    print("| copy | changed | before, `jieba` | before, `learned` | found | exact |\n|---|---:|---:|---:|---:|---:|")
    with create_index("memory:") as index:
        add_texts(index, texts, range(len(texts)))
        for kind, copied in kinds(texts).items():
            copies = [(at, copy) for at, text in enumerate(texts) if (copy := copied(text)) != text]
            before = [sum(n in found for n, found in answers(each, copies)) / len(copies) for each in old]
            now = [found.get(n) for n, found in answers(index, copies)]
            shares = [*before, sum(each is not None for each in now) / len(copies), sum(map(bool, now)) / len(copies)]
            print(f"| {kind} | {len(copies)} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


def print_converted(name: str, step: int, conversions: Sequence[str]) -> None:
    """Convert every so manieth document of a set, and ask for the copies and for the other side of listed pairs."""
    corpus = read_corpus(name)
    chosen = range(0, len(corpus.texts), step)
    similar = dict(zip(corpus.pairs, Similarities(corpus.texts).of_many(corpus.pairs), strict=True))
    sides = [(one, other, j) for (a, b), j in similar.items() for one, other in ((a, b), (b, a)) if one in chosen]
    bins = [[(one, other) for one, other, j in sides if low <= j < high] for low, high in ((0.9, 2.0), (0.8, 0.9))]
    profile, table = resolve_profile()
    profiles = profile.replace(fold=None, fold_table=None), profile
    indexes = [with_profile(each, table, corpus.texts) for each in profiles]
    documents = f"`{name}`, {len(chosen):,}; {len(bins[0])}, {len(bins[1])}"
    for conversion in conversions:
        convert = import_module("opencc").OpenCC(conversion).convert
        copies = [(at, convert(corpus.texts[at])) for at in chosen]
        before, found = (dict(answers(index, copies)) for index in indexes)
        counts = [
            *(sum(at in matches[at] for at in chosen) for matches in (before, found)),
            sum(found[at].get(at, False) for at in chosen),
        ]
        shares = [count / len(chosen) for count in counts]
        shares += [sum(other in found[one] for one, other in pairs) / len(pairs) for pairs in bins]
        print(f"| {documents} | `{conversion}` | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


def main(names: Sequence[str]) -> int:
    """Print the tables; `names` are not used, since each table is of certain sets."""
    print_forms()
    if find_spec("opencc") is None:
        print("\nTraditional and simplified copies are left out: pip install opencc")
        return 0
    print(
        "\n| documents; edited pairs | OpenCC | found, not folded | found | exact | J >= .9 | .8-.9 |\n"
        "|---|---|---:|---:|---:|---:|---:|"
    )
    print_converted(ARTICLES, 6, ("s2t", "s2tw", "s2hk", "s2twp"))
    print_converted(LAWS, 9, ("t2s", "tw2s"))
    return 0
