"""Contents of a report, read without a browser."""

import json
import re
from dataclasses import dataclass
from html import unescape


@dataclass(frozen=True)
class Report:
    """A page, taken apart."""

    html: str

    @property
    def data(self):
        return json.loads(
            re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html, re.DOTALL)[1]
        )

    @property
    def pairs(self):
        return self.data["pairs"]

    @property
    def clusters(self):
        return self.data["clusters"]

    def figure(self, name):
        return unescape(re.search(rf'<div id="{name}">.*?<dd class="number">(.*?)</dd>', self.html)[1])

    def count(self, name):
        return int(self.figure(name).replace(",", ""))

    def small_print(self, name):
        return unescape(re.search(rf'<div id="{name}">.*?<dd class="rest">(.*?)</dd>', self.html)[1])

    def histogram(self, name):
        """Return the table under a histogram: label to count."""
        chart = re.search(rf'<figure class="chart" id="{name}">.*?<tbody>(.*?)</tbody>', self.html)[1]
        rows = re.findall(r"<td>(.*?)</td><td>(.*?)</td>", chart)
        return {label: int(count.replace(",", "")) for label, count in rows}

    @property
    def refused(self):
        """Return the table of refused records: where to why."""
        found = re.search(r'<section id="refused-records">.*?<tbody>(.*?)</tbody>', self.html, re.DOTALL)
        rows = re.findall(r"<td><bdi>(.*?)</bdi></td>", found[1]) if found else []
        return dict(zip(map(unescape, rows[::2]), map(unescape, rows[1::2]), strict=True))

    @property
    def text(self):
        body = re.sub(r"<(style|script)\b.*?</\1>", "", self.html, flags=re.DOTALL)
        return unescape(" ".join(re.sub(r"<[^>]*>", " ", body).split()))


def read_report(path):
    return Report(path.read_text(encoding="utf-8"))


def texts_of(pair):
    """Return both texts of a pair of the page, as far as they are in it."""
    left, right = [], []
    for row in pair["rows"]:
        for segment in [] if isinstance(row, dict) else row:
            here, there = (segment, segment) if isinstance(segment, str) else segment[:2]
            left.append(here)
            right.append(there)
    return "".join(left), "".join(right)
