"""The programs that users copy: each is run as they run it, and all pass a strict type check."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from articles import COPY, HEAT, LIBRARY, METRO
from demo import write_pages
from support.corpus import write_jsonl
from support.demonstration import chinese_with_copies
from support.fresh_clone import ROOT
from support.hbase_server import address, hbase_options, tables
from support.listening import folder_served
from support.serving import serving
from support.spark import java_home

from simhash_hbase import create_index, hamming, open_index
from simhash_hbase.stores.hbase.options import format_url

EXAMPLES = ROOT / "examples"
RECORDS = [{"id": text.id, "text": text.text} for text in chinese_with_copies()]


def python(*words, stdin=None, cwd=None, **variables):
    """Run Python, and return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        input=stdin, cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def call(name, *words, **given):
    return python(EXAMPLES / name, *words, **given)


def assert_one_of_each_is_kept(kept):
    """Each text is there once, as it was written or as one of its copies; a few copies are too far away."""
    assert {name.partition("#")[0] for name in kept} == {record["id"].partition("#")[0] for record in RECORDS}
    assert len(kept) < len(RECORDS)


FILE, HBASE = "file", pytest.param("hbase", marks=pytest.mark.hbase)
# Two writers meet in another way in a folder than in a table; an example with one writer shows the same in either.
BOTH = pytest.mark.parametrize("url", [FILE, HBASE], indirect=True)
IN_TABLE = pytest.mark.parametrize("url", [HBASE], indirect=True)


@pytest.fixture(params=[FILE])
def url(request, tmp_path):
    """Return the address of an index that is not there yet."""
    return f"file:{tmp_path}/x.index" if request.param == FILE else format_url(hbase_options(2, tables().name()))


def test_a_folder_is_cleaned(tmp_path):
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        write_jsonl(tmp_path / "corpus" / f"{number}.jsonl", RECORDS[number::3])
    [said] = call("clean_folder.py", tmp_path / "corpus", tmp_path / "clean")

    parts = sorted((tmp_path / "clean").iterdir())
    kept = [json.loads(line)["id"] for part in parts for line in part.read_text(encoding="utf-8").splitlines()]
    assert [part.name for part in parts] == ["0.jsonl", "1.jsonl", "2.jsonl"]
    assert said.startswith(f"{len(kept)} of {len(RECORDS)} documents")
    assert_one_of_each_is_kept(kept)


@BOTH
def test_of_two_writers_at_once_one_keeps_each_text(url, tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", RECORDS)
    # The first makes the index, so that the second one does not do so at the same moment.
    assert call("seen_before.py", url, "zero", stdin="") == []

    with ThreadPoolExecutor() as threads:
        calls = [threads.submit(call, "seen_before.py", url, name, stdin=corpus.read_text()) for name in ("one", "two")]
    kept = [line for ended in calls for line in ended.result()]

    names = [name.partition("/")[2] for name in kept]
    assert len(set(names)) == len(names)
    assert_one_of_each_is_kept(names)
    with open_index(url) as index:
        assert {name for name in kept if index.get(name).state != "original"} == set()


def test_the_scrapy_project_keeps_each_article_once(url, tmp_path):
    create_index(url, analyzer="shingle").close()
    write_pages(chinese_with_copies(), str(tmp_path / "site"))
    with folder_served(tmp_path / "site") as site:
        words = ["-m", "scrapy", "crawl", "site", "-a", f"start={site}/", "-o", tmp_path / "articles.jsonl"]
        python(*words, cwd=EXAMPLES / "scrapy_project", NEWS_INDEX=url)

    articles = [json.loads(line) for line in (tmp_path / "articles.jsonl").read_text(encoding="utf-8").splitlines()]
    assert 0 < len(articles) < len(RECORDS)
    assert len({article["url"] for article in articles}) == len(articles)
    assert all("<article>" in article["html"] for article in articles)


def test_the_crawler_of_news_stores_each_article_once_whatever_its_encoding(url, tmp_path):
    pages = tmp_path / "site"
    pages.mkdir()
    for name, text, charset in [("地铁", METRO, "gbk"), ("高温", HEAT, "utf-8"), ("转载", COPY, "gb18030")]:
        page = f"<html><head><meta charset={charset}><title>{name}</title></head><body><p>{text}</p></body></html>"
        (pages / f"{name}.html").write_bytes(page.encode(charset))
    (pages / "robots.txt").write_bytes("# 私人页面\nUser-agent: *\nDisallow: /private.html\n".encode("gbk"))
    (pages / "private.html").write_text(f"<p>{LIBRARY}</p>", encoding="utf-8")
    listing = (
        "<a href=地铁.html> <a href='/高温.html#top'> <a href=转载.html> <a href=private.html> <a href='http://[no/'>"
    )
    (pages / "index.html").write_bytes(f"<meta charset=gb18030>{listing}<a href=gone.html>".encode("gb18030"))

    with folder_served(pages) as site:
        said = call("crawl_news.py", f"{site}/", tmp_path / "pages", NEWS_INDEX=url)
        again = call("crawl_news.py", f"{site}/", tmp_path / "pages", NEWS_INDEX=url)
        # The server redirects a folder to its name with a slash, and links count from there.
        (pages / "more").mkdir()
        (pages / "more" / "index.html").write_bytes((pages / "index.html").read_bytes())
        (pages / "more" / "地铁.html").write_bytes((pages / "地铁.html").read_bytes())
        redirected = call("crawl_news.py", f"{site}/more", tmp_path / "pages", NEWS_INDEX=url)

    assert again == [line.replace("stored   ", "known    ") for line in said]
    assert any(line.startswith("seen") and "/more/" in line.partition(" is near ")[0] for line in redirected)
    assert [line.split()[0] for line in said] == ["refused", "stored", "stored", "seen"]
    assert "地铁" in unquote(said[3].partition("is near")[2])
    stored = [unquote(line.split()[1]).rpartition("/")[2] for line in said if line.startswith("stored")]
    assert stored == ["地铁.html", "高温.html"]
    kept = [(tmp_path / "pages" / line.split()[-1]).read_bytes() for line in said if line.startswith("stored")]
    assert kept == [(pages / name).read_bytes() for name in stored]


def test_tables_of_three_libraries_lose_their_near_copies(tmp_path):
    frame, marked, dataset = call("frames.py", write_jsonl(tmp_path / "corpus.jsonl", RECORDS))

    left = int(frame.split()[1])
    assert 0 < left < len(RECORDS)
    assert marked == f"Polars: {len(RECORDS) - left} rows are near copies"
    assert int(dataset.split()[1]) < len(RECORDS)


@pytest.mark.slow
@IN_TABLE
def test_a_spark_frame_loses_its_near_copies(url, tmp_path):
    create_index(url, analyzer="shingle").close()
    pq.write_table(pa.Table.from_pylist(RECORDS), tmp_path / "corpus.parquet", row_group_size=20)
    spark = {"JAVA_HOME": java_home(), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
             "PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell"}  # fmt: skip

    said = call("spark_clean.py", url, tmp_path / "corpus.parquet", tmp_path / "clean.parquet", **spark)

    kept = pq.read_table(tmp_path / "clean.parquet")["id"].to_pylist()
    assert said[-1] == f"{len(kept)} documents are in {tmp_path}/clean.parquet"
    assert_one_of_each_is_kept(kept)


def test_a_client_asks_the_service(tmp_path):
    url = f"file:{tmp_path}/wire.index"
    with create_index(url) as index:
        list(index.add_many([("wire/1", METRO), ("wire/2", HEAT)]))
    documents = {"paper/7": COPY, "paper/8": LIBRARY, "blank": "…"}
    given = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in documents.items())

    with serving(url, tmp_path) as server:
        copy, new, blank = call(
            "ask_service.py", server.address, stdin=given, SIMHASH_HBASE_API_KEY=server.keys["read"]
        )

    assert copy.startswith("paper/7 is near wire/1, ")
    assert "similarity 0.9" in copy
    assert [new, blank] == ["paper/8 is new", "blank has no usable words"]


def test_programs_are_compared_by_their_identifiers(url, tmp_path):
    source = (EXAMPLES / "demo.py").read_text(encoding="utf-8")
    copied = source.replace("SEED = 7", "SEED = 8\nUNUSED = None")
    other = (EXAMPLES / "show.py").read_text(encoding="utf-8")
    for name, program in {"demo": source, "copied": copied, "other": other, "empty": ""}.items():
        (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")

    said = call("own_fingerprints.py", url, tmp_path)

    assert [line.rpartition(":")[0] for line in said] == ["copied.py is near demo.py", "demo.py is near copied.py"]


@pytest.mark.hbase
def test_a_table_is_read_by_happybase_alone(version):
    table = tables().name()
    with create_index(format_url(hbase_options(2, table)), analyzer="shingle") as index:
        simhash, near = index.add("wire/1", METRO), index.add("paper/7", METRO + "。")
        assert hamming(simhash, near) <= 3
    host, _, port = address(1).rpartition(":")

    said = call("read_table.py", host, port, table, "wire/1")

    assert said[0] == f"wire/1: added, {simhash:016x}"
    assert set(said[1:]) == {f"{simhash:016x}", f"{near:016x}"}


def test_all_examples_pass_a_strict_type_check():
    # The cache that lint has filled.
    words = ["--strict", "--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache"]
    paths = [*sorted(EXAMPLES.glob("*.py")), EXAMPLES / "scrapy_project" / "news"]
    python("-m", "mypy", *words, *paths, cwd=EXAMPLES, MYPYPATH=str(ROOT))

    assert len(paths) >= 8
