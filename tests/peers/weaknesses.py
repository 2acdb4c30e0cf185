"""Failures of near-duplicate indexes of whole documents: kinds of copies that they miss, and of others that they join.

Run by ``scripts/evaluate --fails``. Each kind is made from articles of lctt by a fixed random sequence. Every index is
filled with all texts of the kind, copies and strangers, and asked for each of the copies.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from support.labelled import Pair, read_corpus

from peers.entrants import ENTRANTS, JUDGED

SOURCE = "lctt_zh_edit"
ARTICLES = 300
STRANGERS = 700
FORMS = 600
SHORTEST, LONGEST = 800, 4_000
LEAST_PROSE = 200
OURS = tuple(name for name in ENTRANTS if name.startswith("**ours"))
COMPARED = (*OURS, "datasketch `MinHashLSH`", "Lance `MINHASHLSH`", "rensa `RMinHashLSH`")

HEADS = (
    "点击上方蓝字关注我们，每天早上七点为你推送一篇好文章。本文共分四个部分，读完大约需要八分钟，建议先收藏再慢慢看。",
    "编者按：最近有不少读者留言问起这个话题，今天小编就把手头的材料整理出来，和大家一起聊一聊，文末还有福利等你来拿。",
    "导读：很多朋友都在问这件事到底该怎么做才好，看完这一篇你就明白了，记得转给身边需要的人，也欢迎在评论区说说你的看法。",
    "大家好，欢迎回到本期栏目。上一期我们留了一个小问题，答对的朋友已经收到了礼物，这一期我们接着往下讲，内容有点长，请耐心看完。",
)
TAILS = (
    "以上就是今天的全部内容，如果觉得有用，请点赞、在看、转发三连支持一下，我们明天同一时间再见，祝大家生活愉快。",
    "版权声明：本文来源于网络，版权归原作者所有，如有侵权请联系我们删除，联系方式见公众号主页，谢谢理解与支持。",
    "本期互动：你遇到过类似的情况吗？欢迎在评论区留言，我们会随机抽出五位朋友送出小礼物一份，截止到本周日晚上十点。",
)
NOTICE = "（广告）限时优惠，扫描下方二维码加入读者交流群，前一百名送电子书一本，先到先得，送完为止。"
FORM = (
    "房屋租赁合同\n甲方（出租人）：{a}\n乙方（承租人）：{b}\n"
    "根据有关法律、法规的规定，甲乙双方在平等、自愿的基础上，就房屋租赁事宜协商一致，订立本合同。\n"
    "第一条 甲方将位于{street}{number}号{flat}室的房屋出租给乙方居住使用，建筑面积{area}平方米。\n"
    "第二条 租赁期自{year}年{month}月{day}日起，共{months}个月。\n"
    "第三条 月租金为人民币{rent}元，乙方应于每月五日前支付，"
    "押金为人民币{deposit}元，合同期满且房屋无损坏的，甲方应当无息退还。\n"
    "第四条 租赁期间水、电、燃气、供暖、有线电视、宽带等费用由乙方承担，房屋的自然损耗由甲方负责维修。\n"
    "第五条 乙方不得擅自改变房屋结构和用途，不得转租，否则甲方有权解除合同并要求赔偿损失。\n"
    "第六条 任何一方提前解除合同的，应当提前三十日书面通知对方，并支付一个月租金作为违约金。\n"
    "第七条 本合同一式两份，双方各执一份，自双方签字之日起生效，未尽事宜由双方另行协商，"
    "协商不成的向房屋所在地人民法院起诉。"
).replace("，押金为", "，\n押金为")
SURNAMES, GIVEN = "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨", "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂"
STREETS = ("和平路", "建设街", "文化巷", "长江道", "解放大街", "人民东路", "滨河路", "育才街", "中山路", "青年路")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Texts of one kind; `copies` should come back, and any other pair should not."""

    name: str
    texts: list[str]
    copies: set[Pair]


def beside(name: str, originals: list[str], copies: list[str], strangers: list[str]) -> Kind:
    count = len(originals)
    return Kind(name=name, texts=originals + copies + strangers, copies={(at, at + count) for at in range(count)})


def person(chosen: random.Random) -> str:
    return chosen.choice(SURNAMES) + "".join(chosen.choices(GIVEN, k=2))


def reposted(text: str, chosen: random.Random) -> str:
    """Put another head and tail around the middle half of a text, and a notice into it."""
    body = text[len(text) // 4 : len(text) * 3 // 4]
    middle = len(body) // 2
    return chosen.choice(HEADS) + body[:middle] + NOTICE + body[middle:] + chosen.choice(TAILS)


def form(chosen: random.Random) -> str:
    rent = chosen.randrange(1_200, 9_000, 50)
    return FORM.format(
        a=person(chosen),
        b=person(chosen),
        street=chosen.choice(STREETS),
        number=chosen.randrange(1, 300),
        flat=chosen.randrange(101, 2600),
        area=chosen.randrange(30, 160),
        year=chosen.randrange(2015, 2026),
        month=chosen.randrange(1, 13),
        day=chosen.randrange(1, 29),
        months=chosen.choice((6, 12, 18, 24, 36)),
        rent=rent,
        deposit=2 * rent,
    )


def renamed(text: str, chosen: random.Random) -> str:
    """Replace the three commonest Latin words, each by the same made-up one throughout."""
    for name, _ in Counter(re.findall(r"[A-Za-z]{3,}", text)).most_common(3):
        text = text.replace(name, "".join(chosen.choices(ascii_lowercase, k=len(name))))
    return text


def rewritten(text: str, chosen: random.Random, words: Sequence[str]) -> str:
    """Replace two characters of every six by two of another text."""
    pieces = [text[at : at + 6] for at in range(0, len(text), 6)]
    return "".join(piece[:4] + chosen.choice(words) for piece in pieces)


def kinds() -> list[Kind]:
    chosen = random.Random(9)
    corpus = read_corpus(SOURCE)
    first = {group: text for group, text in zip(corpus.groups, corpus.texts, strict=True)}
    texts = [text for text in first.values() if SHORTEST <= len(text) <= LONGEST]
    chosen.shuffle(texts)
    articles, others = texts[:ARTICLES], texts[ARTICLES : ARTICLES + STRANGERS]
    prose = ["".join(re.findall(r"[一-鿿]+", text)) for text in texts]
    titles = list(
        dict.fromkeys(text[100 : 100 + chosen.randrange(12, 25)] for text in prose if len(text) > LEAST_PROSE)
    )
    words = [text[at : at + 2] for text in others for at in range(300, 320, 2)]

    def changed(title: str) -> str:
        at = chosen.randrange(2, len(title) - 2)
        other = chosen.choice([word[0] for word in words if word[0] != title[at]])
        return title[:at] + other + title[at + 1 :]

    def quoted(text: str, other: str) -> str:
        return other[: len(other) // 2] + text + other[len(other) // 2 :]

    short = titles[:ARTICLES]
    return [
        beside("another head and tail, a notice inside", articles, [reposted(t, chosen) for t in articles], others),
        beside("quoted whole in another article", articles, list(map(quoted, articles, others)), others[ARTICLES:]),
        beside("three names replaced throughout", articles, [renamed(t, chosen) for t in articles], others),
        beside("a third rewritten", articles, [rewritten(t, chosen, words) for t in articles], others),
        beside("titles of 12 to 24 characters, one changed", short, list(map(changed, short)), titles[ARTICLES:]),
        Kind(name="600 contracts of one form", texts=[form(chosen) for _ in range(FORMS)], copies=set()),
    ]


def figures(kind: Kind, pairs: set[Pair]) -> str:
    """Return the share of copies that came back, and the share of documents that were joined with a stranger."""
    wrong = {at for pair in pairs - kind.copies for at in pair}
    found = f"{len(pairs & kind.copies) / len(kind.copies):.2f}" if kind.copies else "-"
    return f"{found}, {len(wrong) / len(kind.texts):.2f}"


def main(_: Sequence[str]) -> int:
    """Print the table."""
    makers: list[Callable[[Sequence[str]], Any]] = [ENTRANTS[name] for name in COMPARED]
    print(f"| kind | {' | '.join(name.strip('*') for name in COMPARED)} |\n|---|{'---|' * len(COMPARED)}")
    for kind in kinds():
        cells = []
        for make in makers:
            with closing(make(kind.texts)) as entrant:
                entrant.add(kind.texts)
                answers = entrant.ask_all(kind.texts)
                cells.append(figures(kind, answers.get(JUDGED, answers[""])))
        print(f"| {kind.name} | {' | '.join(cells)} |", flush=True)
    return 0
