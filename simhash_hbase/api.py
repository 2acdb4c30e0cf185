"""The public names of the package, imported when one of them is first used; functions that open or make an index."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from simhash_hbase import __version__
from simhash_hbase.errors import (
    ClaimContended,
    CorruptIndex,
    DocumentMissing,
    EmptyDocument,
    IndexClosed,
    IndexExists,
    IndexMissing,
    InvalidArgument,
    InvalidInput,
    InvalidProfile,
    MissingExtra,
    NotAnIndex,
    Permanent,
    ProfileMismatch,
    Retryable,
    SimhashError,
    StoreBusy,
    StoreFull,
    StoreReadonly,
    StoreRefused,
    StoreTimeout,
    StoreUnavailable,
    TooManyDuplicates,
    Unsupported,
    WorkerLost,
)
from simhash_hbase.features.analyzers import Analyzer, JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer, WeightedAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter, fingerprint
from simhash_hbase.features.idf import GENERAL, IdfTable, Sample, general_idf, jieba_idf_digest, learn
from simhash_hbase.files.local import read_setting
from simhash_hbase.index.answers import (
    Answer,
    ClueAnswer,
    ClueMatch,
    Decision,
    DocumentBatch,
    Match,
    Passage,
    PassagesAnswer,
    Stored,
)
from simhash_hbase.index.copies import Copies, Copy
from simhash_hbase.index.dedup import Deduplicator
from simhash_hbase.index.index import Index
from simhash_hbase.index.indexrows import find_profile, read_idf
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.kernel.tables import dictionary_digest, fold_digest
from simhash_hbase.profile import MatchRule, Profile
from simhash_hbase.profile.defaults import FORMER_ANALYZER
from simhash_hbase.profile.matching import hamming
from simhash_hbase.profile.profile import SEGMENTING, ProfileOptions
from simhash_hbase.report.explain import cosine
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import row_keys
from simhash_hbase.stores.addresses import Address, address_of, create_store, is_service, open_store

if TYPE_CHECKING:
    from simhash_hbase.client import AsyncIndex

__all__ = [
    "Analyzer",
    "Answer",
    "ClaimContended",
    "ClueAnswer",
    "ClueMatch",
    "Copies",
    "Copy",
    "CorruptIndex",
    "Decision",
    "Deduplicator",
    "DocumentBatch",
    "DocumentMissing",
    "EmptyDocument",
    "Entries",
    "Fingerprinter",
    "IdfTable",
    "Index",
    "IndexClosed",
    "IndexExists",
    "IndexMissing",
    "InvalidArgument",
    "InvalidInput",
    "InvalidProfile",
    "JiebaAnalyzer",
    "LearnedAnalyzer",
    "LocalIndex",
    "Match",
    "MatchRule",
    "MissingExtra",
    "NotAnIndex",
    "Passage",
    "PassagesAnswer",
    "Permanent",
    "Profile",
    "ProfileMismatch",
    "Retryable",
    "Scheme",
    "ShingleAnalyzer",
    "SimhashError",
    "StoreBusy",
    "StoreFull",
    "StoreReadonly",
    "StoreRefused",
    "StoreTimeout",
    "StoreUnavailable",
    "Stored",
    "TooManyDuplicates",
    "Unsupported",
    "WeakHashWarning",
    "WeightedAnalyzer",
    "WorkerLost",
    "__version__",
    "cosine",
    "create_index",
    "fingerprint",
    "hamming",
    "open_async_index",
    "open_index",
    "open_local_index",
    "row_keys",
]

IN_MEMORY_BYTES = 4 << 20
"""An input of more bytes gets a temporary index on disk: a document in memory takes 7 KB, however short it is, and a
folder decides documents twice as fast."""


class WeakHashWarning(UserWarning):
    """Warns that an index is made with a hash that gives some bits of every fingerprint the same value."""


def open_index(
    url: Address,
    *,
    collection: str | None = None,
    profile: Profile | None = None,
    readonly: bool = False,
    patience_s: float | None = None,
) -> Index:
    """Open an index.

    Parameters
    ----------
    url : str or path
        As for `create_store`, or ``http://HOST:PORT`` and ``https://HOST`` for one behind the HTTP service.
    collection : str, optional
        The collection that is read and written; see `Index.in_collection`.
    profile : Profile, optional
        Options that the caller expects of the index.
    readonly : bool
        Whether nothing will be written.
    patience_s : float, optional
        As for `open_store`; with a service, seconds for which requests are repeated while it does not answer.

    Returns
    -------
    Index
        A `LocalIndex`, or with a service a `simhash_hbase.client.RemoteIndex`, whose key is the variable
        ``SIMHASH_HBASE_API_KEY``, or in the file that ``SIMHASH_HBASE_API_KEY_FILE`` names.

    Raises
    ------
    IndexMissing
        When there is none.
    ProfileMismatch
        When it was made with another profile, or another dictionary.
    """
    url = address_of(url)
    if is_service(url):
        from simhash_hbase.client import RemoteIndex

        patience: dict[str, Any] = {} if patience_s is None else {"patience_s": patience_s}
        remote = RemoteIndex(url, key=_api_key(), **patience)
        try:
            if profile is not None:
                remote.profile.check_same(profile)
        except SimhashError:
            remote.close()
            raise
        return remote.in_collection(collection)
    return open_local_index(url, collection=collection, profile=profile, readonly=readonly, patience_s=patience_s)


async def open_async_index(
    url: Address, *, collection: str | None = None, profile: Profile | None = None, patience_s: float | None = None
) -> AsyncIndex:
    """Open an index behind the HTTP service for a program with an event loop of asyncio.

    Parameters
    ----------
    url : str
        ``http://HOST:PORT`` or ``https://HOST``.
    collection, profile, patience_s
        As for `open_index`; so is the key.

    Returns
    -------
    AsyncIndex
        Its methods are those of `Index`, awaited.

    Raises
    ------
    ProfileMismatch
        When it was made with another profile.
    Unsupported
        When the address is not that of a service: other indexes block a thread, so call them in one.
    """
    url = address_of(url)
    if not is_service(url):
        raise Unsupported("only an index behind a service, by http:// or https://, can be awaited: use open_index")
    from simhash_hbase.client import AsyncIndex

    patience = {} if patience_s is None else {"patience_s": patience_s}
    index = await AsyncIndex.open(url, key=_api_key(), **patience)
    try:
        if profile is not None:
            index.profile.check_same(profile)
    except SimhashError:
        await index.close()
        raise
    return index.in_collection(collection)


def _api_key() -> str | None:
    return read_setting("SIMHASH_HBASE_API_KEY", os.environ) or None


def open_local_index(
    url: Address,
    *,
    collection: str | None = None,
    profile: Profile | None = None,
    readonly: bool = False,
    patience_s: float | None = None,
) -> LocalIndex:
    """Open an index by the address of its store, for methods that need its rows: dedup, export, verify, vacuum, backup.

    Parameters
    ----------
    url : str or path
        As for `create_store`.
    collection, profile, readonly, patience_s
        As for `open_index`.

    Returns
    -------
    LocalIndex

    Raises
    ------
    IndexMissing
        When there is none.
    ProfileMismatch
        When it was made with another profile, or another dictionary.
    Unsupported
        When the address is that of a service.
    """
    store = open_store(address_of(url), readonly=readonly, patience_s=patience_s)
    try:
        index = LocalIndex(store)
        if profile is not None:
            index.profile.check_same(profile)
        # The analysis of this machine must make the same fingerprints.
        made_with = index.profile
        if made_with.dictionary is not None:
            made_with.check_same(made_with.replace(dictionary=dictionary_digest()))
        if made_with.fold_table is not None:
            made_with.check_same(made_with.replace(fold_table=fold_digest()))
        if made_with.jieba_idf is not None:
            made_with.check_same(made_with.replace(jieba_idf=jieba_idf_digest()))
        return index if collection is None else index.in_collection(collection)
    except SimhashError:
        store.close()
        raise


def create_index(
    url: Address,
    *,
    learn_from: Iterable[str] | None = None,
    workers: int = 1,
    if_not_exists: bool = False,
    regions: int | None = None,
    compression: str | None = None,
    **options: Unpack[ProfileOptions],
) -> LocalIndex:
    """Make an index.

    Parameters
    ----------
    url : str or path
        As for `create_store`.
    learn_from : iterable of str, optional
        Texts of the user's own for the idf table of the analyzer ``learned``; without them it takes the shipped one.
    workers : int
        Threads that count the words of these texts.
    if_not_exists : bool
        Open the index that is there already, if it was made with the same profile. Where no analyzer is named, one
        that 1.0 made with its default, ``jieba``, is opened, too.
    regions : int, optional
        Regions that a table in HBase begins with, 4 by default.
    compression : str, optional
        Codec of the files of a table in HBase, none by default.
    **options
        The options of the index: `analyzer`, `near`, `scheme`, `distance`, `similarity` and the other fields of
        `ProfileOptions`, which `Profile` explains.

    Returns
    -------
    LocalIndex

    Raises
    ------
    IndexExists
        When there is one and `if_not_exists` is false.
    InvalidProfile
        When options are not allowed, alone or together.
    ProfileMismatch
        When there is one with another profile.

    Warns
    -----
    WeakHashWarning
        When the hash is one that leaves bits of a fingerprint constant.
    """
    url = address_of(url)
    # An index is opened without it, which is several times faster.
    from simhash_hbase.features.analysis import Analysis

    profile, idf, sample = _resolved(learn_from, options, workers)
    if profile.hash == "times33":
        warnings.warn(
            "hash times33 leaves about 30 of 64 bits constant on ordinary words: unrelated documents come near each "
            "other, and searches read many rows; murmur3 does not",
            WeakHashWarning,
            stacklevel=2,
        )
    analysis = Analysis(profile, idf).probed()
    if sample is not None:
        analysis.fingerprinter.remember(sample.texts, workers=workers)
    profile = analysis.profile
    try:
        store = create_store(url, regions=regions, compression=compression, ttl_ms=profile.ttl_ms)
    except IndexExists:
        # A crash may have left the place before the profile was written: then it is completed.
        store = open_store(url)
    try:
        if not if_not_exists or find_profile(store) is None:
            index = LocalIndex.create(store, profile, idf=idf)
            index.analysis = analysis
            return index
        index = LocalIndex(store)
        if index.profile.analyzer == FORMER_ANALYZER and learn_from is None and options.get("analyzer") is None:
            profile, *_ = _resolved(None, {**options, "analyzer": FORMER_ANALYZER})
        index.profile.check_same(profile)
    except SimhashError:
        store.close()
        raise
    return index


def create_index_like(
    url: Address, index: LocalIndex, *, regions: int | None = None, compression: str | None = None
) -> LocalIndex:
    """Make an empty index with the profile and the idf table of another index.

    Parameters
    ----------
    url, regions, compression
        As for `create_index`.
    index : LocalIndex
        The index whose profile and idf table are taken.

    Raises
    ------
    IndexExists
        When there is one already.
    """
    url = address_of(url)
    try:
        store = create_store(url, regions=regions, compression=compression, ttl_ms=index.profile.ttl_ms)
    except IndexExists:
        # A crash may have left the place before the profile was written: then it is completed.
        store = open_store(url)
    try:
        made = LocalIndex.create(store, index.profile, idf=read_idf(index.store, index.profile))
    except SimhashError:
        store.close()
        raise
    made.analysis = index.analysis
    return made


@contextmanager
def temporary_index(
    input_bytes: int | None,
    *,
    learn_from: Iterable[str] | None = None,
    workers: int = 1,
    **options: Unpack[ProfileOptions],
) -> Iterator[LocalIndex]:
    """Make an index that is deleted when the ``with`` block ends, also when a signal or an error ends the block.

    Parameters
    ----------
    input_bytes : int, optional
        Size of all documents; None: unknown. The index is in memory up to `IN_MEMORY_BYTES`, else in a folder.
    learn_from, workers, **options
        As for `create_index`.
    """
    with ExitStack() as stack:
        url = "memory:"
        if input_bytes is None or input_bytes > IN_MEMORY_BYTES:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="simhash-hbase-"))
            url = f"file:{Path(folder) / 'index'}"
        yield stack.enter_context(create_index(url, learn_from=learn_from, workers=workers, **options))


def resolve_profile(
    learn_from: Iterable[str] | None = None, **options: Unpack[ProfileOptions]
) -> tuple[Profile, IdfTable | None]:
    """Return the profile and the idf table that `create_index` would give to an index; no index is made.

    The idf table is None unless the analyzer is ``learned``.
    """
    profile, idf, _ = _resolved(learn_from, options)
    return profile, idf


def _resolved(
    learn_from: Iterable[str] | None, options: ProfileOptions, workers: int = 1
) -> tuple[Profile, IdfTable | None, Sample | None]:
    if learn_from is not None and options.get("analyzer") not in (None, "learned"):
        raise InvalidProfile(f"analyzer {options['analyzer']} learns nothing: leave out the sample to learn from")
    if isinstance(learn_from, str | bytes | os.PathLike):
        raise InvalidArgument(f"learn_from is {learn_from!r}: wanted texts, such as a list of them, or a generator")
    profile = Profile.resolve(**options)
    if profile.fold is not None:
        profile = profile.replace(fold_table=fold_digest())
    if profile.analyzer in SEGMENTING:
        # The dictionary that this machine has.
        weights = jieba_idf_digest() if profile.analyzer == "jieba" else None
        profile = profile.replace(dictionary=dictionary_digest(), jieba_idf=weights)
    if profile.analyzer != "learned":
        return profile, None, None
    if learn_from is None:
        sample, idf, name = None, general_idf(), GENERAL
    else:
        sample = learn(learn_from, seed=profile.seed, form=profile.form, workers=workers)
        idf, name = sample.idf, None
    return profile.replace(idf=idf.digest(), idf_documents=idf.documents, idf_name=name), idf, sample
