"""An article is found wherever a page has it: in a footer, a template, a description, the data of a program."""

import json
from itertools import combinations

import pytest
from support.notices import ARTICLES, CONSENTS, ENGLISH_NOTICE, NOTICE, TERMS

from simhash_hbase.inputs.html import main_text
from simhash_hbase.inputs.remainder import remainders_differ


def linked_data(thing):
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'


def lines(article, around="{}"):
    return "".join(around.format(line) for line in article)


# Where else than among its paragraphs a page may have its article.
ELSEWHERE = {
    "footer": lambda article: f"<footer>{lines(article, '<p>{}</p>')}</footer>",
    "menu": lambda article: f"<nav>{lines(article, '<p>{}</p>')}</nav>",
    "template": lambda article: f"<template>{lines(article, '<p>{}</p>')}</template>",
    "links": lambda article: lines(article, "<p><a href=/>{}</a></p>"),
    "button": lambda article: f"<button>{lines(article)}</button>",
    "frame": lambda article: f'<iframe srcdoc="{lines(article, "<p>{}</p>")}"></iframe>',
    "element named for consent": lambda article: f"<div id=consent-page>{lines(article, '<p>{}</p>')}</div>",
    "description": lambda article: f'<meta name=description content="{lines(article)}">',
    "microdata": lambda article: f'<div itemscope><meta itemprop=articleBody content="{lines(article)}"></div>',
    "description in JSON-LD": lambda article: linked_data({"@type": "NewsArticle", "description": lines(article)}),
    "description of a video": lambda article: linked_data([{"@type": "VideoObject", "description": lines(article)}]),
    "description of a product": lambda article: linked_data({"@type": "Product", "description": lines(article)}),
    "transcript": lambda article: linked_data({"@type": "VideoObject", "transcript": lines(article)}),
    "description of a job": lambda article: linked_data({"description": lines(article, "<p>{}</p>")}),
    "recipe": lambda article: linked_data({"@graph": [{"@type": "Recipe", "recipeInstructions": article}]}),
    "steps of a recipe": lambda article: linked_data(
        {"@type": "Recipe", "recipeInstructions": [{"@type": "HowToStep", "text": line} for line in article]}
    ),
    "steps": lambda article: linked_data(
        {
            "@type": "HowTo",
            "step": [{"itemListElement": [{"@type": "HowToDirection", "text": each}]} for each in article],
        }
    ),
    "answers": lambda article: linked_data(
        {"@type": "FAQPage", "mainEntity": [{"acceptedAnswer": {"@type": "Answer", "text": line}} for line in article]}
    ),
    "data of a program": lambda article: (
        f'<script type="application/json">{json.dumps({"page": {"body": lines(article)}})}</script>'
    ),
}


@pytest.mark.parametrize("notice", [NOTICE, ENGLISH_NOTICE, *CONSENTS])
@pytest.mark.parametrize("place", ELSEWHERE)
def test_an_article_anywhere_on_a_page_is_in_the_main_text_beside_a_notice(place, notice):
    for article in ARTICLES:
        whole = [f"{line} {n}" for n in range(2) for line in article]
        text = main_text(f"<html><body><div>{notice}</div>{ELSEWHERE[place](whole)}</body></html>").text
        assert whole[0] in text
        assert text.count("Cookie") <= notice.count("Cookie")


@pytest.mark.parametrize("shown", [TERMS, "<p>Please enable scripts to read this page.</p>"])
@pytest.mark.parametrize("place", ELSEWHERE)
def test_an_article_anywhere_on_a_page_is_in_the_remainder_beside_other_texts(place, shown):
    pages = [ELSEWHERE[place]([f"{line} {n}" for n in range(20) for line in article]) for article in ARTICLES]
    found = [main_text(f"<html><body><article>{shown}</article>{page}</body></html>") for page in pages]

    for one, other in combinations(found, 2):
        assert one.text != other.text or remainders_differ(one.remainder, other.remainder)


def test_menus_descriptions_and_data_beside_an_article_change_nothing():
    article = "".join(f"<p>{ARTICLES[0][1]}{number}</p>" for number in range(30))
    body = f"<html><body><article>{article}</article>{{}}</body></html>"
    around = "".join(make([f"{ARTICLES[1][1]} {name}"] * 2) for name, make in ELSEWHERE.items() if name != "links")

    assert main_text(body.format(around)).text == main_text(body.format("")).text


def test_addresses_and_labels_in_json_are_no_texts_of_a_page():
    data = {"props": {"label": "Accept all", "picture": "https://a.example/" + "x" * 200 + ".jpg"}}
    linked = linked_data({"url": "https://a.example/" + "y" * 200 + ".html", "@id": "https://a.example/" + "z" * 200})
    scripts = f'{linked}<script type="application/json">{json.dumps(data)}</script>'
    texts = [main_text(f"<html><body><div>{NOTICE}</div>{each}</body></html>").text for each in (scripts, "")]
    assert texts[0] == texts[1]
