"""From a page to a document: bytes decoded, the main text taken out."""

from importlib import import_module

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.fields import checked_text
from simhash_hbase.inputs.records import Document, Page, Record, Reject, Scanned
from simhash_hbase.rows.entries import metadata_problem

PAGE_BYTES = 4 << 20
"""A longer page is refused: its tree would take several hundred MB. Crawlers cut pages at 1 to 5 MB."""
_TITLE_CHARACTERS = 200
_CUT = "…"


def extract(page: Page) -> Record:
    """Make a document of a page."""
    try:
        text, metadata = _of_html(page) if page.html else (_decoded(page), page.metadata)
        checked_text(text, "the page", page.options.max_document_bytes)
    except InvalidInput as error:
        return Reject(page.place, str(error), page.content if page.raw is None else page.raw, page.id)
    return Document(page.id, text, None, None, _chosen(page, metadata), page.place, page.raw)


def extracted(record: Scanned) -> Record:
    """Make a document of a page; other records are what they are."""
    return extract(record) if isinstance(record, Page) else record


def _of_html(page: Page) -> tuple[str, dict[str, str]]:
    found = import_module("simhash_hbase.inputs.html").main_text(_decoded(page))
    title = found.title
    if len(title) > _TITLE_CHARACTERS:
        title = title[: _TITLE_CHARACTERS - 1] + _CUT
    url = "" if found.url == page.id else found.url
    return found.text, {"title": title, "url": url} | page.metadata


def _decoded(page: Page) -> str:
    content = page.content
    if len(content) > PAGE_BYTES:
        raise InvalidInput(f"the page is longer than {PAGE_BYTES:,} bytes")
    decode_page = import_module("simhash_hbase.inputs.html").decode_page
    text: str = decode_page(content, page.content_type, page.options.encoding, html=page.html)
    return text


def _chosen(page: Page, metadata: dict[str, str]) -> dict[str, object] | None:
    wanted = page.options.metadata_fields or tuple(metadata)
    found: dict[str, object] = {name: metadata[name] for name in wanted if metadata.get(name)}
    if "url" in found and metadata_problem(found) is not None:
        del found["url"]
    return found or None
