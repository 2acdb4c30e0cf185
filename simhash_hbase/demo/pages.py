"""The demonstration corpus as web pages of three sites, each with a template of its own."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from simhash_hbase.demo.texts import Text

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
        path.write_text(_page(text, site), encoding="utf-8")
    return len(chosen)


def _page(text: Text, site: str) -> str:
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
