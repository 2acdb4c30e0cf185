"""From an address to an index: its options are completed by what this machine has, and checked against it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simhash_hbase.errors import IndexExists, InvalidProfile, SimhashError
from simhash_hbase.features.idf import IdfTable, jieba_idf_digest
from simhash_hbase.index.index import Index
from simhash_hbase.index.profilerows import read_profile
from simhash_hbase.kernel.dictionary import dictionary_digest
from simhash_hbase.opening.stores import create_store, open_store
from simhash_hbase.profile.profile import SEGMENTING, Profile

if TYPE_CHECKING:
    from simhash_hbase.features.learning import Learned


def open_index(
    url: str, *, profile: Profile | None = None, readonly: bool = False, patience_s: float | None = None
) -> Index:
    """Open an index.

    Parameters
    ----------
    url : str
        As for `create_store`.
    profile : Profile, optional
        What the caller expects of it.
    readonly : bool
        Nothing will be written.
    patience_s : float, optional
        As for `open_store`.

    Returns
    -------
    Index

    Raises
    ------
    IndexMissing
        When there is none.
    ProfileMismatch
        When it was made with another profile, or another dictionary.
    """
    store = open_store(url, readonly=readonly, patience_s=patience_s)
    try:
        index = Index(store)
        if profile is not None:
            index.profile.check_same(profile)
        _check_machine(index.profile)
    except SimhashError:
        store.close()
        raise
    return index


def create_index(
    url: str,
    *,
    learn_from: Iterable[str] | None = None,
    if_not_exists: bool = False,
    regions: int | None = None,
    compression: str | None = None,
    **options: object,
) -> Index:
    """Make an index.

    Parameters
    ----------
    url : str
        As for `create_store`.
    learn_from : iterable of str, optional
        Texts of the user's own for the idf table of the analyzer ``learned``, which is then the default.
    if_not_exists : bool
        Open the index that is there already, if it was made with the same profile.
    regions, compression
        As for `create_store`.
    **options
        Fields of `Profile`.

    Returns
    -------
    Index

    Raises
    ------
    IndexExists
        When there is one and `if_not_exists` is false.
    InvalidProfile
        When the options cannot be.
    ProfileMismatch
        When there is one with another profile.

    Warns
    -----
    WeakHashWarning
        When the hash is one that leaves bits of a fingerprint constant.
    """
    # An index is opened without them, which is several times faster.
    from simhash_hbase.features.analysis import Analysis  # noqa: PLC0415
    from simhash_hbase.features.hashes import warn_of_weak_hash  # noqa: PLC0415

    profile, learned = _resolved(learn_from, options)
    warn_of_weak_hash(profile.hash)
    idf, counted = learned or (None, None)
    analysis = Analysis(profile, idf, counted=counted).probed()
    profile = analysis.profile
    try:
        store = create_store(url, regions=regions, compression=compression, ttl_ms=profile.ttl_ms)
    except IndexExists:
        # It may be what a crash left before the profile was written: then it is completed.
        store = open_store(url)
    try:
        if not if_not_exists or read_profile(store, missing=None) is None:
            index = Index.create(store, profile, idf=idf)
            index.analysis = analysis
            return index
        index = Index(store)
        index.profile.check_same(profile)
    except SimhashError:
        store.close()
        raise
    return index


def resolve_profile(learn_from: Iterable[str] | None = None, **options: object) -> tuple[Profile, IdfTable | None]:
    """Fill in what a profile takes from this machine and from a sample."""
    profile, learned = _resolved(learn_from, options)
    return profile, learned and learned.idf


def _resolved(learn_from: Iterable[str] | None, options: dict[str, object]) -> tuple[Profile, Learned | None]:
    if learn_from is not None:
        if options.get("analyzer") not in (None, "learned"):
            raise InvalidProfile(f"analyzer {options['analyzer']} learns nothing: leave out --learn-from")
        options["analyzer"] = "learned"
    elif options.get("analyzer") == "learned":
        raise InvalidProfile("analyzer learned needs a sample of your documents: --learn-from FILE")
    profile = _with_machine(Profile.resolve(**options))
    if learn_from is None:
        return profile, None
    from simhash_hbase.features.learning import learn  # noqa: PLC0415

    learned = learn(learn_from, seed=profile.seed)
    return profile.replace(idf=learned.idf.digest(), idf_documents=learned.idf.documents), learned


def _with_machine(profile: Profile) -> Profile:
    """Name the dictionary that this machine has."""
    if profile.analyzer not in SEGMENTING:
        return profile
    weights = jieba_idf_digest() if profile.analyzer == "jieba" else None
    return profile.replace(dictionary=dictionary_digest(), jieba_idf=weights)


def _check_machine(profile: Profile) -> None:
    """Refuse an index whose fingerprints this machine would not make alike."""
    if profile.dictionary is not None:
        profile.check_same(profile.replace(dictionary=dictionary_digest()))
    if profile.jieba_idf is not None:
        profile.check_same(profile.replace(jieba_idf=jieba_idf_digest()))
