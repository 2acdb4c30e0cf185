"""Scrapy: an item pipeline that drops or marks near-duplicates while a crawl runs.

Each item is claimed in an index, which decides whether it is an original or a near copy, and records the decision.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Self, TypeVar
from uuid import uuid4

from simhash_hbase.errors import EmptyDocument, InvalidArgument, InvalidInput, SimhashError, missing_extra, no_words

try:
    from itemadapter import ItemAdapter
    from scrapy.crawler import Crawler
    from scrapy.exceptions import DropItem
    from scrapy.utils.asyncio import run_in_thread
    from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
    from twisted.internet.defer import Deferred
except ImportError as error:
    raise missing_extra("the Scrapy pipeline needs scrapy", "scrapy") from error

from simhash_hbase.api import open_index
from simhash_hbase.index.agree import agreed_metadata
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.index import Index
from simhash_hbase.rows.analysed import Metadata, check_id
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.names import checked_batch

__all__ = ["NearDuplicatesPipeline"]

ACTIONS = ("drop", "mark")
PREFIX = "SIMHASH_HBASE_"
STATS = "simhash_hbase"
MOST = 500  # Documents of one batch.

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Document = tuple[str, str, Metadata | None]  # Id, text or page, and the field about which near copies agree.
_Outcome = Decision | Exception


class NearDuplicatesPipeline:
    """Drops or marks items whose text is a near copy of one that the index has, from this crawl or another one.

    Notes
    -----
    Items are claimed: of near copies that several crawlers find at the same time exactly one is kept. Items that
    arrive while a batch is claimed are the next batch. The spider closes after all open claims are answered.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._url, self._action = settings.get(f"{PREFIX}URL"), settings.get(f"{PREFIX}ACTION", "drop")
        threads = _read(settings.getint, "THREADS", 2)
        if not self._url:
            raise InvalidArgument(f"{PREFIX}URL is not set: name an index, such as file:crawl.index")
        if self._action not in ACTIONS or threads < 1:
            raise InvalidArgument(f"{PREFIX}ACTION is {' or '.join(ACTIONS)}, and {PREFIX}THREADS at least 1")
        self._field = settings.get(f"{PREFIX}FIELD", "text")
        self._html = _read(settings.getbool, "HTML", False)
        self._id_field = settings.get(f"{PREFIX}ID_FIELD")
        self._collection = settings.get(f"{PREFIX}COLLECTION")
        self._batch = checked_batch(settings.get(f"{PREFIX}BATCH"))
        assert crawler.stats is not None
        self._stats = crawler.stats
        self._batches = Batches(self._claim, threads=threads)
        self._run, self._numbers = uuid4().hex[:8], count(1)
        self._index: Index | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawl; Scrapy calls this."""
        return cls(crawler)

    async def open_spider(self) -> None:
        """Open the index when the crawl starts; without an index that can be opened it does not start."""
        if self._html:
            # A missing extra is reported now, not at the first page.
            import simhash_hbase.inputs.html  # noqa: F401, PLC0415 - an extra
        self._index = await run_in_thread(partial(open_index, self._url, collection=self._collection))

    async def close_spider(self) -> None:
        """Close the index; Scrapy has waited for all items."""
        self._stats.set_value(f"{STATS}/batches", self._batches.asked)
        if self._index is not None:
            await run_in_thread(self._index.close)
        if not self._batches.asked and self._stats.get_value(f"{STATS}/without_text"):
            logger.warning("no item had a text in the field %r, which %sFIELD names", self._field, PREFIX)

    async def process_item(self, item: T) -> T:
        """Have the index decide about an item, and return it, a duplicate with marks.

        Raises `DropItem` for a duplicate if the setting says that duplicates are dropped.
        """
        fields = ItemAdapter(item)
        content = fields.get(self._field)
        if not content:
            self._count("without_text")
            return item
        try:
            name, text = self._document(fields, content)
            decision = await self._batches.answer((name, text, self._agreed(fields)))
        except (EmptyDocument, InvalidInput):
            self._count("without_text")
            return item
        except Exception:
            self._count("errors")
            raise
        self._count("originals" if decision.is_original else "duplicates")
        if self._action == "mark":
            fields["duplicate_of"] = decision.of
            fields["distance"], fields["similarity"] = decision.distance, decision.similarity
        elif not decision.is_original:
            reason = f"near-duplicate of {decision.of}: distance {decision.distance}, similarity {decision.similarity}"
            logger.debug("dropped %s: %s", name, reason)
            # Scrapy's own line would print the whole item.
            raise DropItem(reason, log_level="NOTSET")
        return item

    def _document(self, fields: ItemAdapter, content: object) -> tuple[str, str]:
        """Return the id and the text of an item.

        Without a setting for the field with the id, the id is the item's URL and a new number.
        """
        if self._id_field is None:
            address, number = str(fields.get("url", "item")), f"{self._run}/{next(self._numbers)}"
            try:
                name = _checked(f"{address} {number}")
            except InvalidArgument:
                # The id is made here, so a URL that cannot be part of one does not cost the item.
                name = f"blake2b:{blake2b(address.encode(errors='surrogatepass'), digest_size=16).hexdigest()} {number}"
        else:
            if not (given := fields.get(self._id_field)):
                raise InvalidArgument(f"the item has no field {self._id_field!r}, which {PREFIX}ID_FIELD names")
            name = _checked(str(given))
        if isinstance(content, str):
            return name, content
        kind = type(content).__name__
        raise InvalidArgument(f"the field {self._field!r}, which {PREFIX}FIELD names, is of type {kind}: wanted str")

    def _agreed(self, fields: ItemAdapter) -> Metadata | None:
        """Return the metadata field of an item on which near copies must agree; None if the index asks for none."""
        return None if self._index is None else agreed_metadata(fields, self._index.profile.agree)

    def _claim(self, documents: Sequence[_Document]) -> list[_Outcome]:
        """Return the index's decision, or an error, about each document of a batch, by one call in this thread.

        If the call fails because of one document, each document is claimed by a call of its own.
        """
        try:
            return self._claimed(documents)
        except Exception as error:
            if _of_the_store(error):
                raise
        answers: list[_Outcome] = []
        for document in documents:
            try:
                answers += self._claimed([document])
            except Exception as error:
                # A store that fails is not asked for each of the others.
                answers += [error] * (len(documents) - len(answers) if _of_the_store(error) else 1)
                if len(answers) == len(documents):
                    break
        return answers

    def _claimed(self, documents: Sequence[_Document]) -> list[_Outcome]:
        texts = [self._text(name, content) for name, content, _ in documents]
        columns = zip(documents, texts, strict=True)
        readable = [(name, text, agreed) for (name, _, agreed), text in columns if isinstance(text, str)]
        assert self._index is not None
        answers = self._index.claim_many(readable, batch=self._batch)
        claimed = (outcome or EmptyDocument(no_words(name)) for name, outcome in answers)
        return [next(claimed) if isinstance(text, str) else text for text in texts]

    def _text(self, name: str, content: str) -> str | InvalidInput:
        if not self._html:
            return content
        from simhash_hbase.inputs.html import main_text  # noqa: PLC0415 - an extra

        try:
            return main_text(content).text
        except InvalidInput as error:
            return error

    def _count(self, name: str) -> None:
        self._stats.inc_value(f"{STATS}/{name}")


def _read(read: Callable[[str, T], T], name: str, default: T) -> T:
    """Return the crawl's setting `name`, without its prefix, as `read` converts it, or the default.

    Raises `InvalidArgument` for a value that `read` cannot convert.
    """
    try:
        return read(f"{PREFIX}{name}", default)
    except ValueError as error:
        raise InvalidArgument(f"{PREFIX}{name}: {error}") from error


def _checked(name: str) -> str:
    check_id(name)
    id_digest(name)  # Refuses ids that are not Unicode.
    return name


def _of_the_store(error: Exception) -> bool:
    """Return whether an error is the store's, and so would be that of any document, rather than about one document."""
    return isinstance(error, SimhashError) and not isinstance(error, InvalidArgument | InvalidInput | EmptyDocument)


class Batches:
    """Claims documents in an index in batches, by threads, with any reactor; it is called from the event loop only.

    Documents that arrive while all threads are busy are the next batch. Where `claim` raises an error, each document of
    the batch has that error.
    """

    def __init__(self, claim: Callable[[Sequence[_Document]], Sequence[_Outcome]], *, threads: int) -> None:
        self.asked = 0
        """The number of batches that were claimed so far."""
        self._claim = claim
        self._free = threads
        self._waiting: deque[tuple[_Document, Deferred[Decision]]] = deque()

    async def answer(self, document: _Document) -> Decision:
        """Return the index's decision about one document, or raise the error of the batch that it was claimed in."""
        answered: Deferred[Decision] = Deferred()
        self._waiting.append((document, answered))
        if self._free:
            self._free -= 1
            deferred_from_coro(self._claim_waiting())
        return await maybe_deferred_to_future(answered)

    async def _claim_waiting(self) -> None:
        """Claim the documents that wait, batch after batch, until none waits."""
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST))]
            self.asked += 1
            outcomes: Sequence[_Outcome]
            try:
                outcomes = await run_in_thread(self._claim, [document for document, _ in batch])
            except Exception as error:
                outcomes = [error] * len(batch)
            for (_, answered), outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    answered.errback(outcome)
                else:
                    answered.callback(outcome)
        self._free += 1
