"""Web pages made for the tests: an article in the frame of a site, nine parts of frame to one of article."""

import html
import random
from dataclasses import dataclass

WORDS = {
    "zh": "新闻 财经 体育 科技 汽车 房产 教育 健康 旅游 美食 娱乐 军事 历史 文化 天气 彩票 股票 基金 理财 家居 时尚 "
    "母婴 专题 视频 图片 论坛 博客 直播 排行 热点 推荐 最新 北京 上海 广东 浙江 四川 湖北 公告 招聘 帮助 登录 注册",
    "en": "news money sport tech cars homes schools health travel food films army history culture weather lottery "
    "stocks funds savings garden fashion family features video pictures forum blogs live charts hot picks latest "
    "north south east west city county notices jobs help login register saved",
}
PHRASES = {
    "zh": [
        "未经授权不得转载本站内容", "本站所有评论仅代表网友个人观点", "关注我们的公众号获取更多资讯",
        "点击查看更多相关内容", "我们使用信息记录技术改善您的浏览体验", "版权所有 保留一切权利",
    ],
    "en": [
        "Nothing on this site may be copied without permission", "Comments are the views of their writers",
        "Follow us for more stories like this", "See more from this section", "We use cookies to improve your visit",
        "All rights reserved by the publisher",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """The frame of a site: the same around each of its articles."""

    number: int
    lang: str

    def page(self, text, title):
        """Put an article, whose lines are paragraphs, into a frame of nine times its characters."""
        chance = random.Random(f"{self.lang} {self.number}")
        pieces = self._pieces(chance, 9 * len(text))
        name = f"{_words(chance, self.lang, 2)}{self.number}"
        paragraphs = "".join(f"<p>{html.escape(line)}</p>\n" for line in text.splitlines() if line.strip())
        cut = len(pieces) // 3
        top, side, foot = ("".join(some) for some in (pieces[:cut], pieces[cut : 2 * cut], pieces[2 * cut :]))
        layout = LAYOUTS[self.number % len(LAYOUTS)]
        body = layout.format(top=top, side=side, foot=foot, title=html.escape(title), text=paragraphs)
        return (
            f'<!DOCTYPE html>\n<html lang="{self.lang}"><head><meta charset="utf-8">'
            f"<title>{html.escape(title)} - {name}</title>"
            f'<link rel="canonical" href="https://site{self.number}.example/{title}">'
            "<style>p { margin: 0 }</style><script>var x = '<p>not text</p>';</script></head>"
            f"<body>{body}</body></html>"
        )

    def _pieces(self, chance, characters):
        """Make the lists of links, teasers and notices of a frame, of so many characters in all."""
        pieces, made = [], 0
        while made < characters:
            kind = chance.choice(("menu", "teasers", "notice"))
            if kind == "notice":
                labels = [chance.choice(PHRASES[self.lang])]
                pieces.append(f'<div class="notice"><span>{labels[0]}</span></div>')
            else:
                words = 1 if kind == "menu" else 6
                labels = [_words(chance, self.lang, words) for _ in range(chance.randint(6, 16))]
                links = [f'<a href="/{number}">{label}</a>' for number, label in enumerate(labels)]
                item, around = (
                    ("<li>{}</li>", "<ul>{}</ul>") if kind == "menu" else ('<div class="teaser">{}</div>', "{}")
                )
                pieces.append(around.format("".join(map(item.format, links))))
            made += sum(map(len, labels))
        return pieces


def _words(chance, lang, count):
    return ("" if lang == "zh" else " ").join(chance.choices(WORDS[lang].split(), k=count))


LAYOUTS = (
    "<header><nav>{top}</nav></header><main><article><h1>{title}</h1>{text}</article></main>"
    "<aside>{side}</aside><footer>{foot}</footer>",
    '<div id="header">{top}</div><div id="content"><div class="post"><h2>{title}</h2>'
    '<div class="entry-content">{text}</div></div></div><div id="sidebar">{side}</div><div id="footer">{foot}</div>',
    '<div class="topbar">{top}</div><div class="wrap"><div class="left"><h1>{title}</h1>'
    '<div class="article-body">{text}</div></div><div class="right sidebar">{side}</div></div>'
    '<div class="copyright">{foot}</div>',
    '<table><tr><td colspan="2" class="nav">{top}</td></tr><tr><td class="menu">{side}</td>'
    '<td><h1>{title}</h1>{text}</td></tr><tr><td class="footer">{foot}</td></tr></table>',
)
