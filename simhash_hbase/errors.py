"""Every error of the package: one tree, split first into those worth another try and all others.

::

    SimhashError
    ├── Retryable                 the same call may succeed later
    │   ├── StoreUnavailable      the server, or one of its gateways, does not answer
    │   ├── StoreTimeout          no answer within the deadline; a write may have taken effect
    │   ├── StoreBusy             somebody else holds something that this call needs
    │   ├── ClaimContended        other writers kept winning; claim again
    │   └── WorkerLost            a worker process was ended from outside
    └── Permanent                 the same call fails again
        ├── InvalidArgument       a value that the caller passed is out of range
        ├── InvalidProfile        a combination of index options that cannot be
        ├── InvalidInput          a file or a line of it cannot be read as documents
        ├── TooManyDuplicates     more of a corpus would be removed than its caller allows
        ├── EmptyDocument         a text has no usable words, or nothing to look for
        ├── DocumentMissing       the index does not hold a document of this id
        ├── IndexMissing          there is no index at this address
        ├── IndexExists           there is one already
        ├── IndexClosed           the caller closed this index: open it again
        ├── NotAnIndex            there is something that this package has not made
        ├── ProfileMismatch       the index was made with other options than those asked for
        ├── CorruptIndex          stored bytes do not decode, or contradict each other
        ├── Unsupported           this store, or this version, cannot do that
        ├── MissingExtra          an optional dependency is not installed
        ├── StoreFull             no room left where the store keeps its data
        └── StoreRefused          the server answered with an error of its own
            └── StoreReadonly     the store can be read and not written to
"""

__all__ = [
    "ClaimContended",
    "CorruptIndex",
    "DocumentMissing",
    "EmptyDocument",
    "IndexClosed",
    "IndexExists",
    "IndexMissing",
    "InvalidArgument",
    "InvalidInput",
    "InvalidProfile",
    "MissingExtra",
    "NotAnIndex",
    "Permanent",
    "ProfileMismatch",
    "Retryable",
    "SimhashError",
    "StoreBusy",
    "StoreFull",
    "StoreReadonly",
    "StoreRefused",
    "StoreTimeout",
    "StoreUnavailable",
    "TooManyDuplicates",
    "Unsupported",
    "WorkerLost",
]


class SimhashError(Exception):
    """Base of every error that this package raises on purpose; its text is one sentence for people.

    Parameters
    ----------
    sentence : str
        What went wrong.
    named : str
        How the sentence goes on with the ids of documents, which logs leave out.
    parameter : str, optional
        The name of the parameter whose value is refused, where it is one alone.
    """

    def __init__(self, sentence: str = "", *, named: str = "", parameter: str | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.named = named
        self.parameter = parameter

    def __str__(self) -> str:
        """Return the whole sentence."""
        return self.sentence + self.named


class Retryable(SimhashError):
    """The same call may succeed later."""

    retry_after_s: float | None = None
    """Seconds after which a service said to come back; None where nothing said so."""


class Permanent(SimhashError):
    """The same call fails again: something has to change first."""


class StoreUnavailable(Retryable):
    """The store's server or gateway does not answer."""


class StoreTimeout(Retryable):
    """No answer within the deadline; a write that was under way may have taken effect."""


class StoreBusy(Retryable):
    """Something that this call needs is in use elsewhere: a connection, the documents, an index with an open load."""


class ClaimContended(Retryable):
    """A document was not decided: other writers kept changing it until the attempts or the time ran out."""


class WorkerLost(Retryable):
    """A worker process was ended from outside, most often for want of memory; acknowledged documents stay."""


class InvalidArgument(Permanent, ValueError):
    """A value that the caller passed is out of range or of the wrong form."""


class InvalidProfile(Permanent, ValueError):
    """Options of an index that are not allowed, alone or in this combination."""


class InvalidInput(Permanent, ValueError):
    """A file, or a line of it, cannot be read as documents."""


class TooManyDuplicates(Permanent):
    """More of a corpus, or of one of its sources, would be removed than its caller allows; nothing was written."""


class EmptyDocument(Permanent, ValueError):
    """A text without usable words: it is refused, never given the fingerprint 0."""


def no_words(name: str | None = None) -> str:
    """Return the error message for a text without a fingerprint, since it has no usable words; `name` is its id."""
    return f"the text{f' of {name!r}' if name else ''} has no usable words, so it has no fingerprint"


def no_letters(name: str | None = None) -> str:
    """Return the error message for a text that cannot be looked for in other texts; `name` is its id."""
    named = f" of {name!r}" if name else ""
    return f"the text{named} has no letters, numbers or marks, so there is nothing to look for"


class DocumentMissing(Permanent, LookupError):
    """The index does not hold a document of this id, or queries do not find it."""


def not_held(name: str | None = None) -> str:
    """Return the error message that the id `name` is not in the index."""
    return f"the index does not hold a document of {'this id' if name is None else f'the id {name!r}'}"


class IndexMissing(Permanent, LookupError):
    """There is no index at this address."""

    interrupted: bool = False
    """Whether the making of an index was interrupted there, so that it can be repeated."""


class IndexExists(Permanent):
    """There is an index at this address already."""


class IndexClosed(Permanent):
    """The index, or its store, was closed in this process; open it again."""


class NotAnIndex(Permanent):
    """There is something at this address that this package has not made."""


class ProfileMismatch(Permanent):
    """The index was made with other options than those asked for; the sentence names both."""


class CorruptIndex(Permanent):
    """Stored bytes do not decode, or rows contradict each other in a way no crash explains."""

    in_cell: bool = False
    """Whether the error is about the cell of a document or a member: `LocalIndex.verify` counts and repairs these."""


class Unsupported(Permanent):
    """The store, or the package in this version, cannot do this."""


class MissingExtra(Permanent, ImportError):
    """An optional dependency is not installed; the text holds the install command."""


def missing_extra(need: str, extra: str, *packages: str) -> MissingExtra:
    """Return the error for an optional dependency that is not installed, with the pip command that installs it.

    `extra` is the name of the extra of this package that brings it; `need` begins the message with who needs it.
    """
    command = " ".join(["pip install", f"'simhash-hbase[{extra}]'", *packages])
    return MissingExtra(
        f"{need}; add the extra to this installation, since no package index has simhash-hbase: {command}"
    )


class StoreFull(Permanent):
    """There is no room left where the store keeps its data; acknowledged documents stay."""


class StoreRefused(Permanent):
    """The server answered with an error of its own, or the system with one: no permission, no such folder."""


class StoreReadonly(StoreRefused):
    """The store can be read and not written to: a folder or file system for reading only, a replica."""


_REPR_CHARACTERS = 200


def short_repr(value: object) -> str:
    """Return the `repr` of a value that a caller passed, for an error message, cut after 200 characters.

    Examples
    --------
    >>> short_repr("5"), short_repr(10**5000)
    ("'5'", 'a value of type int')
    """
    try:
        text = repr(value)
    except Exception:
        # Integers above Python's limit of 4,300 digits have none, nor have objects whose own method fails.
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _REPR_CHARACTERS else f"{text[:_REPR_CHARACTERS]}…"


def other_fingerprints(made_with: dict[str, str], here: dict[str, str]) -> str:
    """Return the error message for a machine that makes other fingerprints than the index holds for the same texts.

    It names the libraries whose versions differ: those the index was made with, and those that are installed here.
    """
    differing = [name for name in sorted(made_with) if made_with[name] != here.get(name)]
    if not differing:
        return (
            "this machine makes other fingerprints than the index holds, with the same versions of all libraries: "
            "install simhash-hbase and its dependencies anew"
        )
    before = ", ".join(f"{name} {made_with[name]}" for name in differing)
    now = ", ".join(f"{name} {here.get(name, 'none')}" for name in differing)
    return (
        f"this machine makes other fingerprints than the index holds: it was made with {before}, here is {now}; "
        "install those versions, or make the index anew"
    )
