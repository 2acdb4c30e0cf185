"""``dedup --duplicates revisit``: pywb replays the pages that a revisit stands for, from the pages that were kept."""

import re
import subprocess
from contextlib import contextmanager

import httpx
import pytest
from project.test_installed_package import install, python_of
from support.crawls import crawl_of_copies
from support.listening import free_port, listening
from support.patience import END_S
from support.results import run

pytestmark = pytest.mark.slow

# In an environment of its own: it needs a client of Redis from 2017.
REPLAY = "pywb==2.10.0"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Install pywb and return the folder of its programs."""
    python = python_of(tmp_path_factory.mktemp("replay") / "environment")
    install(python, REPLAY)
    return python.parent


@contextmanager
def replaying(programs, folder, archive):
    """Serve the pages of a crawl as the collection ``kept``; yields the address of one."""
    for words in (["init", "kept"], ["add", "kept", archive]):
        subprocess.run([programs / "wb-manager", *words], cwd=folder, capture_output=True, check=True)
    port = free_port()
    words = [programs / "wayback", "--bind", "127.0.0.1", "--port", str(port)]
    with listening(words, port, folder / "replay.log", cwd=folder):
        yield f"http://127.0.0.1:{port}/kept/2026mp_/https://{{}}.example/{{}}"


def shown(address):
    """Fetch a page as it was crawled: without what replaying adds to it, and the addresses that it changes."""
    answer = httpx.get(address, timeout=END_S).raise_for_status()
    return re.sub(r"<!-- WB Insert -->.*<!-- End WB Insert -->", "", answer.text, flags=re.DOTALL)


def test_a_page_that_is_a_revisit_is_replayed_from_the_one_that_was_kept(programs, tmp_path):
    crawl, kept = tmp_path / "a.warc.gz", tmp_path / "kept.warc.gz"
    crawl.write_bytes(crawl_of_copies(3).bytes())
    words = ("dedup", crawl, "--analyzer", "shingle", "--output", kept, "--duplicates", "revisit", "--quiet")
    assert len(run(*words, cwd=tmp_path).originals) == 3

    with replaying(programs, tmp_path, kept) as page:
        for group in range(3):
            original = shown(page.format("a", group))
            assert "<p>" in original
            assert shown(page.format("b", group)) == original
        # A near copy has another content, and is told in a metadata record alone.
        assert httpx.get(page.format("c", 0), timeout=END_S).status_code == httpx.codes.NOT_FOUND
