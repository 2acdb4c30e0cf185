"""What `passages` and `items` report of real texts, beside an exact comparison of all their runs of characters.

Run by ``scripts/evaluate --passages [SET…]``. The exact comparison numbers all runs of 1, 2, 4, … characters, as the
sorting of suffixes by doubled prefixes does: two runs have one number only if they are equal, so nothing is hashed.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.api import create_index
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.kernel.places import normal_places
from simhash_hbase.kernel.texts import BATCH, Batch, divided
from support.labelled import read_documents

LENGTH, ITEM_LENGTH = 50, 20
"""Passages of the indexes of documents, and of those of items."""
SITE_LENGTHS = (20, 30, 50)
AT_LEAST = 3
"""Other pages that hold what is cut."""
ASKED = 10
"""Every so manieth page is asked: each reads a thousand others, as all have the same template."""
DOCUMENTS = 2_000
SETS = ("lctt_zh_edit", "laws_tw_versions", "laws_tw_en_versions", "graph_zh_v1_beta")
ARTICLES = SETS[0]
OTHER_TEXTS = ("laws_tw_versions", "graph_zh_v1_beta")
"""Items are cut out of articles, and hidden in other articles and in these."""

Truths = NDArray[np.bool_]


def shared_runs(texts: Sequence[str], length: int) -> list[Truths]:
    """Return for each text which of its runs of so many characters stand in another one, by their first characters."""
    points = np.concatenate([np.frombuffer(f"{text}\U0010ffff".encode("utf-32-le"), "<u4") for text in texts])
    ends = np.cumsum([len(text) + 1 for text in texts])
    owners = np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))
    if len(points) < length:
        return [np.zeros(0, np.bool_) for _ in texts]
    numbers = np.unique(points, return_inverse=True)[1].astype(np.int64)
    known = 1
    while known < length:
        step = min(known, length - known)
        numbers = np.unique((numbers[:-step] << 32) | numbers[step:], return_inverse=True)[1].astype(np.int64)
        known += step
    order = np.argsort(numbers, kind="stable")
    firsts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    lasts = np.append(firsts[1:], len(order)) - 1
    # Equal runs stand in the order of their texts.
    is_shared = (owners[order[firsts]] != owners[order[lasts]])[numbers]
    return [
        is_shared[start : max(start, stop - length)]
        for start, stop in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
    ]


def normal_forms(index: LocalIndex, texts: Sequence[str]) -> list[str]:
    """Return the letters, numbers and marks of texts, as the index compares them."""
    return [form for part in divided(texts, BATCH) for form in Batch(part, index.profile.form).normal_forms()]


class Verdict(NamedTuple):
    """What an index reported of its own documents, and whether it was right."""

    documents: int
    characters: int  # Letters, numbers and marks.
    runs: int  # Runs of as many characters as a passage that stand in another document.
    missed: int  # Those of them without a run of `gram` characters that one span covers.
    spans: int
    false: int  # Spans that do not begin and end with a run of `gram` characters of another document.
    wrong_names: int  # Spans of whose runs of `gram` characters the document that they name has none.
    covered: int  # Characters in spans.
    bridged: int  # Those of them in no run of `gram` characters of another document.
    truncated: int  # Answers.
    milliseconds: float  # Processor time of an answer.


def judge(index: LocalIndex, texts: Sequence[str]) -> Verdict:
    """Add texts to an index, ask for their passages, and compare these with all runs of the texts."""
    profile = index.profile
    length, gram = profile.passages, profile.passage_gram
    assert length is not None
    named = [(str(at), text) for at, text in enumerate(texts)]
    for _ in index.add_many(named):
        pass
    forms = normal_forms(index, texts)
    figures: Counter[str] = Counter()
    seconds = 0.0
    for (name, text), form, long, short in zip(
        named, forms, shared_runs(forms, length), shared_runs(forms, gram), strict=True
    ):
        before = process_time()
        answer = index.passages(text, document_id=name)
        seconds += process_time() - before
        starts, stops = normal_places(text, profile.form)
        covering = np.zeros(len(form) + 1, np.int64)
        reported = np.zeros(max(0, len(form) - gram + 1), np.bool_)
        for passage in answer.passages:
            first = int(np.searchsorted(starts, passage.start))
            stop = int(np.searchsorted(stops, passage.stop, side="right"))
            reported[first : stop - gram + 1] = True
            covering[first:stop] = 1
            figures["false"] += not (stop - first >= gram and short[first] and short[stop - gram])
            for other in (passage.first, passage.most):
                held = forms[int(other)]
                figures["wrong_names"] += not any(form[at : at + gram] in held for at in range(first, stop - gram + 1))
        in_shared = np.zeros(len(form) + 1, np.int64)
        for offset in range(gram):
            in_shared[np.flatnonzero(short) + offset] = 1
        seen = np.concatenate([[0], np.cumsum(reported)])
        runs = np.flatnonzero(long)
        figures.update(
            characters=len(form),
            runs=len(runs),
            missed=int((seen[runs + length - gram + 1] == seen[runs]).sum()),
            spans=len(answer.passages),
            covered=int(covering.sum()),
            bridged=int((covering & ~in_shared & 1).sum()),
            truncated=answer.truncated,
        )
    counts = {name: figures[name] for name in Verdict._fields if name not in ("documents", "milliseconds")}
    return Verdict(documents=len(texts), milliseconds=1e3 * seconds / len(texts), **counts)


class Site(NamedTuple):
    """Pages of one site, as text: the parts that its template brings, and the article between them."""

    heads: list[str]
    articles: list[str]
    tails: list[str]

    def pages(self) -> list[str]:
        return [f"{head}\n{article}\n{tail}" for head, article, tail in zip(*self, strict=True)]


HEAD = (
    "首页 新闻 财经 体育 科技 汽车 房产 教育 健康 旅游 登录 注册\n"
    "每日观察网：看见身边的变化，每天早上七点更新，欢迎订阅我们的邮件"
)
FOOT = (
    "版权所有 每日观察网 未经授权不得转载本站内容\n本站所有评论仅代表网友个人观点，与本站立场无关\n"
    "联系我们 广告服务 招聘信息 网站地图"
)


def own_lines(texts: Sequence[str]) -> list[str]:
    """Leave out the lines that three texts or more have, such as those about a translator."""
    lines = Counter(line.strip() for text in texts for line in set(text.splitlines()))
    return ["\n".join(line for line in text.splitlines() if lines[line.strip()] < 3) for text in texts]


def made_site(texts: Sequence[str], pages: int) -> Site:
    """Put a header, a footer and links to five other articles around articles; lines that three texts have go."""
    articles = list(islice((text for text in own_lines(texts) if len(text) >= 500), pages))
    titles = [next(line for line in text.splitlines() if line.strip())[:40] for text in articles]
    chosen = random.Random(7)
    links = ([f"{title}（阅读全文）" for title in chosen.sample(titles, 5)] for _ in articles)
    return Site([HEAD] * len(articles), articles, ["\n".join(["相关阅读", *five, FOOT]) for five in links])


class Cut(NamedTuple):
    """What is cut out of the pages of a site."""

    pages: int
    boilerplate: float  # Characters of the template on average, and the share that is cut.
    boilerplate_cut: float
    article: float
    article_cut: float


def cut_site(index: LocalIndex, site: Site, at_least: int, step: int) -> Cut:
    """Ask an index that holds the pages what of every so manieth stands in so many others; blanks count as well."""
    parts = np.zeros((2, 2), np.int64)
    pages = site.pages()
    asked = range(0, len(pages), step)
    for at in asked:
        page, head, article = pages[at], site.heads[at], site.articles[at]
        is_cut = np.zeros(len(page), np.bool_)
        for passage in index.passages(page, document_id=str(at), at_least=at_least).passages:
            is_cut[passage.start : passage.stop] = True
        is_article = np.zeros(len(page), np.bool_)
        is_article[len(head) : len(head) + len(article) + 2] = True
        for part, mask in enumerate((~is_article, is_article)):
            parts[part] += (int(mask.sum()), int((is_cut & mask).sum()))
    (frame, frame_cut), (article_all, article_cut) = parts.tolist()
    count = len(asked)
    return Cut(len(pages), frame / count, frame_cut / frame, article_all / count, article_cut / article_all)


class Hidden(NamedTuple):
    """Items of an evaluation set, what was made of each, and the texts that some of them were put into."""

    items: list[tuple[str, str]]  # Ids that begin with the kind, and texts.
    texts: list[str]
    places: dict[int, str]  # Which item was put into which text.


KINDS = ("whole", "edited", "phrase", "absent")
"""What becomes of an item: it is put into a text as it is, with another character, its first part alone, or nowhere."""
EACH = 500
TEXTS = 20_000
SOURCES = 600
SHORTEST, LONGEST = 60, 150
PHRASE = 0.3


def hide(sources: Sequence[str], texts: Sequence[str], each: int, chosen: random.Random) -> Hidden:
    """Cut so many items of each kind out of sources, and put them into texts of their own."""
    forms = ["".join(text.split()) for text in sources]
    long = [form for form in forms if len(form) > 4 * LONGEST]
    items, places, filled = [], {}, list(texts)
    at = iter(chosen.sample(range(len(filled)), 3 * each))
    for kind in KINDS:
        for number in range(each):
            source = chosen.choice(long)
            size = chosen.randrange(SHORTEST, LONGEST)
            start = chosen.randrange(len(source) - size)
            item = source[start : start + size]
            items.append((f"{kind}/{number}", item))
            if kind == "absent":
                continue
            middle = chosen.randrange(size // 4, 3 * size // 4)
            other = chosen.choice([c for c in "的了是在我有" if c != item[middle]])
            put = {
                "whole": item,
                "edited": item[:middle] + other + item[middle + 1 :],
                "phrase": item[: int(PHRASE * size)],
            }[kind]
            into = next(at)
            here = chosen.randrange(len(filled[into]) + 1)
            filled[into] = f"{filled[into][:here]}\n{put}\n{filled[into][here:]}"
            places[into] = items[-1][0]
    return Hidden(items, filled, places)


SHARES = (0.2, 0.5, 0.8)


def decontaminated(index: LocalIndex, hidden: Hidden) -> dict[float, Counter[str]]:
    """Add the items, ask for those that each text holds, and count what is reported from each least share on.

    Items are counted by their kind in the texts that they were put into. In other texts they are "held" if the text has
    a run of as large a share of the item, and "others" if not.
    """
    for _ in index.add_many(hidden.items):
        pass
    items = dict(zip(dict(hidden.items), normal_forms(index, [text for _, text in hidden.items]), strict=True))
    counts = {share: Counter[str]() for share in SHARES}
    for at, text in enumerate(hidden.texts):
        [form] = normal_forms(index, [text])
        for found in index.items(text, at_share=min(SHARES)).items:
            run = longest_run(items[found.id], form) / len(items[found.id])
            for share in SHARES:
                if found.share >= share:
                    is_put = hidden.places.get(at) == found.id
                    counts[share][found.id.partition("/")[0] if is_put else "held" if run >= share else "others"] += 1
    return counts


def longest_run(item: str, text: str) -> int:
    """Return the length of the longest run of an item that stands in a text."""
    best = start = 0
    for stop in range(1, len(item) + 1):
        while item[start:stop] not in text:
            start += 1
        best = max(best, stop - start)
    return best


def print_row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_head(*names: str) -> None:
    print()
    print_row(*names)
    print_row("---", *["---:"] * (len(names) - 1))


def measure_sets(names: Sequence[str], folder: str) -> None:
    print_head(
        "set",
        "letters",
        f"runs of {LENGTH} elsewhere",
        "missed",
        "spans",
        "false",
        "falsely named",
        "bridged",
        "truncated",
        "ms",
    )
    for name in names:
        texts = [document["text"] for document in islice(read_documents(name), DOCUMENTS)]
        with create_index(f"file:{folder}/{name}.index", passages=LENGTH) as index:
            of = judge(index, texts)
        counts = (f"{each:,}" for each in (of.runs, of.missed, of.spans, of.false, of.wrong_names))
        bridged = f"{of.bridged / max(1, of.covered):.4f}"
        print_row(
            f"`{name}`",
            f"{of.characters / of.documents:,.0f}",
            *counts,
            bridged,
            of.truncated,
            f"{of.milliseconds:.1f}",
        )


def measure_site(folder: str) -> None:
    # One version of each article.
    articles = {document["group"]: document["text"] for document in read_documents(ARTICLES)}
    site = made_site(list(articles.values()), DOCUMENTS)
    print_head("N", "pages", "boilerplate", "of it cut", "article", "of it cut")
    for length in SITE_LENGTHS:
        with create_index(f"file:{folder}/site-{length}.index", passages=length) as index:
            for _ in index.add_many((str(at), page) for at, page in enumerate(site.pages())):
                pass
            of = cut_site(index, site, AT_LEAST, ASKED)
        boilerplate, article = f"{of.boilerplate:,.0f}", f"{of.article:,.0f}"
        print_row(length, of.pages, boilerplate, f"{of.boilerplate_cut:.4f}", article, f"{of.article_cut:.4f}")


def items_in_texts() -> Hidden:
    """Cut items out of articles of which no version is among the texts that they are hidden in."""
    chosen = random.Random(9)
    articles = list(read_documents(ARTICLES))
    held_out = set(chosen.sample(sorted({document["group"] for document in articles}), SOURCES))
    own = zip(articles, own_lines([document["text"] for document in articles]), strict=True)
    sources = {document["group"]: text for document, text in own if document["group"] in held_out}
    texts = [document["text"] for document in articles if document["group"] not in held_out]
    texts += [document["text"] for name in OTHER_TEXTS for document in read_documents(name)]
    return hide(list(sources.values()), chosen.sample(texts, TEXTS), EACH, chosen)


def measure_items(folder: str) -> None:
    hidden = items_in_texts()
    names = [*KINDS[:3], "held", "others"]
    with create_index(f"file:{folder}/items.index", passages=ITEM_LENGTH) as index:
        before = process_time()
        counts = decontaminated(index, hidden)
        spent = process_time() - before
    print_head("`--at-share`", *names)
    for share, counted in counts.items():
        print_row(share, *(counted[name] for name in names))
    characters = sum(map(len, hidden.texts)) / TEXTS
    print(f"\n{1e3 * spent / TEXTS:.1f} ms of processor time a text of {characters:,.0f} characters")


def main(names: Sequence[str]) -> int:
    """Measure sets; without a name all of them, then a site, and items hidden in texts."""
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        measure_sets(names or SETS, folder)
        if not names:
            measure_site(folder)
            measure_items(folder)
    return 0
